"""Time stamps across daylight saving, doubles and gaps."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest

from twin_gym.series import HOUR, SeriesError
from twin_gym.stamps import regular, unix_seconds, zone_of


def read(stamps: list[str], zone: str = "America/New_York") -> np.ndarray:
    return unix_seconds(pd.Series(stamps), zone_of(zone), "file, column 'time'")


def unix(*moment: int) -> int:
    return int(datetime(*moment, tzinfo=UTC).timestamp())


def walls(zone: str, start: int, hours: int) -> list[str]:
    clock = pd.date_range(pd.Timestamp(start, unit="s", tz="UTC"), periods=hours, freq="h").tz_convert(zone)
    return [stamp.strftime("%Y-%m-%d %H:%M") for stamp in clock]


@pytest.mark.parametrize("zone", ["America/New_York", "Europe/Rome", "Asia/Tokyo", "Australia/Lord_Howe", "UTC"])
def test_a_year_of_the_wall_clock_comes_back_hour_by_hour(zone: str) -> None:
    start = unix(2023, 1, 1)
    if zone == "Australia/Lord_Howe":  # half an hour of daylight saving: hours of the wall shift by half an hour
        start += 1_800
    stamps = walls(zone, start, 8_760)
    np.testing.assert_array_equal(read(stamps, zone), start + HOUR * np.arange(8_760))


def test_the_double_hour_of_autumn() -> None:
    hours = read(["2023-11-05 00:00", "2023-11-05 01:00", "2023-11-05 01:00", "2023-11-05 02:00"])
    assert np.diff(hours).tolist() == [HOUR] * 3
    five_minutes = read(["2023-11-05 01:50", "2023-11-05 01:57", "2023-11-05 01:02", "2023-11-05 01:07"])
    assert np.diff(five_minutes).tolist() == [420, 300, 300]
    once = read(["2023-11-05 00:00", "2023-11-05 01:00", "2023-11-05 02:00"])
    assert np.diff(once).tolist() == [HOUR, 2 * HOUR]  # the second of the two is missing


def test_autumns_of_several_years_do_not_meet() -> None:
    autumns = [f"{day} 0{hour}:00" for day in ("2022-11-06", "2023-11-05") for hour in (0, 1, 1, 2)]
    expected = [unix(2022, 11, 6, hour) for hour in (4, 5, 6, 7)] + [unix(2023, 11, 5, hour) for hour in (4, 5, 6, 7)]
    assert read(autumns).tolist() == expected


def test_the_hour_that_spring_leaves_out() -> None:
    assert np.diff(read(["2023-03-12 01:00", "2023-03-12 03:00"])).tolist() == [HOUR]
    with pytest.raises(SeriesError, match=r"row 2: 2023-03-12 02:00 does not exist in America/New_York.*'-05:00'"):
        read(["2023-03-12 01:00", "2023-03-12 02:00"])
    assert np.diff(read(["2023-03-12 01:00", "2023-03-12 02:00"], "-05:00")).tolist() == [HOUR]


def test_text_with_an_offset_needs_no_zone() -> None:
    assert read(["2023-01-01 01:00:00+01:00"])[0] == unix(2023, 1, 1)
    assert read(["2023-01-01T00:00:00Z"])[0] == unix(2023, 1, 1)
    assert unix_seconds(pd.Series([1_672_531_200]), zone_of("UTC"), "x")[0] == unix(2023, 1, 1)


@pytest.mark.parametrize(
    ("stamps", "words"),
    [
        (["2023-01-01 00:00", "soon"], "row 2: 'soon' is no date"),
        (["2023-01-01 00:00+00:00", "2023-01-01 01:00"], "row 2: .* no UTC offset"),
    ],
)
def test_bad_stamps(stamps: list[str], words: str) -> None:
    with pytest.raises(SeriesError, match=words):
        read(stamps)
    with pytest.raises(SeriesError, match="the time is missing"):
        unix_seconds(pd.Series([1.0, np.nan]), zone_of("UTC"), "x")


def test_zones() -> None:
    assert zone_of("+05:30").utcoffset(None) == pd.Timedelta(hours=5.5).to_pytimedelta()
    with pytest.raises(SeriesError, match="time_zone='Europe/Roma' is not in the IANA"):
        zone_of("Europe/Roma")


def test_gaps_are_counted_and_doubles_left_out() -> None:
    seconds = np.array([0, 300, 600, 600, 1_500, 1_800, 2_100, 1_200])
    found = regular(seconds, np.ones(8, dtype=bool), "file")
    assert found.times.tolist() == [0, 300, 600, 1_200, 1_500, 1_800, 2_100]
    assert found.rows.tolist() == [0, 1, 2, 7, 4, 5, 6]
    assert (found.repairs.missing, found.repairs.duplicates, found.repairs.longest_gap_s) == (1, 1, 600)
    assert found.step == 300
    assert found.end == 2_400


def test_rows_without_a_value_are_gaps() -> None:
    found = regular(HOUR * np.arange(6), np.array([True, True, False, False, True, True]), "file")
    assert found.repairs.missing == 2
    with pytest.raises(SeriesError, match="needs at least two"):
        regular(np.array([0, 1]), np.array([True, False]), "file")


def test_too_long_a_gap_is_an_error() -> None:
    seconds = np.array([0, 1, 2, 10]) * HOUR + unix(2023, 1, 1)
    with pytest.raises(SeriesError, match=r"2023-01-01 02:00 UTC and 2023-01-01 10:00 UTC, a gap of 8 h .* 6 h"):
        regular(seconds, np.ones(4, dtype=bool), "file")
    assert regular(seconds, np.ones(4, dtype=bool), "file", 8 * HOUR).repairs.missing == 7


@pytest.mark.parametrize("step", [1_800, 900, 300, 60])
def test_shorter_steps_and_doubles_in_the_double_hour(step: int) -> None:
    times = unix(2023, 11, 5, 3) + step * np.arange(8 * HOUR // step)
    clock = pd.to_datetime(times, unit="s", utc=True).tz_convert("America/New_York")
    stamps = [stamp.strftime("%Y-%m-%d %H:%M") for stamp in clock]
    np.testing.assert_array_equal(read(stamps), times)
    first = int(2.5 * HOUR) // step  # a row of the first of the two hours
    doubled = [*stamps[:first], stamps[first], *stamps[first:]]
    np.testing.assert_array_equal(np.unique(read(doubled)), times)
