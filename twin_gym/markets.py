"""Electricity price and carbon intensity over time: read from CSV files, or a daily cycle."""

from __future__ import annotations

import re
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
import pandas as pd

from twin_gym.errors import suggest
from twin_gym.recorded import numbers, read_table, time_column
from twin_gym.series import HOUR, Series, SeriesError
from twin_gym.stamps import MAX_GAP, regular, unix_seconds, zone_of

__all__ = ["CARBON_UNIT", "Column", "Cycle", "daily_cycle", "read_carbon", "read_price"]

CARBON_UNIT = "g/kWh"
_PRICE_UNIT = re.compile(r"^(?P<money>[A-Z]{3}|[$€£]|ct|cents?)\s*/\s*(?P<energy>[kMG]Wh)$", re.IGNORECASE)
_MONEY = {"$": ("USD", 1.0), "€": ("EUR", 1.0), "£": ("GBP", 1.0)}
_MONEY |= dict.fromkeys(("ct", "cent", "cents"), ("", 0.01))
_CARBON_UNIT = re.compile(r"^(?P<mass>g|kg|t|lbs?)\s*(?:co2(?:eq|e)?)?\s*/\s*(?P<energy>[kMG]Wh)$", re.IGNORECASE)
_ENERGY = {"kwh": 1.0, "mwh": 1e-3, "gwh": 1e-6}
_MASS = {"g": 1.0, "kg": 1e3, "t": 1e6, "lb": 453.59237, "lbs": 453.59237}


@dataclass(frozen=True)
class Column:
    """Which column of a file to read, and what its numbers are, where the header does not say so.

    Attributes
    ----------
    name : str, optional
        Its header; found by itself if left out.
    unit : str, optional
        Such as ``EUR/MWh`` or ``g/kWh``; read from the parentheses in the header if left out.
    time : str, optional
        Header of the column of times.
    time_zone : str, optional
        Of times without an offset, if it is not the site's: ``Europe/Rome`` or ``-05:00``.
    """

    name: str | None = None
    unit: str | None = None
    time: str | None = None
    time_zone: str | None = None


def read_price(
    path: str | PathLike[str],
    *,
    time_zone: str = "UTC",
    currency: str = "USD",
    column: Column | None = None,
    max_gap: int = MAX_GAP,
) -> tuple[Series, str]:
    """Read a CSV file of prices.

    The column is the one whose header holds "price"; its unit stands in parentheses, such as ``Price (USD/MWh)``.
    Negative prices are kept. A price holds until the next row; missing rows keep the price before them.

    Parameters
    ----------
    path : path
        The file; compressed ones too.
    time_zone : str
        Of times without an offset, unless the header of their column holds ``UTC``.
    currency : str
        Of files whose unit names none (``ct/kWh``).
    column : Column, optional
        For files of other headers.
    max_gap : int
        Longest gap that is bridged, s.

    Returns
    -------
    series : Series
        Per kWh, in Unix time.
    currency : str
        Of the file.

    Raises
    ------
    SeriesError
        If the file can't be read, a column or unit is unknown, a value is no number, or a gap is too long.
    """
    table = read_table(path)
    chosen = column or Column()
    name = _find(table, chosen.name, ("price",), f"{Path(path).name}", "price")
    unit = chosen.unit or _unit_of(name)
    match = _PRICE_UNIT.match(unit)
    if not match:
        raise SeriesError(
            f"{Path(path).name}: the price column {name!r} is in {unit or 'no unit'!r}, which is no price of energy; "
            "name the unit, such as Column(unit='EUR/MWh')."
        )
    money, share = _MONEY.get(match["money"].lower(), (match["money"].upper(), 1.0))
    factor = share * _ENERGY[match["energy"].lower()]
    money = money or currency
    series = _series(table, name, path, chosen, time_zone, factor, f"{money}/kWh", max_gap)
    _plausible(series, -100.0, 1_000.0, name)
    return series, money


def read_carbon(
    path: str | PathLike[str],
    *,
    scope: str = "direct",
    time_zone: str = "UTC",
    column: Column | None = None,
    max_gap: int = MAX_GAP,
) -> Series:
    """Read a CSV file of carbon intensities, such as those of Electricity Maps.

    Parameters
    ----------
    path : path
        The file; compressed ones too.
    scope : str
        ``direct`` (at the stack) or ``lca`` (life cycle), where the file has both.
    time_zone, column, max_gap
        As for prices.

    Returns
    -------
    Series
        In g CO2 equivalent per kWh, in Unix time.

    Raises
    ------
    SeriesError
        As for prices, and if `scope` is unknown.
    """
    if scope not in ("direct", "lca"):
        raise SeriesError(f"scope={scope!r} of carbon intensity is unknown.{suggest(scope, ('direct', 'lca'))}")
    table = read_table(path)
    chosen = column or Column()
    name = _find(table, chosen.name, ("carbon intensity", scope), Path(path).name, "carbon intensity")
    unit = chosen.unit or _unit_of(name)
    match = _CARBON_UNIT.match(unit.replace("₂", "2"))
    if not match:
        raise SeriesError(
            f"{Path(path).name}: the carbon column {name!r} is in {unit or 'no unit'!r}, which is no mass per energy; "
            "name the unit, such as Column(unit='g/kWh')."
        )
    factor = _MASS[match["mass"].lower()] * _ENERGY[match["energy"].lower()]
    series = _series(table, name, path, chosen, time_zone, factor, CARBON_UNIT, max_gap)
    _plausible(series, 0.0, 3_000.0, name)
    return series


