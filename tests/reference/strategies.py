"""Small, nasty scheduling cases for hypothesis: few nodes, short times, and so many ties."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

from reference.ordering import POLICIES, Multifactor
from reference.scheduler import Job, Outage, simulate_reference

BACKFILLS = ("none", "firstfit", "easy", "conservative")
ESTIMATES = ("requested", "perfect", "hybrid", "predicted")
SEMANTICS = ("cycle", "cqsim")
PLACEMENTS = ("count", "lowest", "contiguous", "recorded")
MODES = ("drain", "requeue", "fail")

_LONGEST = 20  # s


@dataclass(frozen=True)
class Case:
    """Jobs in submit order, a machine, and what the scheduler is told (keyword arguments of `simulate_reference`)."""

    jobs: tuple[Job, ...]
    nodes: int
    outages: tuple[Outage, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)

    def option(self, name: str) -> Any:
        """Return an option, or its default."""
        return {**DEFAULTS, **self.options}[name]


DEFAULTS: dict[str, Any] = {
    "policy": "fcfs",
    "backfill": "none",
    "estimates": "requested",
    "semantics": "cycle",
    "kill_at_request": True,
    "depth": 1,
    "window": 0,
    "placement": "count",
    "reservations": "counts",
    "seed": 0,
    "multifactor": Multifactor(),
    "until": None,
}


def _sizes(nodes: int) -> st.SearchStrategy[int]:
    return st.one_of(st.integers(1, nodes), st.integers(1, nodes), st.sampled_from([1, nodes, nodes + 1]))


@st.composite
def _job(draw: st.DrawFn, nodes: int) -> Job:
    runtime = draw(st.integers(1, _LONGEST))
    over = draw(st.sampled_from([0, 0, 0, 1, 5, -3, -10]))
    return Job(
        submit=draw(st.sampled_from([0, 0, 0, 1, 2, 3, 5, 10])),  # since the job before
        runtime=runtime,
        requested_time=max(1, runtime + over),
        nodes=draw(_sizes(nodes)),
        user=draw(st.sampled_from([None, "ann", "bob", "cleo"])),
        partition=draw(st.sampled_from([None, "long", "short"])),
        priority=draw(st.sampled_from([math.nan, 0.0, 1.0, 1.0, 2.5, -1.0])),
        predicted=draw(st.integers(1, _LONGEST)),
    )


@st.composite
def jobs(draw: st.DrawFn, nodes: int, *, windows: bool = True, largest: int = 25) -> tuple[Job, ...]:
    """Jobs with submit times in order; with `windows`, some may have been submitted, or even run, before time 0."""
    fewest = draw(st.sampled_from([1, 6, 12]))  # left alone, hypothesis draws short lists
    drawn = draw(st.lists(_job(nodes), min_size=min(fewest, largest), max_size=largest))
    before = draw(st.sampled_from([0, 0, 4, 12])) if windows else 0
    clock = draw(st.sampled_from([0, 0, 7])) - before
    pace = draw(st.sampled_from([0, 1, 1]))  # 0: a burst, for long queues
    made = []
    for job in drawn:
        clock += job.submit * pace
        job = replace(job, submit=clock)
        if clock < 0 and draw(st.booleans()):
            start = draw(st.integers(clock, -1))
            job = replace(job, initial=True, start=start, runtime=job.runtime - start)
        made.append(job)
    return tuple(made)


@st.composite
def _recorded(draw: st.DrawFn, case_jobs: tuple[Job, ...], nodes: int) -> tuple[Job, ...]:
    """Give every job a recorded start and perhaps nodes: from a real schedule, or nonsense that contradicts itself."""
    if draw(st.booleans()):
        truth = simulate_reference(case_jobs, nodes, backfill="easy", kill_at_request=False, placement="lowest")
        return tuple(
            job
            if job.initial
            else replace(job, start=job.submit if start is None else start, node_ids=tuple(used or ()))
            for job, start, used in zip(
                case_jobs, truth.start, map(sorted, (n or () for n in truth.nodes)), strict=True
            )
        )
    made = []
    for job in case_jobs:
        start = job.start if job.initial else job.submit + draw(st.sampled_from([0, 0, 1, 3, 10]))
        ids = (
            draw(st.lists(st.integers(0, nodes), unique=True, min_size=job.nodes, max_size=job.nodes + 1))
            if (job.nodes <= nodes and draw(st.booleans()))
            else []
        )
        made.append(replace(job, start=start, node_ids=tuple(ids)))
    return tuple(made)


@st.composite
def _outage(draw: st.DrawFn, nodes: int) -> Outage:
    start = draw(st.integers(-5, 60))
    held = draw(st.sets(st.integers(0, nodes - 1), min_size=1))
    return Outage(
        nodes=tuple(sorted(held)),
        start=start,
        end=start + draw(st.integers(1, 30)),
        mode=draw(st.sampled_from(MODES)),
        planned=draw(st.booleans()),
    )


@st.composite
def _multifactors(draw: st.DrawFn, case_jobs: tuple[Job, ...]) -> Multifactor:
    weight = st.sampled_from([0.0, 1.0, 1000.0, -1.0])
    partitions = sorted({job.partition for job in case_jobs if job.partition is not None})
    return Multifactor(
        age=draw(weight),
        size=draw(weight),
        fairshare=draw(weight),
        queue=draw(weight),
        max_age=draw(st.sampled_from([5.0, 40.0, 1e6])),
        # usage is then a whole number, and so the same in whatever steps it is summed up
        half_life=math.inf,
        queue_factors={name: draw(st.sampled_from([0.0, 0.5, 1.0])) for name in partitions},
    )


@st.composite
def cases(
    draw: st.DrawFn,
    *,
    policies: tuple[str, ...] = POLICIES,
    backfills: tuple[str, ...] = BACKFILLS,
    outages: bool | None = None,
    windows: bool = True,
    until: bool = True,
    largest: int = 25,
    **fixed: Any,
) -> Case:
    """A case with any combination of options that the engine takes.

    Parameters
    ----------
    policies, backfills : tuple of str
        What to choose from.
    outages : bool, optional
        Whether there are outages; without it, sometimes.
    windows : bool
        Whether jobs may have been submitted before time 0, and started.
    until : bool
        Whether a run may stop early.
    largest : int
        Most jobs.
    **fixed
        Options that are not left to chance.
    """
    nodes = draw(st.integers(1, 12))
    case_jobs = draw(jobs(nodes, windows=windows, largest=largest))
    policy = draw(st.sampled_from(policies))
    placement = draw(st.sampled_from(PLACEMENTS))
    if policy == "replay" or placement == "recorded" or draw(st.sampled_from([False, False, True])):
        case_jobs = draw(_recorded(case_jobs, nodes))
    held = ()
    if outages or (outages is None and draw(st.sampled_from([False, False, True]))):
        held = tuple(draw(st.lists(_outage(nodes), min_size=1, max_size=4)))
    options: dict[str, Any] = {
        "policy": policy,
        "backfill": draw(st.sampled_from(backfills)),
        "estimates": draw(st.sampled_from(ESTIMATES)),
        "semantics": draw(st.sampled_from(SEMANTICS)),
        "kill_at_request": draw(st.booleans()),
        "depth": draw(st.sampled_from([1, 1, 2, 3])),
        "window": 0 if held else draw(st.sampled_from([0, 0, 2, 3, 4])),
        "placement": placement,
    }
    if not options["window"] and not fixed.get("window"):
        options["reservations"] = draw(st.sampled_from(["counts", "counts", "nodes"]))
    if policy == "random":
        options["seed"] = draw(st.integers(0, 2**32))
    if policy == "multifactor":
        options["multifactor"] = draw(_multifactors(case_jobs))
    if until and draw(st.sampled_from([False, False, False, True])):
        options["until"] = max(0, case_jobs[0].submit) + draw(st.integers(0, 80))
    return Case(case_jobs, nodes, held, options | fixed)
