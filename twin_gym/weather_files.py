"""Weather files: EnergyPlus EPW, Open-Meteo JSON, and CSV of Open-Meteo or of a weather station."""

from __future__ import annotations

import calendar
import csv
import json
import re
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from twin_gym.recorded import numbers, read_table, time_column
from twin_gym.series import HOUR, SeriesError
from twin_gym.stamps import MAX_GAP, unix_seconds, zone_of
from twin_gym.weather import Readings, Weather

__all__ = ["read_weather"]

Floats = npt.NDArray[np.float64]

TYPICAL_YEAR = 2001  # where a typical year is put; not a leap year, and the year after one

# Words in a header or Open-Meteo's names, and what may not stand beside them.
_DRY = re.compile(r"^(?:temperature_2m\b|temp(?:erature)?\b|dry[ _-]?bulb)(?!.*(?:dew|wet))", re.IGNORECASE)
_DEW = re.compile(r"^dew[ _-]?point", re.IGNORECASE)
_HUMIDITY = re.compile(r"^(?:relative[ _]humidity|relativehumidity|humidity|rh\b)", re.IGNORECASE)
_PRESSURE = re.compile(r"^(?:surface_pressure|station pressure|pressure)\b", re.IGNORECASE)

_UNITS: dict[str, tuple[float, float]] = {  # unit -> SI = number * factor + offset
    "degc": (1.0, 0.0),
    "degf": (5.0 / 9.0, -160.0 / 9.0),
    "k": (1.0, -273.15),
    "%": (0.01, 0.0),
    "1": (1.0, 0.0),
    "pa": (1.0, 0.0),
    "hpa": (100.0, 0.0),
    "mb": (100.0, 0.0),
    "mbar": (100.0, 0.0),
    "kpa": (1_000.0, 0.0),
    "inhg": (3_386.389, 0.0),
}
_FAMILIES = {"temperature": ("degc", "degf", "k"), "humidity": ("%", "1")}
_FAMILIES["pressure"] = ("pa", "hpa", "mb", "mbar", "kpa", "inhg")

_EPW_HEADER = 8
_EPW_COLUMNS = {"month": 1, "day": 2, "hour": 3, "dry": 6, "dew": 7, "humidity": 8, "pressure": 9}
_EPW_MISSING = {"dry": 99.9, "dew": 99.9, "humidity": 999.0, "pressure": 999_999.0}


def read_weather(
    path: str | PathLike[str],
    *,
    time_zone: str = "UTC",
    elevation: float = 0.0,
    max_gap: int = MAX_GAP,
    year: int = TYPICAL_YEAR,
) -> Weather:
    """Read a weather file; its name's ending says which kind.

    Parameters
    ----------
    path : path
        ``.epw``, ``.json`` (Open-Meteo) or ``.csv``.
    time_zone : str
        Of a CSV file whose times have no offset. EPW and Open-Meteo files tell their offset themselves, and keep it all
        year: their clocks know no daylight saving.
    elevation : float
        Above the sea, m, for the pressure, if neither pressure nor height are in the file.
    max_gap : int
        Longest gap that is bridged, s.
    year : int
        Where an EPW file is put. Its own years are not used: the months of typical years are from different ones.

    Returns
    -------
    Weather
        In Unix time.

    Raises
    ------
    SeriesError
        If the file can't be read, a column or unit is unknown, a value is impossible, or a gap is too long.
    """
    file = Path(path)
    kind = file.suffix.lower()
    if not file.is_file():
        raise SeriesError(f"there is no weather file {file}; check the path.")
    if kind == ".epw":
        readings = _epw(file, year)
    elif kind == ".json":
        readings = _open_meteo(file, elevation)
    elif kind == ".csv":
        readings = _csv(file, time_zone, elevation)
    else:
        raise SeriesError(f"{file.name} is no weather file that is known; its name must end in .epw, .json or .csv.")
    return Weather.measured(readings, file.name, max_gap)


def _epw(file: Path, year: int) -> Readings:
    """Read hourly rows; hour h = 1..24 is the reading at h:00 local standard time (EnergyPlus, Auxiliary Programs)."""
    with file.open(encoding="latin-1", newline="") as stream:
        lines = list(csv.reader(stream))
    if lines and lines[0]:
        lines[0][0] = lines[0][0].removeprefix("ï»¿")  # a byte-order mark, read as Latin-1
    if len(lines) <= _EPW_HEADER or lines[0][:1] != ["LOCATION"] or len(lines[0]) < 10:
        raise SeriesError(f"{file.name} does not begin with the eight header lines of an EPW file, LOCATION first.")
    try:
        offset, elevation = float(lines[0][8]), float(lines[0][9])
        per_hour = int(lines[_EPW_HEADER - 1][2])
    except (ValueError, IndexError):
        raise SeriesError(
            f"{file.name}: time zone and elevation (fields 9 and 10 of LOCATION) and the records per hour "
            "(field 3 of DATA PERIODS) must be numbers."
        ) from None
    if per_hour != 1:
        raise SeriesError(f"{file.name} has {per_hour} records per hour; only hourly EPW files are read.")
    rows = [line for line in lines[_EPW_HEADER:] if line]
    columns: dict[str, Floats] = {}
    for name, place in _EPW_COLUMNS.items():
        try:
            columns[name] = np.array([float(row[place]) for row in rows])
        except (ValueError, IndexError):
            bad = next(i for i, row in enumerate(rows) if len(row) <= place or not _is_number(row[place]))
            raise SeriesError(
                f"{file.name}, line {bad + _EPW_HEADER + 1}: field {place + 1} ({name}) must be a number."
            ) from None
    for name, missing in _EPW_MISSING.items():
        columns[name][columns[name] >= missing] = np.nan
    kept = (
        ~((columns["month"] == 2) & (columns["day"] == 29))
        if not calendar.isleap(year)
        else np.ones(len(rows), dtype=bool)
    )
    days = pd.to_datetime(
        pd.DataFrame({"year": year, "month": columns["month"][kept], "day": columns["day"][kept]}), errors="coerce"
    )
    if days.isna().any():
        bad = int(np.flatnonzero(kept)[int(np.argmax(days.isna().to_numpy()))])
        raise SeriesError(f"{file.name}, line {bad + _EPW_HEADER + 1}: month and day (fields 2 and 3) are no date.")
    seconds = days.dt.as_unit("s").astype("int64").to_numpy() + (columns["hour"][kept] - offset) * HOUR
    return Readings(
        seconds.astype(np.int64),
        columns["dry"][kept],
        columns["humidity"][kept] / 100.0,
        columns["dew"][kept],
        columns["pressure"][kept],
        elevation,
    )