@dataclass(frozen=True)
class Cycle:
    """A cosine of the day: `mean`, largest deviation relative to it, and the local hour of the largest value."""

    mean: float
    swing: float = 0.3
    peak_hour: float = 18.0


def daily_cycle(
    cycle: Cycle,
    start: int,
    end: int,
    *,
    time_zone: str = "UTC",
    unit: str = "",
    origin: str = "daily cycle",
) -> Series:
    """Return an hourly cosine of the day, by the clock on the wall.

    ``mean * (1 + swing * cos(2 pi (h - peak_hour) / 24))`` holds during hour ``h = 0..23`` of the local day; over a day
    of 24 hours its mean is `mean`. In spring and autumn it follows the clock.

    Parameters
    ----------
    cycle : Cycle
        The curve; a `swing` above 1 makes some hours change sign.
    start, end : int
        What to cover, Unix time, s.
    time_zone : str
        IANA name.
    unit, origin : str
        For the series.
    """
    quarter = HOUR // 4  # zones differ from UTC, and change, by whole quarters of an hour
    times = np.arange(start // quarter, end // quarter + 1) * quarter
    local = pd.to_datetime(times, unit="s", utc=True).tz_convert(zone_of(time_zone)).hour.to_numpy()
    fresh = np.concatenate(([True], np.diff(local) != 0))
    turn = 2.0 * np.pi * (local[fresh] - cycle.peak_hour) / 24.0
    values = cycle.mean * (1.0 + cycle.swing * np.cos(turn))
    return Series(times[fresh], values, max(end, int(times[-1])), unit=unit, origin=origin)


def _find(table: pd.DataFrame, wanted: str | None, words: tuple[str, ...], file: str, what: str) -> str:
    columns = [str(name) for name in table.columns]
    if wanted is not None:
        if wanted in columns:
            return wanted
        raise SeriesError(f"{file} has no column {wanted!r}.{suggest(wanted, columns)}")
    for words_now in (words, words[:1]):  # without the scope, where there is only one
        found = [name for name in columns if all(word in name.lower() for word in words_now)]
        if len(found) == 1:
            return found[0]
        if found:
            raise SeriesError(f"{file} has several columns of {what}: {', '.join(found)}; choose by Column(name=...).")
    raise SeriesError(f"{file} has no column of {what}, only {', '.join(columns)}; choose one by Column(name=...).")


def _unit_of(name: str) -> str:
    """Return what stands in the first parentheses of a header, or before them: ``... gCO2eq/kWh (direct)``."""
    inside = re.search(r"[(\[]([^)\]]*/[^)\]]*)[)\]]", name)
    if inside:
        return inside[1].strip()
    word = re.search(r"(\S+/\S+)", name)
    return word[1] if word else ""


def _series(
    table: pd.DataFrame,
    name: str,
    path: str | PathLike[str],
    chosen: Column,
    time_zone: str,
    factor: float,
    unit: str,
    max_gap: int,
) -> Series:
    file = Path(path).name
    values = numbers(table[name], f"{file}, column {name!r}")
    clock = chosen.time if chosen.time is not None else time_column(table, file)
    if clock not in table.columns:
        raise SeriesError(f"{file} has no column {clock!r}.{suggest(clock, [str(c) for c in table.columns])}")
    zone = zone_of(chosen.time_zone or ("UTC" if re.search(r"\bUTC\b", clock) else time_zone))
    present = np.isfinite(values)
    # a row without a value says nothing about the clock: some files list the hour that spring leaves out
    seconds = unix_seconds(table[clock][present], zone, f"{file}, column {clock!r}")
    samples = regular(seconds, np.ones(seconds.size, dtype=bool), file, max_gap)
    kept = values[present][samples.rows] * factor
    return Series(samples.times, kept, samples.end, False, unit, file, samples.repairs)


def _plausible(series: Series, low: float, high: float, column: str) -> None:
    wrong = (series.values < low) | (series.values > high)
    if wrong.any():
        value = float(series.values[int(np.argmax(wrong))])
        raise SeriesError(
            f"{series.origin}, column {column!r}: {value:.6g} {series.unit} is not between {low:g} and {high:g}; "
            "is the unit right? Name it by Column(unit=...)."
        )
