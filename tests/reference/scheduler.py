"""The scheduler in plain Python, as slow and obvious as possible: what the kernels are measured against.

The rules are those of docs/models/scheduling.md; nothing here knows how the kernels go about them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from reference.ordering import FairShare, Multifactor, scores
from reference.profiles import CountProfile, NodeProfile, contiguous, lowest

# kinds of events, in the order in which they are handled at one time
_FINISH, _OUTAGE_END, _OUTAGE_BEGIN, _SUBMIT, _RECORDED_START = range(5)


@dataclass(frozen=True)
class Job:
    """A job; None is what was not recorded. Times in s."""

    submit: int
    runtime: int
    requested_time: int
    nodes: int
    start: int | None = None
    user: str | None = None
    partition: str | None = None
    priority: float = math.nan
    initial: bool = False
    node_ids: tuple[int, ...] = ()
    predicted: int | None = None


@dataclass(frozen=True)
class Outage:
    """Nodes that are down from `start` to `end`; the names are those of `twin_gym.outages.Outage`."""

    nodes: tuple[int, ...]
    start: int
    end: int
    mode: str = "drain"
    planned: bool = True


@dataclass
class Run:
    """One attempt at a job."""

    job: int
    seq: int
    start: int
    end: int  # when it will end if nobody kills it
    planned_end: int  # what the scheduler believes
    nodes: set[int] | None
    initial: bool = False  # it was running before the clock started


class Event(NamedTuple):
    """Something that lies ahead; events sort in the order in which they are handled, no two are equal."""

    time: int
    kind: int
    order: int
    what: Any


@dataclass(frozen=True)
class Attempt:
    """A run that an outage cut short."""

    job: int
    start: int
    end: int
    nodes: frozenset[int]


@dataclass(frozen=True)
class Pass:
    """A scheduling pass that left a job blocked: the head of the backfill, and when it was to start by reservation."""

    time: int
    head: int
    shadow: int | None


@dataclass
class ReferenceResult:
    """What became of every job; lists are by job, None is what did not happen (or, of nodes, was not asked)."""

    start: list[int | None]
    end: list[int | None]
    state: list[str]
    nodes: list[set[int] | None]
    attempts: list[Attempt] = field(default_factory=list)
    displaced: set[int] = field(default_factory=set)
    delayed: set[int] = field(default_factory=set)
    relocated: int = 0
    passes: list[Pass] = field(default_factory=list)
    clock: int = 0


def simulate_reference(
    jobs: Sequence[Job],
    nodes: int,
    *,
    policy: str = "fcfs",
    backfill: str = "none",
    estimates: str = "requested",
    semantics: str = "cycle",
    kill_at_request: bool = True,
    depth: int = 1,
    window: int = 0,
    placement: str = "count",
    reservations: str = "counts",
    outages: Sequence[Outage] = (),
    multifactor: Multifactor | None = None,
    seed: int = 0,
    until: int | None = None,
) -> ReferenceResult:
    """Schedule jobs (in submit order) on a machine; the options are those of `twin_gym.simulate`."""
    simulation = _Simulation(
        jobs,
        nodes,
        policy=policy,
        backfill=backfill,
        estimates=estimates,
        semantics=semantics,
        kill_at_request=kill_at_request,
        depth=depth,
        window=window,
        placement=placement,
        reservations=reservations,
        outages=outages,
        multifactor=multifactor or Multifactor(),
        seed=seed,
    )
    return simulation.run(math.inf if until is None else until)


class _Simulation:
    def __init__(
        self,
        jobs: Sequence[Job],
        nodes: int,
        *,
        policy: str,
        backfill: str,
        estimates: str,
        semantics: str,
        kill_at_request: bool,
        depth: int,
        window: int,
        placement: str,
        reservations: str,
        outages: Sequence[Outage],
        multifactor: Multifactor,
        seed: int,
    ) -> None:
        if window > 1 and outages:
            raise ValueError("the window optimisation knows nothing of outages")
        self.jobs, self.size = jobs, nodes
        self.policy, self.backfill = policy, backfill
        self.one_by_one = semantics == "cqsim" and policy != "replay"
        self.depth, self.window, self.seed = depth, window, seed
        self.placement = placement
        if placement == "count" and policy == "replay" and any(job.node_ids for job in jobs):
            self.placement = "recorded"
        elif placement == "count" and (outages or reservations == "nodes"):
            self.placement = "lowest"
        self.by_node = reservations == "nodes"

        self.cut = kill_at_request and policy != "replay"
        self.runtime = [min(job.runtime, job.requested_time) if self.cut else job.runtime for job in jobs]
        self.request, self.waiting_length, self.running_length = self._beliefs(estimates)

        is_window = any(job.submit < 0 or job.initial for job in jobs)
        self.clock = 0 if is_window else jobs[0].submit
        self.queue: list[int] = []
        self.running: list[Run] = []
        self.seqs = itertools.count()
        self.multifactor = multifactor
        # known users in the order of their names, then those unknown
        users = sorted({job.user for job in jobs}, key=lambda user: (user is None, user or ""))
        self.fair_share = FairShare(users, multifactor.half_life, self.clock)
        self.submits = [j for j in range(len(jobs)) if not jobs[j].initial]  # still to come, in order
        self.outages = outages
        self.outages_ahead = [o for o in range(len(outages)) if outages[o].end > self.clock]
        self.outages_active: list[int] = []
        count = len(jobs)
        self.result = ReferenceResult([None] * count, [None] * count, ["PENDING"] * count, [None] * count)

    def _beliefs(self, estimates: str) -> tuple[list[int], list[int], list[int]]:
        """Return what is believed of the request (scores), of a waiting job's length, of a running job's length."""
        requested = [job.requested_time for job in self.jobs]
        if estimates == "requested":
            return requested, requested, requested
        if estimates == "perfect":
            return self.runtime, self.runtime, self.runtime
        if estimates == "hybrid":
            return requested, self.runtime, requested
        if estimates == "predicted":
            predicted = [int(job.predicted) for job in self.jobs]  # type: ignore[arg-type]
            return predicted, predicted, predicted
        raise ValueError(estimates)

    # time

    def run(self, until: float) -> ReferenceResult:
        self._open()
        while True:
            ahead = sorted(self._events())
            if not ahead or ahead[0].time > until:
                break
            due = ahead[:1] if self.one_by_one else [event for event in ahead if event.time == ahead[0].time]
            self._forward(ahead[0].time)
            happened = [self._handle(event) for event in due]
            if any(happened):
                self._pass()
        self.result.clock = self.clock
        if self.policy == "replay":
            starts = enumerate(self.result.start)
            self.result.delayed = {j for j, start in starts if start is not None and start > self.jobs[j].start}
        return self.result

    def _open(self) -> None:
        """Bring about what was the case when the clock starts."""
        now = self.clock
        displaced = []
        for _, j in sorted((self.jobs[j].start, j) for j in range(len(self.jobs)) if self.jobs[j].initial):
            if self.jobs[j].nodes > self.size:
                self.result.state[j] = "REFUSED"
            elif self.jobs[j].nodes <= self._free_count():
                self._start(j, self._choose(j, self._free_nodes()), initial=True)
            else:
                displaced.append(j)
        self.result.displaced = set(displaced)

        happened = False
        for o in sorted(self.outages_ahead, key=lambda o: self.outages[o].start):
            if self.outages[o].start <= now:
                happened = self._begin(o)
        if happened and self.one_by_one:
            self._pass()

        arrived = [j for j in self.submits if self.jobs[j].submit <= now]
        self.submits = self.submits[len(arrived) :]
        for j in sorted(arrived + displaced):
            joined = self._submit(j)
            if joined and self.one_by_one:
                self._pass()
            happened |= joined
        if happened and not self.one_by_one:
            self._pass()

    def _events(self) -> Iterator[Event]:
        for run in self.running:
            yield Event(run.end, _FINISH, run.seq, run)
        for o in self.outages_active:
            yield Event(self.outages[o].end, _OUTAGE_END, o, o)
        for o in self.outages_ahead:
            yield Event(self.outages[o].start, _OUTAGE_BEGIN, o, o)
        for j in itertools.takewhile(lambda j: self.jobs[j].submit == self.jobs[self.submits[0]].submit, self.submits):
            yield Event(self.jobs[j].submit, _SUBMIT, j, j)
        if self.policy == "replay":
            for j in self.queue:
                if self.jobs[j].start > self.clock:  # else it is tried in every pass
                    yield Event(self.jobs[j].start, _RECORDED_START, j, j)

    def _handle(self, event: Event) -> bool:
        """Let an event happen; tell whether it asks for a scheduling pass."""
        if event.kind == _FINISH:
            self._finish(event.what)
        elif event.kind == _OUTAGE_END:
            self.outages_active.remove(event.what)
        elif event.kind == _OUTAGE_BEGIN:
            self._begin(event.what)
        elif event.kind == _SUBMIT:
            self.submits.remove(event.what)
            return self._submit(event.what)
        return True

    def _forward(self, time: int) -> None:
        self.clock = time
        self.fair_share.forward(time)

    def _submit(self, j: int) -> bool:
        admitted = self.jobs[j].nodes <= self.size
        self.result.state[j] = "QUEUED" if admitted else "REFUSED"
        if admitted:
            self.queue.append(j)
        return admitted

    def _begin(self, o: int) -> bool:
        outage = self.outages[o]
        self.outages_ahead.remove(o)
        self.outages_active.append(o)
        if outage.mode != "drain":
            for run in [run for run in self.running if run.nodes & set(outage.nodes)]:
                self._kill(run, requeue=outage.mode == "requeue")
        return True

    # jobs

    def _start(self, j: int, nodes: set[int] | None, *, initial: bool = False) -> None:
        start = self.jobs[j].start if initial else self.clock
        runtime = self.jobs[j].runtime if initial else self.runtime[j]
        run = Run(j, next(self.seqs), start, start + runtime, start + self.running_length[j], nodes, initial)
        self.running.append(run)
        self.fair_share.running_nodes[self.jobs[j].user] += self.jobs[j].nodes
        if not initial:
            self.queue.remove(j)
        self.result.start[j], self.result.nodes[j], self.result.state[j] = start, nodes, "RUNNING"
        if self._wants_recorded(j) and self.jobs[j].node_ids and nodes != set(self.jobs[j].node_ids):
            self.result.relocated += 1

    def _release(self, run: Run) -> None:
        self.running.remove(run)
        self.fair_share.running_nodes[self.jobs[run.job].user] -= self.jobs[run.job].nodes

    def _finish(self, run: Run) -> None:
        self._release(run)
        was_cut = self.cut and not run.initial and self.jobs[run.job].runtime > self.jobs[run.job].requested_time
        self.result.end[run.job] = run.end
        self.result.state[run.job] = "TIMEOUT" if was_cut else "COMPLETED"

    def _kill(self, run: Run, *, requeue: bool) -> None:
        self._release(run)
        if requeue:
            self.result.attempts.append(Attempt(run.job, run.start, self.clock, frozenset(run.nodes or ())))
            self.result.start[run.job] = self.result.nodes[run.job] = None
            self.result.state[run.job] = "QUEUED"
            self.queue.append(run.job)
        else:
            self.result.end[run.job] = self.clock
            self.result.state[run.job] = "FAILED"

    # nodes

    def _free_nodes(self) -> set[int]:
        """Return the nodes that are up and idle."""
        down = {node for o in self.outages_active for node in self.outages[o].nodes}
        busy = {node for run in self.running for node in run.nodes or ()}
        return set(range(self.size)) - down - busy

    def _free_count(self) -> int:
        if self.placement == "count":
            return self.size - sum(self.jobs[run.job].nodes for run in self.running)
        return len(self._free_nodes())

    def _choose(self, j: int, free: set[int]) -> set[int] | None:
        """Return the nodes among those free that a job is given."""
        job = self.jobs[j]
        if self.placement == "count":
            return None
        recorded = set(job.node_ids)
        if self._wants_recorded(j) and len(job.node_ids) == len(recorded) == job.nodes and recorded <= free:
            return recorded
        return contiguous(free, job.nodes) if self.placement == "contiguous" else lowest(free, job.nodes)

    def _wants_recorded(self, j: int) -> bool:
        """Say whether a job gets the nodes it had in the log, if they are free; one that ran at the beginning does."""
        return self.placement == "recorded" or (self.placement != "count" and self.jobs[j].initial)

    # one scheduling pass

    def _pass(self) -> None:
        self._sort_queue()
        if self.policy == "replay":
            for j in list(self.queue):
                if self.jobs[j].start <= self.clock and self.jobs[j].nodes <= self._free_count():
                    self._start(j, self._choose(j, self._free_nodes()))
        elif self.by_node or self._visible_outages():
            self._pass_by_node()
        else:
            self._pass_by_count()

    def _sort_queue(self) -> None:
        score = scores(
            self.policy,
            self.queue,
            self.jobs,
            self.request,
            self.clock,
            nodes=self.size,
            seed=self.seed,
            multifactor=self.multifactor,
            fair_share=self.fair_share,
        )
        if not self.one_by_one:
            self.queue.sort()
        self.queue.sort(key=lambda j: -score[j])  # stable: equals keep their order

    def _pass_by_count(self) -> None:
        for j in self._window_order():
            if self.jobs[j].nodes > self._free_count():
                break
            self._start_on_free_nodes(j)
        if len(self.queue) < 2:
            self._log_head(None)
            return
        if self.backfill == "firstfit":
            self._log_head(None)
            for j in self.queue[1:]:
                if self.jobs[j].nodes <= self._free_count():
                    self._start_on_free_nodes(j)
        elif self.backfill == "easy" and self.depth == 1:
            self._easy()
        elif self.backfill != "none":
            self._reserve_by_count()

    def _start_on_free_nodes(self, j: int) -> None:
        self._start(j, self._choose(j, self._free_nodes()))

    def _log_head(self, shadow: int | None) -> None:
        if self.queue:
            self.result.passes.append(Pass(self.clock, self.queue[0], shadow))

    def _believed_end(self, run: Run, *, overdue: int) -> int:
        return max(run.planned_end, self.clock + overdue)

    def _ends(self) -> list[tuple[int, int]]:
        """Return believed ends and nodes of the running jobs, the earliest first."""
        overdue = 0 if self.one_by_one else 1
        runs = sorted(self.running, key=lambda run: (self._believed_end(run, overdue=overdue), run.seq))
        return [(self._believed_end(run, overdue=overdue), self.jobs[run.job].nodes) for run in runs]

    def _window_order(self) -> Iterable[int]:
        """Return the queue, its first jobs in the order in which they could all end earliest."""
        if self.window < 2:
            return list(self.queue)
        first = self.queue[: self.window]
        indices = itertools.permutations(range(len(first)))
        best, earliest = first, math.inf
        for permutation in sorted(indices, key=lambda p: p[::-1], reverse=True):  # so that the identity is tried first
            candidate = [first[i] for i in permutation]
            profile = CountProfile(self.clock, self._free_count(), self._ends())
            step, latest = 0, -math.inf
            for j in candidate:
                step = profile.place(self.jobs[j].nodes, self.waiting_length[j], first=step)
                latest = max(latest, profile.times[step] + self.waiting_length[j])
            if latest < earliest:
                best, earliest = candidate, latest
        return best + self.queue[self.window :]

    def _easy(self) -> None:
        """Backfill by the textbook: a shadow time for the head, and nodes that it leaves over then."""
        now = self.clock
        need = self.jobs[self.queue[0]].nodes
        free = self._free_count()
        ends = self._ends()
        if free >= need:  # the window optimisation started others instead; the head waits, its nodes are kept
            shadow, extra = now, free - need
        else:
            shadow = next(time for time, _ in ends if free + sum(n for end, n in ends if end <= time) >= need)
            extra = free + sum(n for end, n in ends if end <= shadow) - need
        self._log_head(shadow)
        for j in self.queue[1:]:
            nodes = self.jobs[j].nodes
            ends_in_time = now + self.waiting_length[j] <= shadow
            if nodes <= self._free_count() and (ends_in_time or nodes <= extra):
                self._start_on_free_nodes(j)
                if not ends_in_time:
                    extra -= nodes

    def _reserve_by_count(self) -> None:
        profile = CountProfile(self.clock, self._free_count(), self._ends())
        marked, reservations = [], 0
        for place, j in enumerate(self.queue):
            nodes, length = self.jobs[j].nodes, self.waiting_length[j]
            starts = place > 0 and profile.fits(nodes, length)
            if starts or self.backfill == "conservative" or reservations < self.depth:
                step = profile.place(nodes, length)
                reservations += not starts
                if place == 0:
                    self._log_head(profile.times[step])
            if starts:
                marked.append(j)
        for j in marked:
            self._start_on_free_nodes(j)

    # one scheduling pass while an outage is known of

    def _visible_outages(self) -> list[tuple[set[int], int, int]]:
        """Return nodes, begin and believed end of the outages that hold nodes, or are known to do so later."""
        now = self.clock
        active = [self.outages[o] for o in self.outages_active]
        ahead = [self.outages[o] for o in self.outages_ahead]
        return [(set(o.nodes), now, max(o.end, now + 1)) for o in active] + [
            (set(o.nodes), o.start, o.end) for o in ahead if o.planned and o.end > now
        ]

    def _node_profile(self) -> NodeProfile:
        running = [(run.nodes, self.clock, self._believed_end(run, overdue=1)) for run in self.running]
        return NodeProfile(self.clock, self.size, running + self._visible_outages())

    def _pass_by_node(self) -> None:
        profile = self._node_profile()
        for j in list(self.queue):
            if not self._start_if_available(j, profile):
                break
        if len(self.queue) < 2:
            self._log_head(None)
            return
        if self.backfill == "firstfit":
            self._log_head(None)
            for j in self.queue[1:]:
                self._start_if_available(j, profile)
        elif self.backfill != "none":
            self._reserve_by_node()

    def _start_if_available(self, j: int, profile: NodeProfile) -> bool:
        available = profile.available(0, self.waiting_length[j])
        if len(available) < self.jobs[j].nodes:
            return False
        nodes = self._choose(j, available)
        self._start(j, nodes)
        profile.take(nodes)
        return True

    def _reserve_by_node(self) -> None:
        profile = self._node_profile()
        depth = math.inf if self.backfill == "conservative" else self.depth
        marked, reservations = [], 0
        for place, j in enumerate(self.queue):
            count, length = self.jobs[j].nodes, self.waiting_length[j]
            starts = place > 0 and len(profile.available(0, length)) >= count
            if not starts and reservations >= depth:
                continue
            placed = profile.place(count, length, lambda free, j=j: self._choose(j, free))
            if starts:
                marked.append((j, placed[1]))
            elif placed is not None:
                reservations += 1
            if place == 0:
                self._log_head(None if placed is None else profile.times[placed[0]])
        for j, nodes in marked:
            self._start(j, nodes)