def _open_meteo(file: Path, elevation: float) -> Readings:
    """Read the hourly block; local times keep ``utc_offset_seconds``, that of the request's day, through the year."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, OSError) as problem:
        raise SeriesError(f"{file.name} is no JSON: {problem}.") from None
    hourly = data.get("hourly") if isinstance(data, dict) else None
    if not isinstance(hourly, dict) or "time" not in hourly:
        raise SeriesError(f"{file.name} has no 'hourly' block with a 'time' list; ask Open-Meteo for hourly values.")
    offset = data.get("utc_offset_seconds")
    if not isinstance(offset, int | float):
        raise SeriesError(f"{file.name} does not tell utc_offset_seconds, so its local times can't be placed.")
    sizes = {name: len(values) for name, values in hourly.items() if isinstance(values, list)}
    if len(set(sizes.values())) != 1:
        raise SeriesError(f"{file.name}: the lists of 'hourly' differ in length ({sizes}).")
    units = data.get("hourly_units") or {}
    headers = {name: f"{name} ({units.get(name, '')})" for name in hourly if name != "time"}
    table = pd.DataFrame({header: hourly[name] for name, header in headers.items()})
    times = pd.Series(hourly["time"])
    seconds = unix_seconds(times, zone_of("UTC"), f"{file.name}, hourly.time")
    if not pd.api.types.is_numeric_dtype(times):
        seconds = seconds - int(offset)
    height = data.get("elevation")
    return _readings(table, seconds, file.name, float(height) if isinstance(height, int | float) else elevation)


def _csv(file: Path, time_zone: str, elevation: float) -> Readings:
    """Read a station's file, or Open-Meteo's, which begins with two lines about the place and an empty one."""
    place = _preamble(file)
    table = read_table(file, skip=3 if place else 0)
    clock = time_column(table, file.name)
    zone = zone_of("UTC" if place or "utc" in clock.lower() else time_zone)
    # A row without any value says nothing about the clock: some files list the hour that spring leaves out.
    table = table.dropna(how="all", subset=[name for name in table.columns if name != clock])
    times = table[clock]
    seconds = unix_seconds(times, zone, f"{file.name}, column {clock!r}")
    if place:
        if not pd.api.types.is_numeric_dtype(times):
            seconds = seconds - int(float(place.get("utc_offset_seconds", 0)))
        elevation = float(place.get("elevation", elevation))
    return _readings(table.drop(columns=clock), seconds, file.name, elevation)


def _preamble(file: Path) -> dict[str, str]:
    with file.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
        head = [next(stream, "") for _ in range(2)]
    names, values = (next(csv.reader([line]), []) for line in head)
    return dict(zip(names, values, strict=False)) if names[:1] == ["latitude"] else {}


def _readings(table: pd.DataFrame, seconds: npt.NDArray[np.int64], file: str, elevation: float) -> Readings:
    dry = _column(table, _DRY, "temperature", file)
    dew = _column(table, _DEW, "temperature", file)
    humidity = _column(table, _HUMIDITY, "humidity", file)
    pressure = _column(table, _PRESSURE, "pressure", file)
    names = ", ".join(str(name) for name in table.columns)
    if dry is None:
        raise SeriesError(f"{file} has no column of the dry bulb, such as 'temperature_2m (°C)', only {names}.")
    if humidity is None and dew is None:
        raise SeriesError(
            f"{file} has neither relative humidity nor dew point, so there is no wet bulb; its columns are {names}."
        )
    nothing = np.full(len(table), np.nan)
    return Readings(
        seconds,
        dry,
        nothing if humidity is None else humidity,
        nothing if dew is None else dew,
        nothing if pressure is None else pressure,
        elevation,
    )


def _column(table: pd.DataFrame, header: re.Pattern[str], family: str, file: str) -> Floats | None:
    """Return the column of a quantity in SI units and degC, or None."""
    found = [str(name) for name in table.columns if header.match(str(name))]
    if not found:
        return None
    name = found[0]
    written = re.search(r"[(\[]([^)\]]*)[)\]]\s*$", name)
    unit = (written[1] if written else "").strip().replace("°", "deg").lower()
    unit = {"c": "degc", "f": "degf", "celsius": "degc", "fahrenheit": "degf"}.get(unit, unit)
    if unit not in _FAMILIES[family]:
        raise SeriesError(
            f"{file}: column {name!r} is in {unit or 'no unit'!r}; write the unit in parentheses: "
            f"{', '.join(_FAMILIES[family])}."
        )
    factor, offset = _UNITS[unit]
    return numbers(table[name], f"{file}, column {name!r}") * factor + offset


def _is_number(text: Any) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
