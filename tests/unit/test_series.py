"""`Series`: look-up, exact integration across any steps, and records that are shorter than the run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twin_gym.series import DAY, HOUR, WEEK, Series, SeriesError


def hours(count: int, linear: bool = False, start: int = 0) -> Series:
    times = start + HOUR * np.arange(count)
    return Series(times, np.random.default_rng(1).normal(50, 40, count), int(times[-1]) + HOUR, linear, origin="hours")


def by_the_second(series: Series, start: int, end: int) -> float:
    """The definition: hold integrates as the sum of seconds, a straight line as their midpoints."""
    if end == start:
        return 0.0
    at = np.arange(start, end) + (0.5 if series.linear else 0)
    return float(np.sum(series.at(at)))


def test_a_held_value_lasts_until_the_next_sample() -> None:
    series = Series(np.array([0, 10, 30]), np.array([1.0, -2.0, 5.0]), 40)
    assert series.at([0, 9, 10, 29, 30, 40]).tolist() == [1, 1, -2, -2, 5, 5]


def test_a_linear_value_lies_on_the_line_and_holds_at_the_end() -> None:
    series = Series(np.array([0, 10, 30]), np.array([1.0, 2.0, 4.0]), 40, linear=True)
    np.testing.assert_allclose(series.at([0, 5, 10, 20, 30, 35, 40]), [1, 1.5, 2, 3, 4, 4, 4])


@given(st.booleans(), st.lists(st.integers(0, 40_000), min_size=2, max_size=2))
def test_the_integral_equals_the_sum_of_seconds(linear: bool, ends: list[int]) -> None:
    series = Series(np.array([0, 7, 1_000, 1_001, 20_000]), np.array([3.0, -1.0, 8.0, 0.0, 2.5]), 40_000, linear)
    start, end = sorted(ends)
    assert float(series.integral(start, end)) == pytest.approx(by_the_second(series, start, end), rel=1e-9, abs=1e-7)


@given(
    st.booleans(),
    st.lists(st.tuples(st.integers(1, 20_000), st.floats(0, 3e7)), min_size=1, max_size=20),
    st.integers(0, 5_000),
)
def test_a_step_series_costs_what_its_pieces_cost(linear: bool, steps: list[tuple[int, float]], first: int) -> None:
    price = hours(120, linear)
    edges = first + np.concatenate(([0], np.cumsum([width for width, _ in steps])))
    watts = np.array([height for _, height in steps])
    expected = sum(
        height * by_the_second(price, int(a), int(b)) for height, a, b in zip(watts, edges, edges[1:], strict=False)
    )
    assert price.integrate(edges[:-1], watts, int(edges[-1])) == pytest.approx(expected, rel=1e-9, abs=1e-3)
    assert price.integrate(edges, watts) == price.integrate(edges[:-1], watts, int(edges[-1]))


@given(st.integers(0, 100 * HOUR), st.integers(0, 100 * HOUR), st.integers(0, 100 * HOUR))
def test_integrals_of_neighbours_add_up(a: int, b: int, c: int) -> None:
    series = hours(101)
    a, b, c = sorted((a, b, c))
    parts = series.integral([a, b], [b, c]).sum()
    assert parts == pytest.approx(float(series.integral(a, c)), rel=1e-12, abs=1e-6)


def test_integrals_are_vectorised_over_jobs() -> None:
    series = hours(48)
    start = np.array([[0], [10]])
    assert series.integral(start, [100, 90_000]).shape == (2, 2)


def test_splitting_a_piece_changes_nothing() -> None:
    price = hours(48)
    whole = price.integrate([0], [2e6], 48 * HOUR)
    split = price.integrate(np.arange(0, 48 * HOUR, 7), np.full(-(-48 * HOUR // 7), 2e6), 48 * HOUR)
    assert split == pytest.approx(whole, rel=1e-12)


def test_a_constant_covers_all_time_without_losing_digits() -> None:
    price = Series.constant(0.1)
    assert price.at([-(10**12), 10**12]).tolist() == [0.1, 0.1]
    assert float(price.integral(10**12, 10**12 + 3)) == 0.1 * 3
    assert price.on_clock(1_700_000_000) is price


def test_the_last_of_as_many_values_as_times_has_no_width() -> None:
    assert Series.constant(2.0).integrate([0, 10, 20], [1.0, 3.0, 1e9]) == 2 * (10 + 30)
    assert Series.constant(2.0).integrate([], [], 0) == 0
    assert Series.constant(2.0).integrate([5], [1.0]) == 0


def test_the_mean_is_by_time() -> None:
    series = Series(np.array([0, 30]), np.array([1.0, 5.0]), 40)
    assert series.mean(0, 40) == pytest.approx(2.0)
    assert series.mean(35, 35) == 5.0


def year(days: int = 365, linear: bool = False) -> Series:
    times = HOUR * np.arange(24 * days)
    return Series(times, times / HOUR, days * DAY, linear, origin="year.csv")


@pytest.mark.parametrize("stride", [DAY, WEEK])
@pytest.mark.parametrize("days", [364, 365, 366, 731])
def test_a_year_repeats_by_whole_strides(stride: int, days: int) -> None:
    series = year(days)
    start, end = -9 * 365 * DAY, 12 * 365 * DAY
    longer = series.over(start, end, "repeat", stride)
    assert longer.start <= start
    assert longer.end >= end
    assert longer.repairs.repeated
    assert np.all(np.diff(longer.times) == HOUR)
    source = longer.values * HOUR  # where each hour was taken from
    assert np.all((longer.times - source) % stride == 0)
    inside = (longer.times >= 0) & (longer.times < series.end)
    if days == 365:
        assert np.mean(source[inside] == longer.times[inside]) > 0.97
    drift = np.abs((longer.times - source) / (365.2425 * DAY) - np.round((longer.times - source) / (365.2425 * DAY)))
    assert drift.max() * 365.2425 <= stride / DAY * 1.5 + 2


def test_a_record_that_reaches_is_left_alone() -> None:
    series = year()
    assert series.over(0, 365 * DAY) is series


def test_a_short_record_says_what_it_covers() -> None:
    series = hours(100, start=1_700_000_000)
    with pytest.raises(SeriesError, match=r"hours covers 2023-11-14 22:13 UTC to .* outside='hold'"):
        series.over(1_700_000_000, 1_700_000_000 + 101 * HOUR)
    with pytest.raises(SeriesError, match="outside='repeat'"):
        year().over(0, 366 * DAY, "error")
    held = series.over(1_699_999_000, 1_700_000_000 + 101 * HOUR, "hold")
    assert held.at(1_699_999_000) == series.values[0]
    assert held.at(held.end) == series.values[-1]


def test_asking_beyond_the_end_is_an_error() -> None:
    series = hours(2)
    for ask in (lambda: series.at(-1), lambda: series.at([0, 7_201]), lambda: series.integral(0, 7_201)):
        with pytest.raises(SeriesError, match="covers 0 to 7200 s"):
            ask()
    with pytest.raises(SeriesError, match="covers"):
        series.at(np.nan)
    with pytest.raises(SeriesError, match="ends before it begins"):
        series.integral(5, 4)
    with pytest.raises(SeriesError, match="do not fit"):
        series.integrate([0, 1, 2], [1.0], 3)
    with pytest.raises(SeriesError, match="piece 1 to integrate is not a number"):
        series.integrate([0, 1], [1.0, np.nan], 3)


@pytest.mark.parametrize(
    ("times", "values", "end", "words"),
    [
        ([0, 0], [1, 2], 5, "sample 1 is not after"),
        ([0, 1], [1, np.nan], 5, "sample 1 is not a number"),
        ([0, 1], [1], 5, "one length"),
        ([], [], 5, "one length"),
        ([0, 9], [1, 2], 5, "lies before the last sample"),
    ],
)
def test_bad_columns(times: list[int], values: list[float], end: int, words: str) -> None:
    with pytest.raises(SeriesError, match=words):
        Series(np.array(times), np.array(values), end)


def test_arrays_are_read_only_and_fit_for_kernels() -> None:
    series = hours(3)
    assert series.times.dtype == np.int64
    assert series.values.dtype == np.float64
    assert not series.times.flags.writeable
    assert not series.values.flags.writeable
