"""Dates as Unix seconds, whatever they were written as: Arrow timestamps, text, or numbers of seconds."""

from __future__ import annotations

import zoneinfo
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from twin_gym.errors import OptionError, WorkloadError
from twin_gym.workload import UNKNOWN

Ints = npt.NDArray[np.int64]

MICRO = pa.timestamp("us")
ZONED = r"[T ]\s*\d[\d:.,]*\s*([zZ]|[+-][\d:]+)\s*$"
"""Text with an offset after its time of day; the hyphens of a bare date are none."""
BLANK = ("", "NaT", "NaN", "nan", "null", "None", "Unknown", "N/A")


class Dates(NamedTuple):
    """A column of dates.

    Attributes
    ----------
    seconds : ndarray of int64, shape (J,)
        Unix seconds, cut to whole ones; `UNKNOWN` where there is no date.
    wrong : ndarray of bool, shape (J,)
        Rows that hold something which is no date.
    """

    seconds: Ints
    wrong: npt.NDArray[np.bool_]


def unix_seconds(column: pa.ChunkedArray | pa.Array, name: str, where: str, time_zone: str = "UTC") -> Dates:
    """Turn a column into Unix seconds.

    Parameters
    ----------
    column : pyarrow array
        Timestamps with or without a zone, text in ISO 8601 (``2020-05-01 12:00:00.5``, also with an offset), or Unix
        seconds as numbers.
    name, where : str
        Column and file, for messages.
    time_zone : str
        Zone of dates that don't say theirs. Of an hour that the clock shows twice it is the first; one that the clock
        leaves out is taken as the instant of the change.

    Raises
    ------
    WorkloadError
        If the column holds something else.
    OptionError
        If there is no such time zone.
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if isinstance(column, pa.ChunkedArray):  # no rows at all
        column = pa.nulls(0, MICRO)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    wrong = np.zeros(len(column), dtype=bool)
    if pa.types.is_null(column.type):
        return Dates(np.full(len(column), UNKNOWN), wrong)
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return _of_numbers(column)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        given = pc.and_(column.is_valid(), pc.invert(pc.is_in(pc.utf8_trim_whitespace(column), pa.array(BLANK))))
        column = _of_text(column, given, time_zone)
        wrong = pc.and_(given, column.is_null()).to_numpy(zero_copy_only=False)
    if not pa.types.is_timestamp(column.type):
        raise WorkloadError(f"{where}: column '{name}' must hold dates, but is {column.type}.")
    if column.type.tz is None:
        column = _in_zone(column.cast(pa.timestamp("us"), safe=False), time_zone)
    micro = column.cast(pa.timestamp("us", tz=column.type.tz), safe=False).cast(pa.int64())
    seconds = pc.fill_null(micro, 0).to_numpy(zero_copy_only=False) // 1_000_000
    seconds[micro.is_null().to_numpy(zero_copy_only=False)] = UNKNOWN
    return Dates(seconds, wrong)


def zone_of(time_zone: str) -> str:
    """Return the name of a time zone after checking that it exists.

    Raises
    ------
    OptionError
        If it doesn't.
    """
    try:
        zoneinfo.ZoneInfo(time_zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise OptionError(
            f"time_zone={time_zone!r} is not in the IANA database; write a name such as 'Europe/Rome' or 'UTC'."
        ) from error
    return time_zone


def _of_numbers(column: pa.Array) -> Dates:
    values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    known = np.isfinite(values)
    seconds = np.full(len(values), UNKNOWN)
    seconds[known] = np.floor(values[known]).astype(np.int64)
    return Dates(seconds, np.zeros(len(values), dtype=bool))


def _of_text(column: pa.Array, given: pa.Array, time_zone: str) -> pa.Array:
    """Parse text; what is no date becomes missing."""
    text = pc.if_else(given, column, pa.scalar(None, column.type))
    zoned = pc.match_substring_regex(text, ZONED)
    if not pc.any(zoned).as_py():  # nearly always: Arrow's own parser is ten times faster
        try:
            return text.cast(MICRO)
        except pa.ArrowInvalid:
            pass
        return pa.array(pd.to_datetime(text.to_pandas(), errors="coerce", format="ISO8601").astype("datetime64[us]"))
    mixed = text.to_pandas()
    offset = zoned.fill_null(False).to_numpy(zero_copy_only=False)
    with_zone = pd.to_datetime(mixed.where(offset), errors="coerce", format="ISO8601", utc=True)
    naive = pd.to_datetime(mixed.where(~offset), errors="coerce", format="ISO8601").astype("datetime64[us]")
    local = _in_zone(pa.array(naive), time_zone).cast(pa.timestamp("us", tz="UTC"))
    return pc.coalesce(pa.array(with_zone.astype("datetime64[us, UTC]")), local)


def _in_zone(naive: pa.Array, time_zone: str) -> pa.Array:
    return pc.assume_timezone(naive, zone_of(time_zone), ambiguous="earliest", nonexistent="earliest")
