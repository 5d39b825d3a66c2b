"""What must be true of any schedule, whatever the rules: checked on the reference's results and on the engine's."""

from __future__ import annotations

from itertools import pairwise

from reference.scheduler import ReferenceResult
from reference.strategies import Case

FINAL = ("COMPLETED", "TIMEOUT", "FAILED", "REFUSED")


def check_invariants(case: Case, result: ReferenceResult) -> None:
    """Raise AssertionError if a result can't be true.

    The guarantee that the head of the queue is not delayed is checked where it holds: see `_check_head`.
    """
    _check_states(case, result)
    _check_times(case, result)
    _check_capacity(case, result)
    if not case.outages and case.option("policy") != "replay":
        _check_idle_machine(case, result)
    if case.option("policy") == "fcfs" and case.option("backfill") == "none" and not case.outages:
        _check_first_come_first_served(case, result)
    if _head_is_protected(case):
        _check_head(result)
    if _sees_every_collision(case):
        _check_planned_outages(case, result)


def _placed(case: Case, result: ReferenceResult, j: int) -> bool:
    """Tell whether a job's last run began before the clock did."""
    return case.jobs[j].initial and result.start[j] == case.jobs[j].start


def _runs(case: Case, result: ReferenceResult) -> list[tuple[int, int, int, set[int] | None]]:
    """Return job, start, end and nodes of all runs, also those cut short; one that still runs ends after the clock."""
    runs: list[tuple[int, int, int, set[int] | None]] = [
        (attempt.job, attempt.start, attempt.end, set(attempt.nodes)) for attempt in result.attempts
    ]
    for j, start in enumerate(result.start):
        if start is not None:
            end = result.end[j]
            runs.append((j, start, result.clock + 1 if end is None else end, result.nodes[j]))
    return runs


def _check_states(case: Case, result: ReferenceResult) -> None:
    for j, job in enumerate(case.jobs):
        state, start, end = result.state[j], result.start[j], result.end[j]
        if case.option("until") is None:
            assert state in FINAL, f"job {j} ended {state}"
        assert (state == "REFUSED") == (job.nodes > case.nodes) or state == "PENDING", f"job {j} is {state}"
        assert (start is not None) == (state in ("RUNNING", "COMPLETED", "TIMEOUT", "FAILED")), f"job {j}: start"
        assert (end is not None) == (state in ("COMPLETED", "TIMEOUT", "FAILED")), f"job {j}: end"
        if state == "FAILED":
            killers = [o for o in case.outages if o.mode == "fail" and max(o.start, *_clocks(case)) == end]
            assert killers, f"job {j} failed at {end}, when no outage began"


def _clocks(case: Case) -> tuple[int, int]:
    """Return when the clock starts, twice (so that `max` always has two)."""
    window = any(job.submit < 0 or job.initial for job in case.jobs)
    clock = 0 if window else case.jobs[0].submit
    return clock, clock


def _check_times(case: Case, result: ReferenceResult) -> None:
    kill = case.option("kill_at_request") and case.option("policy") != "replay"
    for j, job in enumerate(case.jobs):
        start, end = result.start[j], result.end[j]
        if start is None:
            continue
        assert start >= job.submit, f"job {j} starts before its submit"
        cut = kill and not _placed(case, result, j) and job.runtime > job.requested_time
        if result.state[j] in ("COMPLETED", "TIMEOUT"):
            assert end - start == (job.requested_time if cut else job.runtime), f"job {j} ran for {end - start}"
            assert (result.state[j] == "TIMEOUT") == cut, f"job {j} is {result.state[j]}"
    for attempt in result.attempts:
        assert case.jobs[attempt.job].submit <= attempt.start <= attempt.end
    for j in range(len(case.jobs)):
        tries = sorted((s, e) for job, s, e, _ in _runs(case, result) if job == j)
        assert all(a[1] <= b[0] for a, b in pairwise(tries)), f"job {j} runs twice at one time"


def _check_capacity(case: Case, result: ReferenceResult) -> None:
    runs = [run for run in _runs(case, result) if run[1] < run[2]]
    for time in {start for _, start, _, _ in runs}:
        now = [(j, nodes) for j, start, end, nodes in runs if start <= time < end]
        assert sum(case.jobs[j].nodes for j, _ in now) <= case.nodes, f"too many nodes are busy at {time}"
        held = [node for _, nodes in now for node in nodes or ()]
        assert len(held) == len(set(held)), f"a node is used twice at {time}"
    for j, _, _, nodes in runs:
        if nodes is not None:
            assert len(nodes) == case.jobs[j].nodes, f"job {j} has {len(nodes)} nodes"
            assert nodes <= set(range(case.nodes)), f"job {j} has nodes that don't exist"
    for outage in case.outages:
        begin = max(outage.start, *_clocks(case))
        for j, start, end, nodes in runs:
            if nodes & set(outage.nodes) and begin < outage.end:
                assert not begin < start < outage.end, f"job {j} starts on a node that is down"
                if outage.mode != "drain":
                    assert not start < begin < end, f"job {j} survives an outage"


def _check_idle_machine(case: Case, result: ReferenceResult) -> None:
    """Nobody waits while the whole machine is idle."""
    runs = _runs(case, result)
    begin = _clocks(case)[0]
    for j, start in enumerate(result.start):
        if start is None or _placed(case, result, j):
            continue
        time = max(case.jobs[j].submit, begin)
        while time < start:
            ends = [e for _, s, e, _ in runs if s <= time < e]
            assert ends, f"job {j} waits at {time} for an idle machine"
            time = max(ends)


def _check_first_come_first_served(case: Case, result: ReferenceResult) -> None:
    if case.option("window"):
        return
    starts = [s for j, s in enumerate(result.start) if s is not None and not _placed(case, result, j)]
    assert starts == sorted(starts), "a later job starts first"


def _head_is_protected(case: Case) -> bool:
    """Tell whether the head's reservation is a promise.

    It is if (1) nobody can overtake the head: fcfs, no window optimisation, no outage that queues jobs again; (2) all
    running jobs end when they are believed to, or before: limits are enforced, and no job was running before the clock
    started, which no limit cuts; (3) what is backfilled is believed to run as long before its start as after it: not so
    for hybrid estimates, that let a job in by its runtime and then reckon with its request.
    """
    return (
        case.option("policy") == "fcfs"
        and case.option("backfill") in ("easy", "conservative")
        and case.option("estimates") in ("requested", "perfect")
        and (case.option("kill_at_request") or case.option("estimates") == "perfect")
        and not case.option("window")
        and not case.outages
        and not any(job.initial for job in case.jobs)
    )


def _check_head(result: ReferenceResult) -> None:
    for step in result.passes:
        start = result.start[step.head]
        if step.shadow is not None and start is not None:
            assert start <= step.shadow, f"job {step.head}, the head at {step.time}, was promised {step.shadow}"


def _sees_every_collision(case: Case) -> bool:
    """Tell whether no job is believed to end earlier than it does."""
    estimates = case.option("estimates")
    return case.option("policy") != "replay" and (
        estimates in ("perfect", "hybrid") or (estimates == "requested" and case.option("kill_at_request"))
    )


def _check_planned_outages(case: Case, result: ReferenceResult) -> None:
    """Nothing is started that would run into a planned outage."""
    for outage in case.outages:
        if not outage.planned:
            continue
        for j, start, end, nodes in _runs(case, result):
            if not _placed(case, result, j) and nodes & set(outage.nodes):
                assert not start < outage.start < end, f"job {j} runs into an outage that was known"
