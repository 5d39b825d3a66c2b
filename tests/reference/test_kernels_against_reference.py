"""The engine and the plain-Python reference give the same schedule: every start, end, state and node of every job."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as budget

from reference import scheduler as reference
from reference.invariants import check_invariants
from reference.ordering import POLICIES
from reference.scheduler import Attempt, Job, ReferenceResult, simulate_reference
from reference.strategies import BACKFILLS, ESTIMATES, MODES, PLACEMENTS, SEMANTICS, Case, cases
from twin_gym.config import Multifactor
from twin_gym.outages import Outage
from twin_gym.ragged import Ragged
from twin_gym.simulate import simulate
from twin_gym.states import JobState
from twin_gym.system import System
from twin_gym.workload import UNKNOWN, Workload


def workload_of(case: Case) -> Workload:
    """Return the case's jobs as the engine takes them."""

    def column(name: str, missing: Any) -> list[Any]:
        return [missing if getattr(job, name) is None else getattr(job, name) for job in case.jobs]

    names = ("submit", "runtime", "requested_time", "nodes", "user", "partition", "priority")
    has_nodes = case.option("placement") == "recorded" or any(job.node_ids for job in case.jobs)
    workload = Workload.build(
        **{name: column(name, None) for name in names},
        start=column("start", UNKNOWN),
        initial=[job.initial for job in case.jobs],
        node_ids=Ragged.from_rows([job.node_ids for job in case.jobs]) if has_nodes else None,
    )
    assert len(workload) == len(case.jobs), workload.report
    return workload


def engine(case: Case) -> ReferenceResult:
    """Run the engine on a case, and return its answer in the reference's words."""
    options = dict(case.options)
    if "multifactor" in options:
        options["multifactor"] = Multifactor(**vars(options["multifactor"]))
    predicted = np.array([job.predicted for job in case.jobs]) if case.option("estimates") == "predicted" else None
    result = simulate(
        System.uniform(nodes=case.nodes),
        workload_of(case),
        outages=[Outage(**vars(outage)) for outage in case.outages],
        predicted=predicted,
        **options,
    )

    def known(times: np.ndarray) -> list[int | None]:
        return [None if time == UNKNOWN else int(time) for time in times]

    start, placement, lost = known(result.outcome.start), result.placement, result.attempts
    count = len(start)
    return ReferenceResult(
        start=start,
        end=known(result.outcome.end),
        state=[JobState(state).name for state in result.outcome.state],
        nodes=[None if placement is None or start[j] is None else set(placement[j].tolist()) for j in range(count)],
        attempts=[
            Attempt(int(job), int(begin), int(end), frozenset())
            for job, begin, end in zip(lost.job, lost.start, lost.end, strict=True)
        ],
        displaced=result.counters["displaced"],
        delayed=result.counters["delayed"],
        relocated=result.counters["relocated"],
        clock=result.clock,
    )


def agree(case: Case) -> ReferenceResult:
    """Assert that engine and reference agree on a case, and return what both say."""
    expected = simulate_reference(case.jobs, case.nodes, outages=case.outages, **case.options)
    found = engine(case)
    assert found.start == expected.start
    assert found.end == expected.end
    assert found.state == expected.state
    assert found.nodes == expected.nodes
    assert [(a.job, a.start, a.end) for a in found.attempts] == [(a.job, a.start, a.end) for a in expected.attempts]
    assert found.displaced == len(expected.displaced)
    assert found.delayed == len(expected.delayed)
    assert found.relocated == expected.relocated
    return expected


@given(cases())
@budget(max_examples=250)
def test_schedules_are_equal(case: Case) -> None:
    agree(case)


@given(cases(outages=True))
@budget(max_examples=200)
def test_schedules_around_outages_are_equal(case: Case) -> None:
    agree(case)


# What chance alone brings about too rarely


@given(cases(policies=("sexp", "bal"), outages=False, semantics="cqsim"))
@budget(max_examples=120)
def test_ties_that_remember_the_pass_before_are_equal(case: Case) -> None:
    agree(case)


@given(cases(policies=("fcfs", "sjf", "largest"), backfills=BACKFILLS[1:], outages=False, window=3, largest=40))
@budget(max_examples=120)
def test_windows_with_backfill_are_equal(case: Case) -> None:
    agree(case)


@given(cases(policies=("fcfs", "sjf", "largest"), backfills=("easy",), outages=False, window=0, depth=2, largest=40))
@budget(max_examples=120)
def test_two_reservations_are_equal(case: Case) -> None:
    agree(case)


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_schedules_of_every_policy_are_equal(policy: str) -> None:
    @given(cases(policies=(policy,)))
    @budget(max_examples=200)
    def equal(case: Case) -> None:
        agree(case)

    equal()


@pytest.mark.slow
@pytest.mark.parametrize("outages", [False, True])
@pytest.mark.parametrize("backfill", BACKFILLS)
def test_schedules_of_every_backfill_are_equal(backfill: str, outages: bool) -> None:
    @given(cases(backfills=(backfill,), outages=outages, largest=40))
    @budget(max_examples=300)
    def equal(case: Case) -> None:
        check_invariants(case, agree(case))

    equal()


def crowd(seed: int, nodes: int = 24, count: int = 150) -> tuple[Job, ...]:
    """Return jobs that keep a long queue waiting: profiles of many steps, and nodes in many pieces."""
    random = Random(seed)
    submit, made = 0, []
    for _ in range(count):
        submit += random.choice([0, 0, 1, 2, 5, 10])
        runtime = random.choice([random.randint(1, 10), random.randint(1, 100)])
        request = runtime * random.choice([1, 1, 2, 5]) if random.random() < 0.9 else max(1, runtime // 2)
        wanted = random.choice([1, 1, 2, 4, random.randint(1, nodes)])
        made.append(Job(submit, runtime, request, wanted, user=random.choice("abc"), predicted=random.randint(1, 100)))
    return tuple(made)


def storm(seed: int, nodes: int = 24) -> tuple[reference.Outage, ...]:
    """Return outages of all kinds throughout the time that `crowd` needs."""
    random = Random(seed)
    made = []
    for _ in range(12):
        start = random.randint(0, 1000)
        held = tuple(sorted(random.sample(range(nodes), random.randint(1, nodes // 2))))
        end = start + random.randint(1, 100)
        made.append(reference.Outage(held, start, end, random.choice(MODES), random.random() < 0.5))
    return tuple(made)


@pytest.mark.parametrize("semantics", SEMANTICS)
@pytest.mark.parametrize(
    "estimates", [pytest.param(name, marks=() if name == "hybrid" else pytest.mark.slow) for name in ESTIMATES]
)
@pytest.mark.parametrize("backfill", BACKFILLS)
def test_schedules_of_long_queues_are_equal(backfill: str, estimates: str, semantics: str) -> None:
    options = {"backfill": backfill, "estimates": estimates, "semantics": semantics}
    for seed, policy in enumerate(["fcfs", "sjf", "saf", "sexp", "wfp3", "f1", "bal", "multifactor"]):
        more: dict[str, Any] = {
            "policy": policy,
            "depth": 1 + seed % 3,
            "kill_at_request": seed % 4 != 3,
            "placement": PLACEMENTS[seed % 3],
        }
        if policy == "multifactor":
            more["multifactor"] = reference.Multifactor(half_life=math.inf)
        agree(Case(crowd(seed), 24, (), options | more))
        agree(Case(crowd(seed), 24, storm(seed), options | more))
        agree(Case(crowd(seed), 24, (), options | more | {"window": 3}))
