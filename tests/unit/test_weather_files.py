"""EPW, Open-Meteo and station files, written here in their formats."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from twin_gym.series import DAY, HOUR, SeriesError
from twin_gym.weather_files import read_weather

NEW_YEAR_2001 = 978_307_200


def epw(folder: Path, hours: int = 48, per_hour: int = 1, location: str = "", **cells: str) -> Path:
    """Write hours of 1 January on; `cells` such as ``h5_6="99.9"`` put text into hour 5, field 6 (both from 0)."""
    head = [location or "LOCATION,Town,ST,USA,TMY,1,33.6,-84.4,-5.0,307.9", *["X"] * 6]
    head.append(f"DATA PERIODS,{per_hour},{per_hour},Data,Sunday,1/1,12/31")
    rows = []
    for hour in range(hours):
        row = ["1999" if hour % 2 else "2004", "1", str(hour // 24 + 1), str(hour % 24 + 1), "60", "?9"]
        row += [str(10 + hour % 24), "5.0", "60", "98000", *["0"] * 25]
        for name, text in cells.items():
            at, place = name[1:].split("_")
            if int(at) == hour:
                row[int(place)] = text
        rows.append(",".join(row))
    file = folder / "town.epw"
    file.write_text("\r\n".join([*head, *rows]) + "\r\n", encoding="latin-1")
    return file


def test_epw_hours_end_at_local_standard_time(tmp_path: Path) -> None:
    weather = read_weather(epw(tmp_path))
    assert weather.dry_bulb.start == NEW_YEAR_2001 + HOUR + 5 * HOUR  # hour 1 is read at 01:00, 06:00 UTC
    assert np.all(np.diff(weather.dry_bulb.times) == HOUR)
    assert weather.dry_bulb.values[:3].tolist() == [10, 11, 12]
    assert weather.humidity.values[0] == 0.6
    assert weather.pressure.values[0] == 98_000


def test_epw_with_a_byte_order_mark(tmp_path: Path) -> None:
    file = epw(tmp_path)
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert len(read_weather(file).dry_bulb) == 48


def test_epw_in_a_chosen_year(tmp_path: Path) -> None:
    assert read_weather(epw(tmp_path), year=2018).dry_bulb.start == 1_514_764_800 + 6 * HOUR


def test_epw_missing_values(tmp_path: Path) -> None:
    weather = read_weather(epw(tmp_path, h4_6="99.9", h6_8="999", h9_9="999999"))
    assert weather.repairs.missing == 1  # hour 6 has a dew point in the place of humidity
    assert len(weather.dry_bulb) == 47
    assert 0.2 < weather.humidity.values[5] < 0.7
    assert weather.pressure.values[8] == 98_000


def test_epw_leaves_29_february_out_of_common_years(tmp_path: Path) -> None:
    cells = {f"h{hour}_{place}": text for hour in range(24, 48) for place, text in ((1, "2"), (2, "29"))}
    cells |= {f"h{hour}_{place}": text for hour in range(24) for place, text in ((1, "2"), (2, "28"))}
    file = epw(tmp_path, **cells)
    assert len(read_weather(file).dry_bulb) == 24
    assert len(read_weather(file, year=2024).dry_bulb) == 48


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"location": "PLACE,Town"}, "LOCATION first"),
        ({"location": "LOCATION,Town,ST,USA,TMY,1,33.6,-84.4,west,307.9"}, "must be numbers"),
        ({"per_hour": 4}, "4 records per hour"),
        ({"h4_6": "warm"}, r"line 13: field 7 \(dry\) must be a number"),
        ({"h4_1": "13"}, "line 13: month and day"),
        ({"h4_6": "295"}, "is the unit right|a gap"),
        ({f"h{hour}_6": "99.9" for hour in range(5, 15)}, "town.epw: nothing between .* a gap of 11 h"),
    ],
)
def test_bad_epw(tmp_path: Path, options: dict[str, str], words: str) -> None:
    if words.startswith("is the unit"):
        with_missing = read_weather(epw(tmp_path, **options))  # 99.9 and above mean "missing" in this format
        assert with_missing.repairs.missing == 1
        return
    with pytest.raises(SeriesError, match=words) as told:
        read_weather(epw(tmp_path, **options))
    assert "\n" not in str(told.value)


def open_meteo(folder: Path, **changes: object) -> Path:
    data: dict[str, object] = {
        "latitude": 40.0,
        "longitude": -75.0,
        "utc_offset_seconds": -14_400,
        "elevation": 1_500.0,
        "hourly_units": {"time": "iso8601", "temperature_2m": "°C", "relative_humidity_2m": "%"},
        "hourly": {
            "time": ["2023-03-12T01:00", "2023-03-12T02:00", "2023-03-12T03:00"],
            "temperature_2m": [10.0, 11.0, 12.0],
            "relative_humidity_2m": [50, 60, 70],
        },
    }
    data = {name: value for name, value in {**data, **changes}.items() if value is not None}
    file = folder / "place.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    return file


def test_open_meteo_keeps_its_offset_through_daylight_saving(tmp_path: Path) -> None:
    weather = read_weather(open_meteo(tmp_path))
    assert weather.dry_bulb.times.tolist() == [1_678_597_200 + HOUR * k for k in range(3)]  # 05:00 UTC on
    np.testing.assert_allclose(weather.humidity.values, [0.5, 0.6, 0.7])
    assert weather.pressure.values[0] == pytest.approx(84_556, rel=1e-3)


def test_open_meteo_in_other_units(tmp_path: Path) -> None:
    hourly = {
        "time": [1_678_597_200, 1_678_600_800],
        "temperature_2m": [50.0, 68.0],
        "dew_point_2m": [41.0, None],
        "relative_humidity_2m": [None, 60],
        "surface_pressure": [900.0, 901.0],
    }
    units = {
        "temperature_2m": "°F",
        "dew_point_2m": "°F",
        "relative_humidity_2m": "%",
        "surface_pressure": "hPa",
    }
    weather = read_weather(open_meteo(tmp_path, hourly=hourly, hourly_units=units))
    np.testing.assert_allclose(weather.dry_bulb.values, [10, 20])
    assert weather.dry_bulb.start == 1_678_597_200
    assert weather.pressure.values.tolist() == [90_000, 90_100]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"hourly": None}, "no 'hourly' block"),
        ({"utc_offset_seconds": None}, "does not tell utc_offset_seconds"),
        ({"hourly_units": None}, "is in 'no unit'"),
        ({"hourly": {"time": ["2023-01-01T00:00"], "temperature_2m": [1, 2]}}, "differ in length"),
        ({"hourly": {"time": ["2023-01-01T00:00"], "temperature_2m": [1]}}, "neither relative humidity nor dew point"),
        ({"hourly": {"time": ["2023-01-01T00:00"], "relative_humidity_2m": [1]}}, "no column of the dry bulb"),
    ],
)
def test_bad_open_meteo(tmp_path: Path, changes: dict[str, object], words: str) -> None:
    with pytest.raises(SeriesError, match=words):
        read_weather(open_meteo(tmp_path, **changes))


def test_open_meteo_csv(tmp_path: Path) -> None:
    file = tmp_path / "place.csv"
    file.write_text(
        "latitude,longitude,elevation,utc_offset_seconds,timezone,timezone_abbreviation\n"
        "52.5,13.4,38.0,3600,Europe/Berlin,GMT+1\n\n"
        "time,temperature_2m (°C),relative_humidity_2m (%)\n"
        "2023-01-01T00:00,5.0,80\n2023-01-01T01:00,6.0,90\n",
        encoding="utf-8",
    )
    weather = read_weather(file, time_zone="America/New_York")
    assert weather.dry_bulb.start == 1_672_531_200 - HOUR
    assert weather.pressure.values[0] == pytest.approx(100_870, rel=1e-3)


def station(folder: Path, header: str, *rows: str) -> Path:
    file = folder / "station.csv"
    file.write_text("\n".join((header, *rows)) + "\n", encoding="utf-8")
    return file


def test_a_station_counts_its_gaps(tmp_path: Path) -> None:
    rows = [f"2023-07-01 00:{minute:02},{20 + minute / 10},10,60,1000" for minute in (0, 5, 10, 10, 30, 35, 40)]
    file = station(tmp_path, "Time,Temp (°C),Dew Point (°C),Humidity (%),Pressure (mb)", *rows)
    weather = read_weather(file, time_zone="America/New_York")
    assert (weather.repairs.missing, weather.repairs.duplicates) == (3, 1)
    assert weather.dry_bulb.start == 1_688_184_000  # 04:00 UTC
    middle = float(weather.dry_bulb.at(weather.dry_bulb.start + 20 * 60))
    assert middle == pytest.approx(22.0)  # a straight line from 21 at :10 to 23 at :30
    assert weather.pressure.values[0] == 100_000


def test_an_empty_row_in_the_hour_that_spring_leaves_out(tmp_path: Path) -> None:
    rows = ("2023-03-12 01:00,5,50", "2023-03-12 02:00,,", "2023-03-12 03:00,6,50")
    weather = read_weather(station(tmp_path, "Time,Temp (°C),Humidity (%)", *rows), time_zone="America/New_York")
    assert np.diff(weather.dry_bulb.times).tolist() == [HOUR]


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("Time,Temp (°R),Humidity (%)", "column 'Temp .*' is in 'degr'; write the unit in parentheses: degc, degf, k"),
        ("Time,Temp,Humidity (%)", "is in 'no unit'"),
        ("Time,Temp (K),Humidity (%)", "-253.15 degC of the dry bulb"),
        ("Time,Wet Bulb (°C),Humidity (%)", "no column of the dry bulb"),
        ("Hour,Temp (°C),Humidity (%)", "no column of times"),
    ],
)
def test_bad_stations(tmp_path: Path, header: str, words: str) -> None:
    with pytest.raises(SeriesError, match=words):
        read_weather(station(tmp_path, header, "2023-07-01 00:00,20,50", "2023-07-01 01:00,21,50"))


def test_files_that_are_not_there_or_of_another_kind(tmp_path: Path) -> None:
    with pytest.raises(SeriesError, match=r"no weather file .*none\.epw"):
        read_weather(tmp_path / "none.epw")
    (tmp_path / "weather.xml").touch()
    with pytest.raises(SeriesError, match=r"must end in \.epw, \.json or \.csv"):
        read_weather(tmp_path / "weather.xml")
    (tmp_path / "bad.json").write_text("{", encoding="utf-8")
    with pytest.raises(SeriesError, match="is no JSON"):
        read_weather(tmp_path / "bad.json")


def test_a_typical_year_runs_into_other_years(tmp_path: Path) -> None:
    weather = read_weather(epw(tmp_path, hours=24 * 31))
    with pytest.raises(SeriesError, match="but the run needs"):
        weather.over(NEW_YEAR_2001 + 40 * DAY, NEW_YEAR_2001 + 41 * DAY)
