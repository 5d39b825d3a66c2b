"""Price and carbon files, and the daily cycle."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from twin_gym.markets import Column, Cycle, daily_cycle, read_carbon, read_price
from twin_gym.series import DAY, HOUR, SeriesError

SPRING = 1_679_788_800 - 2 * DAY  # 2023-03-24 UTC; Europe's clocks go on at 2023-03-26 01:00 UTC
AUTUMN = 1_698_541_200 - 30 * HOUR  # Europe's clocks go back at 2023-10-29 01:00 UTC


def write(folder: Path, header: str, *rows: str) -> Path:
    file = folder / "record.csv"
    file.write_text("\n".join((header, *rows)) + "\n", encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("unit", "factor", "currency"),
    [
        ("USD/MWh", 1e-3, "USD"),
        ("EUR/kWh", 1.0, "EUR"),
        ("€/MWh", 1e-3, "EUR"),
        ("ct/kWh", 0.01, "CHF"),
        ("JPY/GWh", 1e-6, "JPY"),
    ],
)
def test_units_of_prices(tmp_path: Path, unit: str, factor: float, currency: str) -> None:
    file = write(tmp_path, f"Datetime (UTC),Price ({unit})", "2023-01-01 00:00,-50", "2023-01-01 01:00,20")
    series, money = read_price(file, currency="CHF")
    np.testing.assert_allclose(series.values, [-50 * factor, 20 * factor])
    assert (money, series.unit) == (currency, f"{currency}/kWh")
    assert series.times.tolist() == [1_672_531_200, 1_672_534_800]
    assert series.end == 1_672_538_400


@pytest.mark.parametrize(
    ("header", "factor"),
    [
        ("Carbon Intensity gCO₂eq/kWh (direct)", 1.0),
        ("Carbon intensity (kg CO2/MWh)", 1.0),
        ("carbon intensity [lb/MWh]", 0.45359237),
    ],
)
def test_units_of_carbon(tmp_path: Path, header: str, factor: float) -> None:
    file = write(tmp_path, f"time,{header}", "2023-01-01 00:00,400", "2023-01-01 01:00,500")
    np.testing.assert_allclose(read_carbon(file).values, [400 * factor, 500 * factor])


def test_both_scopes(tmp_path: Path) -> None:
    header = "Datetime (UTC),Carbon Intensity gCO2eq/kWh (direct),Carbon Intensity gCO2eq/kWh (LCA)"
    file = write(tmp_path, header, "2023-01-01 00:00,1,2", "2023-01-01 01:00,3,4")
    assert read_carbon(file, scope="lca").values.tolist() == [2, 4]
    with pytest.raises(SeriesError, match="scope='all'"):
        read_carbon(file, scope="all")


def test_local_times_of_the_day_with_25_hours(tmp_path: Path) -> None:
    stamps = [f"2023-10-29 {hour:02}:00" for hour in (0, 1, 2, 2, 3, 4)]
    file = write(tmp_path, "Date,Price (EUR/MWh)", *(f"{stamp},{i}" for i, stamp in enumerate(stamps)))
    series, _ = read_price(file, time_zone="Europe/Berlin")
    assert np.all(np.diff(series.times) == HOUR)
    assert series.repairs.duplicates == 0


def test_an_empty_hour_in_spring_is_no_gap(tmp_path: Path) -> None:
    rows = [f"2023-03-26 {hour:02}:00,{'' if hour == 2 else hour}" for hour in range(5)]
    series, _ = read_price(write(tmp_path, "Date,Price (EUR/MWh)", *rows), time_zone="Europe/Berlin")
    assert np.all(np.diff(series.times) == HOUR)
    assert series.repairs.missing == 0


def test_a_missing_hour_keeps_the_price_before(tmp_path: Path) -> None:
    file = write(
        tmp_path, "Time (UTC),Price (EUR/kWh)", "2023-01-01 00:00,1", "2023-01-01 01:00,", "2023-01-01 02:00,3",
        "2023-01-01 03:00,4", "2023-01-01 04:00,5",
    )  # fmt: skip
    series, _ = read_price(file)
    assert series.repairs.missing == 1
    assert float(series.at(series.start + 7_199)) == 1.0


@pytest.mark.parametrize(
    ("header", "row", "words"),
    [
        ("time,Price (EUR)", "5", "no price of energy"),
        ("time;Price (EUR/MWh)", "5", "not separated by commas"),
        ("time,Price", "5", "in 'no unit'"),
        ("time,Preis (EUR/MWh)", "5", "no column of price, only time, Preis"),
        ("time,Price (EUR/MWh),Price (USD/MWh)", "5,5", "several columns of price"),
        ("hour,Price (EUR/MWh)", "5", "no column of times"),
        ("time,Price (EUR/MWh)", "much", "row 1: 'much' is no number"),
        ("time,Price (EUR/kWh)", "5000", "is the unit right"),
    ],
)
def test_bad_price_files(tmp_path: Path, header: str, row: str, words: str) -> None:
    file = write(tmp_path, header, f"2023-01-01 00:00,{row}", f"2023-01-01 01:00,{row}")
    with pytest.raises(SeriesError, match=words) as told:
        read_price(file)
    assert "\n" not in str(told.value)


def test_columns_can_be_named(tmp_path: Path) -> None:
    file = write(tmp_path, "hour,Preis", "2023-01-01 00:00,5", "2023-01-01 01:00,6")
    series, money = read_price(file, column=Column("Preis", "EUR/MWh", "hour"))
    assert series.values.tolist() == [0.005, 0.006]
    assert money == "EUR"
    with pytest.raises(SeriesError, match=r"no column 'Pries'.*'Preis'"):
        read_price(file, column=Column("Pries"))
    named = Column("Preis", "EUR/MWh", "hour", "Europe/Rome")
    assert read_price(file, time_zone="Asia/Tokyo", column=named)[0].start == 1_672_531_200 - HOUR
    with pytest.raises(SeriesError, match="no column 'ours'"):
        read_price(file, column=Column("Preis", "EUR/MWh", "ours"))


def test_missing_and_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(SeriesError, match=r"there is no file .*nowhere\.csv"):
        read_price(tmp_path / "nowhere.csv")
    (tmp_path / "empty.csv").touch()
    with pytest.raises(SeriesError, match="can't be read as CSV"):
        read_carbon(tmp_path / "empty.csv")


def test_carbon_in_a_wrong_unit(tmp_path: Path) -> None:
    file = write(tmp_path, "time,Carbon intensity (kg/kWh)", "2023-01-01 00:00,400", "2023-01-01 01:00,500")
    with pytest.raises(SeriesError, match="400000 g/kWh is not between 0 and 3000"):
        read_carbon(file)


@pytest.mark.parametrize("start", [SPRING, AUTUMN])
def test_the_daily_cycle_follows_the_clock_on_the_wall(start: int) -> None:
    import zoneinfo
    from datetime import datetime

    zone = zoneinfo.ZoneInfo("Europe/Berlin")
    series = daily_cycle(Cycle(0.1, 0.5, 18.0), start, start + 5 * DAY, time_zone="Europe/Berlin")
    for t in range(start, start + 5 * DAY, 1_800):
        hour = datetime.fromtimestamp(t, zone).hour
        assert float(series.at(t)) == pytest.approx(0.1 * (1 + 0.5 * np.cos(2 * np.pi * (hour - 18) / 24)))


def test_the_mean_of_a_day_is_the_mean() -> None:
    series = daily_cycle(Cycle(0.1, 2.0, 17.0), 0, 10 * DAY)
    assert series.mean(3 * DAY, 4 * DAY) == pytest.approx(0.1, rel=1e-12)
    assert series.values.min() < 0
