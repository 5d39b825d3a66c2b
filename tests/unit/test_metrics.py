"""The statistics against numbers worked out by hand and against their definitions spelled out as loops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twin_gym import metrics


def ints(*values: int) -> Any:
    return np.array(values, np.int64)


JOBS = st.lists(
    st.tuples(st.integers(1, 200_000), st.integers(0, 10**7), st.integers(1, 10**6)), min_size=1, max_size=30
)


def columns(jobs: list[tuple[int, int, int]]) -> tuple[Any, Any, Any]:
    nodes, wait, runtime = (ints(*column) for column in zip(*jobs, strict=True))
    return nodes, wait, runtime


def test_spread_by_hand() -> None:
    assert metrics.spread(ints(0, 10, 20, 30, 1000)) == metrics.Spread(212.0, 20.0, pytest.approx(806.0), 1000.0)
    assert metrics.spread(ints(7)) == metrics.Spread(7.0, 7.0, 7.0, 7.0)


def test_nothing_has_no_spread_and_no_mean() -> None:
    nothing = ints()
    assert metrics.spread(nothing) == (None, None, None, None)
    assert metrics.awrt(nothing, nothing, nothing) is None
    assert metrics.psrt(nothing, nothing, nothing) is None
    assert metrics.jain(np.zeros(0)) is None
    assert metrics.utilization(0, 0, 100) is None
    assert metrics.utilization(0, 10, 0) is None
    assert metrics.throughput(0, 0) is None


def test_slowdown_by_hand() -> None:
    assert metrics.slowdown(ints(0, 90, 5), ints(100, 50, 0)).tolist() == [
        1.0,
        2.8,
        pytest.approx(math.nan, nan_ok=True),
    ]


def test_bounded_slowdown_by_hand() -> None:
    wait, runtime = ints(0, 90, 99, 3, 5), ints(100, 50, 1, 1, 0)
    # 140 / 50; a job of 1 s counts as 10 s: 100 / 10, and 4 / 10 is raised to 1
    assert metrics.bounded_slowdown(wait, runtime).tolist() == [1.0, 2.8, 10.0, 1.0, 1.0]
    assert metrics.bounded_slowdown(wait, runtime, tau=60).tolist() == pytest.approx(
        [1.0, 140 / 60, 100 / 60, 1.0, 1.0]
    )


def test_area_weighted_response_time_by_hand() -> None:
    # 4 nodes x 100 s answered after 100 s, 2 nodes x 50 s after 140 s
    assert metrics.awrt(ints(4, 2), ints(100, 50), ints(100, 140)) == (400 * 100 + 100 * 140) / 500


def test_priority_weighted_response_time_by_hand() -> None:
    value = metrics.psrt(ints(4, 2), ints(0, 90), ints(100, 140))
    above = 4 * 100**4 + 2 * (140**4 - 90**4)
    below = 4 * 100**3 + 2 * (140**3 - 90**3)
    assert value == pytest.approx(3 * above / (4 * below), rel=1e-15)
    # a single job that starts at once: 3/4 of its turnaround
    assert metrics.psrt(ints(5), ints(0), ints(80)) == 60.0


def test_a_short_run_after_a_long_wait_keeps_its_digits() -> None:
    # in floats T^4 - w^4 is 0 here; a job of no length is answered after w
    assert metrics.psrt(ints(1), ints(10**9), ints(10**9 + 1)) == pytest.approx(10**9, rel=1e-8)


@given(JOBS)
def test_weighted_times_are_their_definitions(jobs: list[tuple[int, int, int]]) -> None:
    nodes, wait, runtime = columns(jobs)
    area = sum(n * r for n, _, r in jobs)
    late = [(n, w, w + r) for n, w, r in jobs]
    assert metrics.awrt(nodes, runtime, wait + runtime) == pytest.approx(
        sum(n * r * (w + r) for n, w, r in jobs) / area, rel=1e-12
    )
    above = 3 * sum(n * (t**4 - w**4) for n, w, t in late)
    below = 4 * sum(n * (t**3 - w**3) for n, w, t in late)
    assert metrics.psrt(nodes, wait, wait + runtime) == pytest.approx(above / below, rel=1e-12)


@given(JOBS, st.integers(2, 20))
def test_response_times_do_not_depend_on_how_work_is_cut(jobs: list[tuple[int, int, int]], parts: int) -> None:
    nodes, wait, runtime = columns(jobs)
    # every job as `parts` jobs side by side
    cut = [np.repeat(column, parts) for column in (nodes, wait, runtime)]
    for weigh in (
        lambda n, w, r: metrics.awrt(n, r, w + r),
        lambda n, w, r: metrics.psrt(n, w, w + r),
    ):
        assert weigh(*cut) == pytest.approx(weigh(nodes, wait, runtime), rel=1e-12)


@given(JOBS, st.floats(0.5, 5000))
def test_slowdowns_are_their_definitions(jobs: list[tuple[int, int, int]], tau: float) -> None:
    _, wait, runtime = columns(jobs)
    assert metrics.slowdown(wait, runtime).tolist() == pytest.approx([(w + r) / r for _, w, r in jobs])
    expected = [max(1.0, (w + r) / max(r, tau)) for _, w, r in jobs]
    assert metrics.bounded_slowdown(wait, runtime, tau).tolist() == pytest.approx(expected)


def test_node_seconds_count_only_between_two_instants() -> None:
    start, end, nodes = ints(-50, 0, 90, 200), ints(10, 50, 200, 300), ints(1, 2, 3, 4)
    assert metrics.node_seconds(start, end, nodes, 0, 100) == 10 * 1 + 50 * 2 + 10 * 3
    assert metrics.node_seconds(start, end, 1, 0, 100) == 70
    assert metrics.utilization(140, 10, 100) == 0.14


def test_node_seconds_of_a_century_on_a_large_machine_do_not_overflow() -> None:
    years = ints(3 * 10**11)
    assert metrics.node_seconds(years * 0, years, ints(2**31 - 1), 0, 10**12) == pytest.approx(6.4e20, rel=0.01)


def test_throughput_is_per_hour() -> None:
    assert metrics.throughput(10, 7200) == 5.0


def test_means_by_group_leave_out_unknown_and_empty_groups() -> None:
    codes = np.array([2, 0, -1, 2], np.int32)
    assert metrics.mean_by(codes, np.array([1.0, 5.0, 100.0, 2.0]), 4).tolist() == [5.0, 1.5]
    assert metrics.mean_by(np.full(3, -1, np.int32), np.ones(3), 0).tolist() == []


def test_jain_by_hand() -> None:
    assert metrics.jain(np.array([3.0, 3.0, 3.0])) == 1.0
    assert metrics.jain(np.array([1.0, 0.0, 0.0, 0.0])) == 0.25
    assert metrics.jain(np.array([1.0, 2.0])) == pytest.approx(0.9)
    assert metrics.jain(np.zeros(3)) is None


@given(st.lists(st.floats(1, 1e6), min_size=1, max_size=40))
def test_jain_lies_between_one_share_and_one(values: list[float]) -> None:
    index = metrics.jain(np.array(values))
    assert index is not None
    assert 1 / len(values) - 1e-9 <= index <= 1 + 1e-9


@pytest.mark.parametrize(
    ("largest", "names"),
    [
        (1, ["1"]),
        (2, ["1", "2"]),
        (3, ["1", "2", "3_4"]),
        (4, ["1", "2", "3_4"]),
        (5, ["1", "2", "3_4", "5_8"]),
        (100, ["1", "2", "3_4", "5_8", "9_16", "17_32", "33_64", "65_128"]),
    ],
)
def test_size_classes_are_named_by_their_bounds(largest: int, names: list[str]) -> None:
    assert metrics.size_names(metrics.size_edges(largest)) == names


@given(st.lists(st.integers(1, 158_976), min_size=1))
def test_every_job_is_in_the_class_that_its_name_says(nodes: list[int]) -> None:
    edges = metrics.size_edges(max(nodes))
    names = metrics.size_names(edges)
    for n, index in zip(nodes, metrics.size_classes(ints(*nodes), edges), strict=True):
        low, _, high = names[index].partition("_")
        assert int(low) <= n <= int(high or low)
