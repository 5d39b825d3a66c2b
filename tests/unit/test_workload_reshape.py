"""New workloads from old ones, against plain Python written from the definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from unit.workload_strategies import workloads

from twin_gym.errors import OptionError, WorkloadError
from twin_gym.workload import COLUMNS, UNKNOWN, Ragged, Status, Trace, Workload


def job(workload: Workload, row: int) -> dict[str, object]:
    """All that belongs to one job, apart from its times."""
    found: dict[str, object] = {
        name: getattr(workload, name)[row].item() for name in ("runtime", "requested_time", "nodes", "status")
    }
    found["priority"] = repr(workload.priority[row])
    for name, names in (("user", workload.users), ("account", workload.accounts), ("partition", workload.partitions)):
        code = getattr(workload, name)[row]
        found[name] = None if code < 0 else names[code]
    if workload.node_ids is not None:
        found["node_ids"] = workload.node_ids[row].tolist()
    for name, trace in workload.traces.items():
        found[name] = (trace[row].tolist(), trace.start[row].item(), trace.quantum[row].item())
    found |= {name: repr(column[row]) for name, column in workload.extra.items()}
    return found


def by_id(workload: Workload) -> dict[int, int]:
    return {number: row for row, number in enumerate(workload.id.tolist())}


def five() -> Workload:
    """Five jobs around a window [100, 200)."""
    return Workload.build(
        id=[1, 2, 3, 4, 5, 6],
        submit=[0, 10, 20, 90, 100, 200],
        start=[0, 50, 100, 150, 199, 200],
        runtime=[100, 60, 10, 10, 10, 10],
        nodes=[1, 2, 3, 4, 5, 6],
        epoch=1000,
    )


def test_a_window_by_hand() -> None:
    window = five().window(100, 100)
    # 1 ended just when the window begins; 2 runs until 110; 3 starts now; 4 waits; 5 arrives; 6 comes too late
    assert window.id.tolist() == [2, 3, 4, 5]
    assert window.submit.tolist() == [-90, -80, -10, 0]
    assert window.start.tolist() == [-50, 0, 50, 99]
    assert window.initial.tolist() == [True, False, False, False]
    assert window.runtime.tolist() == [60, 10, 10, 10]
    assert (window.epoch, window.epoch_known) == (1100, True)


def test_a_window_of_arrivals_only() -> None:
    window = five().window(100, 100, prepopulate=False)
    assert window.id.tolist() == [5]
    assert not window.initial.any()


def test_a_window_without_a_duration_goes_to_the_end() -> None:
    assert five().window(150).id.tolist() == [4, 5, 6]


def test_jobs_of_unknown_start_are_left_out_and_counted() -> None:
    log = Workload.build(submit=[0, 10, 100], runtime=[5, 5, 5], nodes=[1, 1, 1], start=[UNKNOWN, 99, UNKNOWN])
    window = log.window(50)
    assert window.id.tolist() == [2, 3]
    assert window.report.count("unknown_start") == 1
    assert (window.report.read, window.report.kept) == (3, 3)


def test_a_window_beside_the_log_is_refused() -> None:
    with pytest.raises(
        WorkloadError, match="from 211 s to 221 s lies beyond the end of workload, which spans 0 s to 210"
    ):
        five().window(211, 10)
    with pytest.raises(WorkloadError, match="lies before the beginning of workload"):
        five().window(-50, 50)
    with pytest.raises(WorkloadError, match="No job of workload was running, waiting or submitted from 210 s to 211 s"):
        five().window(210, 1)
    with pytest.raises(OptionError, match="window of 0 s is empty"):
        five().window(0, 0)


@given(workloads(), st.integers(-100, 2_100_000), st.integers(1, 2_100_000), st.booleans())
def test_windows_hold_what_the_definition_says(log: Workload, start: int, duration: int, prepopulate: bool) -> None:
    running, queued, arriving = set(), set(), set()
    for number, submit, begin, runtime in zip(
        *(getattr(log, n).tolist() for n in ("id", "submit", "start", "runtime")), strict=True
    ):
        if start <= submit < start + duration:
            arriving.add(number)
        elif submit < start and begin != UNKNOWN and prepopulate:
            if begin < start < begin + runtime:
                running.add(number)
            elif begin >= start:
                queued.add(number)
    try:
        window = log.window(start, duration, prepopulate)
    except WorkloadError:
        assert not running | queued | arriving
        return
    rows = by_id(log)
    assert set(window.id.tolist()) == running | queued | arriving
    for row, number in enumerate(window.id.tolist()):
        assert window.initial[row] == (number in running)
        assert window.submit[row] == log.submit[rows[number]] - start
        known = log.start[rows[number]] != UNKNOWN
        assert window.start[row] == (log.start[rows[number]] - start if known else UNKNOWN)
        assert job(window, row) == job(log, rows[number])
    assert window.epoch == (log.epoch + start if log.epoch_known else 0)


@given(workloads(), st.integers(0, 1_000_000), st.integers(0, 1_000_000))
def test_a_window_of_a_window_is_a_window(log: Workload, first: int, second: int) -> None:
    try:
        direct = log.window(first + second)
    except WorkloadError:
        assume(False)
    assert log.window(first).window(second).fingerprint() == direct.fingerprint()


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0, 3.7])
def test_scaled_arrivals(factor: float) -> None:
    log = five().scale_arrivals(factor)
    assert log.submit.tolist() == [round(t / factor) for t in [0, 10, 20, 90, 100, 200]]
    assert (log.start == UNKNOWN).all()
    assert log.span == pytest.approx(200 / factor, abs=1)


def test_scaled_arrivals_leave_what_was_there_before_a_window() -> None:
    window = five().window(100, 101).scale_arrivals(2.0)
    assert window.submit.tolist() == [-90, -80, -10, 0, 50]
    assert window.start.tolist() == [-50, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN]


def test_scaled_sizes_fit_the_scaled_machine() -> None:
    log = Workload.build(
        submit=[0, 1, 2, 3],
        runtime=[1] * 4,
        nodes=[1, 3, 7, 9],
        capacity=7,
        node_ids=Ragged.from_rows([[1], [], [], []]),
    )
    half = log.scale_nodes(0.5)
    assert half.capacity == 4
    assert half.nodes.tolist() == [1, 2, 4, 4]
    assert half.node_ids is None
    assert log.scale_nodes(2.0, capacity=13).nodes.tolist() == [2, 6, 13, 18]


@pytest.mark.parametrize("factor", [0.0, -1.0, float("nan"), float("inf")])
def test_factors_must_be_positive(factor: float) -> None:
    with pytest.raises(OptionError, match=r"scale_arrivals=.* must be a positive number"):
        five().scale_arrivals(factor)
    with pytest.raises(OptionError, match=r"scale_nodes=.* must be a positive number"):
        five().scale_nodes(factor)


def test_sizes_beyond_int32_are_refused() -> None:
    with pytest.raises(OptionError, match="the largest is 2147483647"):
        five().scale_nodes(1e9)


@given(workloads(), st.integers(0, 2**32))
def test_shuffled_jobs_are_the_same_jobs_at_the_same_times(log: Workload, seed: int) -> None:
    shuffled = log.shuffle(seed)
    np.testing.assert_array_equal(shuffled.submit, log.submit)
    rows = by_id(log)
    assert sorted(rows) == sorted(shuffled.id.tolist())
    for row, number in enumerate(shuffled.id.tolist()):
        assert job(shuffled, row) == job(log, rows[number])
    assert (shuffled.start == UNKNOWN).all()
    assert shuffled.fingerprint() == log.shuffle(seed).fingerprint()


def test_shuffling_moves_jobs_but_not_those_that_run() -> None:
    log = Workload.build(submit=range(100), runtime=[1000] * 100, nodes=range(1, 101), start=range(100))
    assert log.shuffle(0).id.tolist() != log.id.tolist()
    assert log.shuffle(0).id.tolist() != log.shuffle(1).id.tolist()
    window = log.window(50)
    mixed = window.shuffle(3)
    assert mixed.id[:50].tolist() == window.id[:50].tolist()
    assert mixed.start[:50].tolist() == window.start[:50].tolist()
    assert mixed.id[50:].tolist() != window.id[50:].tolist()


@given(workloads(), st.data())
def test_samples_are_consecutive(log: Workload, data: st.DataObject) -> None:
    jobs = data.draw(st.integers(1, len(log)))
    sample = log.sample(jobs, data.draw(st.integers(0, 100)))
    first = by_id(log)[sample.id[0].item()]
    assert sample.id.tolist() == log.id[first : first + jobs].tolist()
    assert sample.submit.tolist() == (log.submit[first : first + jobs] - log.submit[first]).tolist()
    assert [job(sample, row) for row in range(jobs)] == [job(log, first + row) for row in range(jobs)]
    assert not sample.initial.any()


def test_samples_reach_both_ends() -> None:
    log = five()
    assert {int(log.sample(5, seed).id[0]) for seed in range(30)} == {1, 2}
    with pytest.raises(OptionError, match="sample of 7 jobs can't be taken of workload, which has 6"):
        log.sample(7, 0)


@given(workloads(), st.data())
def test_selection(log: Workload, data: st.DataObject) -> None:
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(log), max_size=len(log))))
    if not mask.any():
        with pytest.raises(WorkloadError, match="leaves no job"):
            log.select(mask)
        return
    part = log.select(mask)
    kept = np.flatnonzero(mask)
    assert part.id.tolist() == log.id[mask].tolist()
    assert part.submit.tolist() == log.submit[mask].tolist()
    assert [job(part, row) for row in range(len(part))] == [job(log, row) for row in kept]


def test_a_selection_needs_a_mask() -> None:
    with pytest.raises(WorkloadError, match="one True or False for each of the 6 jobs"):
        five().select([1, 2])


def test_joined_end_to_end() -> None:
    other = Workload.build(id=[2, 9], submit=[5, 8], runtime=[1, 1], nodes=[1, 1], user=["a", "b"], start=[6, UNKNOWN])
    joined = Workload.concat([five(), other], gap=50)
    assert joined.submit.tolist() == [0, 10, 20, 90, 100, 200, 250, 253]
    assert joined.start[6:].tolist() == [251, UNKNOWN]
    assert joined.id.tolist() == [1, 2, 3, 4, 5, 6, 10, 9]
    assert joined.report.count("duplicate_id") == 1
    assert (joined.users, joined.user.tolist()) == (("a", "b"), [-1] * 6 + [0, 1])
    assert (joined.epoch, joined.epoch_known) == (1000, True)


def test_joined_on_the_calendar() -> None:
    early = Workload.build(submit=[0, 100], runtime=[1, 2], nodes=[1, 1], epoch=1_000_000, user=["b", "a"])
    late = Workload.build(submit=[0, 30], runtime=[3, 4], nodes=[1, 1], epoch=1_000_050, user=["a", "c"], capacity=5)
    for parts in ([early, late], [late, early]):
        joined = Workload.concat(parts, gap=None)
        assert joined.submit.tolist() == [0, 50, 80, 100]
        assert joined.runtime.tolist() == [1, 3, 4, 2]
        assert joined.epoch == 1_000_000
        assert [joined.users[code] for code in joined.user] == ["b", "a", "c", "a"]
        assert joined.capacity == 5
    with pytest.raises(WorkloadError, match="calendar time of workload is unknown"):
        Workload.concat([early, Workload.build(submit=[0], runtime=[1], nodes=[1])], gap=None)


@given(st.lists(workloads(max_jobs=5), min_size=1, max_size=3), st.integers(0, 1000))
def test_joined_jobs_are_the_same_jobs(parts: list[Workload], gap: int) -> None:
    if len({part.unit for part in parts}) > 1:
        with pytest.raises(WorkloadError, match="nodes and processors"):
            Workload.concat(parts, gap)
        return
    joined = Workload.concat(parts, gap)
    expected = [job(part, row) for part in parts for row in range(len(part))]
    assert [job(joined, row) for row in range(len(joined))] == expected
    assert len(set(joined.id.tolist())) == len(joined)


def test_what_only_one_of_the_joined_has_is_unknown_in_the_other() -> None:
    plain = Workload.build(submit=[0], runtime=[1], nodes=[1])
    rich = Workload.build(
        submit=[0],
        runtime=[1],
        nodes=[1],
        node_ids=Ragged.from_rows([[3, 4]]),
        traces={"cpu": Trace.scalars([0.5], "1")},
        extra={"n": np.array([7]), "x": np.array([0.5]), "t": np.array(["abc"])},
        status=[Status.FAILED],
    )
    joined = Workload.concat([plain, rich])
    assert joined.node_ids is not None
    assert [joined.node_ids[row].tolist() for row in range(2)] == [[], [3, 4]]
    assert [joined.traces["cpu"][row].tolist() for row in range(2)] == [[], [0.5]]
    assert joined.extra["n"].tolist() == [-1, 7]
    assert np.isnan(joined.extra["x"][0])
    assert joined.extra["t"].tolist() == ["", "abc"]
    assert joined.status.tolist() == [-1, 0]


def test_joining_nothing_or_with_a_negative_gap() -> None:
    with pytest.raises(WorkloadError, match="no workload to join"):
        Workload.concat([])
    with pytest.raises(OptionError, match="gap=-1"):
        Workload.concat([five(), five()], gap=-1)


def test_new_workloads_keep_the_types() -> None:
    log = five()
    for other in (log.window(100), log.scale_arrivals(2), log.scale_nodes(2), log.shuffle(1), log.sample(2, 0)):
        for name, dtype in COLUMNS.items():
            assert getattr(other, name).dtype == dtype
            assert not getattr(other, name).flags.writeable
