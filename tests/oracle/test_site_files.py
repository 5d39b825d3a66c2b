"""Every real weather, price and carbon file beside the checkout: it loads, has the published shape, and integrates."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from twin_gym import psychrometrics
from twin_gym.markets import read_carbon, read_price
from twin_gym.series import DAY, HOUR
from twin_gym.site import Surroundings
from twin_gym.system import System
from twin_gym.weather_files import read_weather

NEW_YEAR = 1_672_531_200  # 2023, UTC
ZONES = ("DE-LU", "JP-TK", "US-CAL-CISO", "US-MIDA-PJM")

# Dry-bulb range of each file, as its source says it.
WEATHER = {
    "USA_GA_Atlanta-Hartsfield-Jackson.epw": (-11.7, 35.0),
    "USA_CA_Hayward_AMY2018.epw": (0.0, 28.9),
    "PVGIS_45N_8E_TMY_2005-2023.epw": (-2.3, 34.3),
    "JPN_Tokyo.Hyakuri.477150_IWEC.epw": (-10.0, 34.0),
    "PRT_Lisboa.085360_INETI.epw": (4.1, 36.0),
    "USA_AZ_Davis-Monthan.AFB.722745_TMY3.epw": (-1.1, 42.0),
    "openmeteo_US-CAL-CISO_2023.json": (0.2, 36.5),
    "openmeteo_US-MIDA-PJM_2023.json": (-10.4, 36.5),
    "openmeteo_DE-LU_2023.json": (-6.2, 35.0),
    "openmeteo_JP-TK_2023.json": (-5.8, 37.2),
    "KMAHIGHL4_MGHPCC_5min_2025-06-07.csv": (12.0, 41.0),
}


def files(shared_dir: Path, kind: str) -> list[Path]:
    return sorted(path for path in (shared_dir / "data" / kind).iterdir() if path.is_file())


def test_no_file_is_left_out(shared_dir: Path) -> None:
    assert {path.name for path in files(shared_dir, "weather")} == set(WEATHER)
    assert len(files(shared_dir, "price")) == 5
    assert len(files(shared_dir, "carbon")) == 4


@pytest.mark.parametrize("name", sorted(WEATHER))
def test_weather(shared_dir: Path, name: str) -> None:
    weather = read_weather(shared_dir / "data" / "weather" / name, time_zone="America/New_York", elevation=30.0)
    dry, wet = weather.dry_bulb.values, weather.wet_bulb.values
    assert (dry.min(), dry.max()) == pytest.approx(WEATHER[name], abs=0.051)
    assert np.all(wet <= dry + 1e-9)
    assert psychrometrics.saturation_pressure(wet).min() > 0
    if name.endswith(".csv"):
        assert len(weather.dry_bulb) == 10_039
        assert weather.repairs.duplicates == 8
        assert weather.repairs.missing == 167
        assert weather.repairs.longest_gap_s == 5_100
    else:
        assert np.all(np.diff(weather.dry_bulb.times) == HOUR)
        assert len(weather.dry_bulb) == 8_760
        assert weather.repairs.missing == 0


@pytest.mark.parametrize("name", sorted(name for name in WEATHER if not name.endswith(".csv")))
def test_the_sun_says_that_the_clock_is_right(shared_dir: Path, name: str) -> None:
    """The mean warmest hour of the day lies in the afternoon by solar time at the file's longitude."""
    path = shared_dir / "data" / "weather" / name
    if path.suffix == ".json":
        longitude = pd.read_json(path, typ="series")["longitude"]
    else:
        longitude = float(path.read_text(encoding="latin-1").splitlines()[0].split(",")[7])
    dry = read_weather(path).dry_bulb
    hour = ((dry.times / HOUR + longitude / 15.0) % 24).astype(int)
    means = [dry.values[hour == h].mean() for h in range(24)]
    assert 12 <= int(np.argmax(means)) <= 15
    assert 4 <= int(np.argmin(means)) <= 7


def test_dew_points_agree_with_the_humidity_of_the_same_row(shared_dir: Path) -> None:
    table = pd.read_csv(
        shared_dir / "data" / "weather" / "USA_GA_Atlanta-Hartsfield-Jackson.epw", skiprows=8, header=None
    )
    humidity = psychrometrics.saturation_pressure(table[7]) / psychrometrics.saturation_pressure(table[6])
    warm = table[7] > 0  # below, stations report the dew point over water, the formula has it over ice
    error = np.abs(humidity[warm] - table[8][warm] / 100)
    assert error.median() < 0.004  # humidity is rounded to 1 %
    assert np.mean(error < 0.02) > 0.97  # in the rest the file's own two columns disagree


@pytest.mark.parametrize("zone", [*ZONES, "FR"])
def test_price(shared_dir: Path, zone: str) -> None:
    path = shared_dir / "data" / "price" / f"{zone}_electricity_prices_2023.csv"
    series, currency = read_price(path)
    assert currency == "USD"
    assert (series.start, series.end) == (NEW_YEAR, NEW_YEAR + 365 * DAY)
    table = pd.read_csv(path)
    np.testing.assert_allclose(series.values, table["Price (USD/MWh)"] / 1e3, rtol=1e-15)
    local = pd.to_datetime(table["Datetime (Local)"], utc=True).dt.as_unit("s").astype("int64")
    np.testing.assert_array_equal(series.times, local)
    if zone != "JP-TK":
        assert series.values.min() < 0
    # a constant megawatt for a year costs the mean price of the hours
    expected = math.fsum(table["Price (USD/MWh)"])
    assert series.integrate([series.start], [1e6], series.end) / 3.6e6 == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("zone", ["DE-LU", "FR"])
def test_local_stamps_without_their_offset_come_back(shared_dir: Path, tmp_path: Path, zone: str) -> None:
    """The wall clock of a year with daylight saving, taken from a real file, names the same instants."""
    table = pd.read_csv(shared_dir / "data" / "price" / f"{zone}_electricity_prices_2023.csv")
    table["Local"] = table["Datetime (Local)"].str.slice(0, 19)
    told = pd.to_datetime(table["Datetime (Local)"].str.slice(19).pipe(lambda s: "2000-01-01 00:00" + s), utc=True)
    assert told.nunique() == 2  # the file does know daylight saving
    file = tmp_path / "local.csv"
    table.rename(columns={"Local": "Local time"})[["Local time", "Price (USD/MWh)"]].to_csv(file, index=False)
    series, _ = read_price(file, time_zone="Europe/Berlin")
    np.testing.assert_array_equal(series.times, NEW_YEAR + HOUR * np.arange(8_760))


@pytest.mark.parametrize("zone", ZONES)
def test_carbon(shared_dir: Path, zone: str) -> None:
    path = shared_dir / "data" / "carbon" / f"{zone}_2023_hourly.csv"
    direct, whole = read_carbon(path), read_carbon(path, scope="lca")
    assert direct.unit == "g/kWh"
    assert (direct.start, direct.end) == (NEW_YEAR, NEW_YEAR + 365 * DAY)
    assert np.all(whole.values > direct.values)


@pytest.mark.parametrize("zone", ZONES)
def test_a_zone_around_a_machine(shared_dir: Path, zone: str) -> None:
    data = shared_dir / "data"
    epoch = NEW_YEAR + 40 * DAY
    around = Surroundings.of(
        System.load("frontier"),
        epoch,
        (0, 30 * DAY),
        weather=data / "weather" / f"openmeteo_{zone}_2023.json",
        price=data / "price" / f"{zone}_electricity_prices_2023.csv",
        carbon=data / "carbon" / f"{zone}_2023_hourly.csv",
    )
    rng = np.random.default_rng(0)
    edges = np.unique(rng.integers(0, 30 * DAY, 5_000))
    watts = rng.uniform(8e6, 30e6, edges.size)
    # the definition, second by second
    power = np.repeat(watts, np.diff(np.append(edges, 30 * DAY)))
    seconds = np.arange(edges[0], 30 * DAY)
    rows = pd.read_csv(data / "price" / f"{zone}_electricity_prices_2023.csv")["Price (USD/MWh)"].to_numpy()
    expected = float(np.sum(power * rows[(epoch - NEW_YEAR + seconds) // HOUR])) / 3.6e9
    assert around.cost(edges, watts, 30 * DAY) == pytest.approx(expected, rel=1e-10)
    assert not around.summary()["price_repeated"]
    # years before and after borrow the year of the files
    old = Surroundings.of(
        System.load("frontier"), 741_000_000, (0, 400 * DAY), weather=data / "weather" / next(iter(WEATHER))
    )
    assert old.weather.repairs.repeated
