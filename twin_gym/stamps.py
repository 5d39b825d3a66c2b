"""Time stamps and gaps of recorded files: text to Unix seconds across daylight saving, repeated rows, missing rows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, timedelta, timezone, tzinfo
from typing import cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import numpy.typing as npt
import pandas as pd

from twin_gym.series import DAY, HOUR, Repairs, SeriesError, date

__all__ = ["MAX_GAP", "Regular", "regular", "unix_seconds", "zone_of"]

MAX_GAP = 6 * HOUR  # longest time between two samples that is bridged, s, unless the caller says otherwise

_OFFSET = re.compile(r"(?:Z|[+-]\d\d:?\d\d)\s*$")
_OFFSET_ZONE = re.compile(r"(?:UTC|GMT)?([+-])(\d\d):?(\d\d)$")

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def zone_of(name: str) -> tzinfo:
    """Return a time zone by its name in the IANA database (``Europe/Rome``) or a fixed offset (``-05:00``).

    Raises
    ------
    SeriesError
        If there is no such zone.
    """
    fixed = _OFFSET_ZONE.match(name)
    if fixed:
        size = timedelta(hours=int(fixed[2]), minutes=int(fixed[3]))
        return timezone(size if fixed[1] == "+" else -size)
    if name == "UTC":  # also where there is no database
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise SeriesError(
            f"time_zone={name!r} is not in the IANA database; write a name such as 'Europe/Rome' or an offset '-05:00'."
        ) from None


def unix_seconds(stamps: pd.Series, zone: tzinfo, origin: str) -> Ints:
    """Return the Unix time of stamps as they stand in a file, shape (N,).

    Numbers are Unix seconds. Text with an offset (``+01:00``, ``Z``) says what it means. Other text is the clock on the
    wall in `zone`: of an hour that comes twice in autumn, rows after the clock went back are the second one, and an
    hour that comes once is the first; an hour that daylight saving leaves out in spring is an error.

    Parameters
    ----------
    stamps : pandas.Series
        In the order of the file.
    zone : tzinfo
        For text without an offset.
    origin : str
        File and column, for messages.

    Raises
    ------
    SeriesError
        If a stamp can't be read, or names an hour that does not exist.
    """
    if pd.api.types.is_numeric_dtype(stamps):
        numbers = stamps.to_numpy(dtype=np.float64)
        if not np.all(np.isfinite(numbers)):
            row = int(np.argmin(np.isfinite(numbers)))
            raise SeriesError(f"{origin}, row {row + 1}: the time is missing; remove the row.")
        return cast(Ints, numbers.astype(np.int64))
    text = stamps.astype(str).str.strip()
    told = text.str.contains(_OFFSET)
    moments = pd.to_datetime(text, utc=True, errors="coerce", format="ISO8601")
    if moments.isna().any():
        moments = moments.fillna(pd.to_datetime(text[moments.isna()], utc=True, errors="coerce", format="mixed"))
    if moments.isna().any():
        row = int(np.argmax(moments.isna().to_numpy()))
        raise SeriesError(
            f"{origin}, row {row + 1}: {text.iloc[row]!r} is no date and time; write it as '2023-12-31 23:00'."
        )
    seconds = moments.dt.as_unit("s").astype("int64").to_numpy()
    if told.all():
        return cast(Ints, seconds)
    if told.any():
        row = int(np.argmin(told.to_numpy()))
        raise SeriesError(f"{origin}, row {row + 1}: {text.iloc[row]!r} has no UTC offset, while other rows have one.")
    return _from_wall(seconds, zone, origin)


def _from_wall(wall: Ints, zone: tzinfo, origin: str) -> Ints:
    """Turn a wall clock's reading, as if it were UTC, into Unix time.

    Offsets change at whole quarters of an hour only, so each quarter of the record is asked for once.
    """
    quarters, inverse = np.unique(wall // 900, return_inverse=True)
    clock = pd.to_datetime(quarters * 900, unit="s")
    first = np.array([_offset(moment, zone, 0) for moment in clock], dtype=np.int64)
    second = np.array([_offset(moment, zone, 1) for moment in clock], dtype=np.int64)
    gap = first < second  # the clock jumps over this hour
    if gap.any():
        row = int(np.argmax(gap[inverse]))
        moment = pd.Timestamp(int(wall[row]), unit="s").strftime("%Y-%m-%d %H:%M")
        raise SeriesError(
            f"{origin}, row {row + 1}: {moment} does not exist in {zone}, where daylight saving begins; "
            "if the file's clock knows no daylight saving, say time_zone='UTC' or an offset such as '-05:00'."
        )
    overlap = (first - second)[inverse]  # how long the hour is that comes twice; 0 at other times
    offsets = first[inverse]
    if overlap.any():
        offsets = np.where(_gone_back(wall, overlap), second[inverse], offsets)
    return wall - offsets


def _offset(moment: pd.Timestamp, zone: tzinfo, fold: int) -> int:
    shift = zone.utcoffset(moment.to_pydatetime().replace(fold=fold))
    return int(shift.total_seconds()) if shift is not None else 0


def _gone_back(wall: Ints, overlap: Ints) -> npt.NDArray[np.bool_]:
    """Tell which rows are in the second of two equal hours: those after the clock went back, in the order of the file.

    It went back where a row follows its predecessor by less than the usual step and half the overlap: by no step at all
    in an hourly file, by -55 minutes in one of 5 minutes, whose doubles must not be taken for it.
    """
    steps = np.diff(wall)
    usual = int(np.median(steps)) if steps.size else 0
    back = np.concatenate(([False], steps < usual - overlap[1:] / 2)) & (overlap > 0)
    twice = overlap > 0
    begins = np.concatenate(([True], twice[1:] != twice[:-1])) | np.concatenate(([False], steps > DAY))
    so_far = np.cumsum(back)
    before: Ints = (so_far - back)[begins][np.cumsum(begins) - 1]  # at the beginning of each run of such rows
    return np.asarray(twice & (so_far > before))


@dataclass(frozen=True)
class Regular:
    """Samples in order, without doubles, and what that took.

    Attributes
    ----------
    times : int64 array, shape (N,)
        Ascending Unix time, s.
    rows : int64 array, shape (N,)
        Row of the file that each sample is from.
    step : int
        Usual time between two samples, s.
    repairs : Repairs
        Counts.
    """

    times: Ints
    rows: Ints
    step: int
    repairs: Repairs

    @property
    def end(self) -> int:
        """Where the last sample ceases to hold, s."""
        return int(self.times[-1]) + self.step


def regular(seconds: Ints, present: npt.NDArray[np.bool_], origin: str, max_gap: int = MAX_GAP) -> Regular:
    """Sort samples, leave out doubles and rows without a value, and count the gaps.

    Parameters
    ----------
    seconds : int64 array, shape (R,)
        Unix time of each row, s.
    present : bool array, shape (R,)
        Whether the row holds values.
    origin : str
        File and quantity, for messages.
    max_gap : int
        Longest time between two samples, s.

    Raises
    ------
    SeriesError
        If fewer than two samples remain, or a gap is longer than `max_gap`.
    """
    rows = np.flatnonzero(present)
    rows = rows[np.argsort(seconds[rows], kind="stable")]
    times = seconds[rows]
    fresh = np.concatenate(([True], np.diff(times) > 0)) if times.size else np.zeros(0, dtype=bool)
    doubles = int(times.size - fresh.sum())
    times, rows = times[fresh], rows[fresh]
    if times.size < 2:
        raise SeriesError(f"{origin}: {times.size} rows with a time and a value; a series needs at least two.")
    steps = np.diff(times)
    step = int(np.median(steps))
    longest = int(np.argmax(steps))
    if steps[longest] > max(max_gap, step):
        raise SeriesError(
            f"{origin}: nothing between {date(times[longest])} and {date(times[longest + 1])}, a gap of "
            f"{steps[longest] / HOUR:.4g} h where at most {max_gap / HOUR:.4g} h are bridged; "
            "fill it, or allow it by max_gap=<seconds>."
        )
    missing = int(np.sum(np.where(steps > 1.5 * step, np.rint(steps / step) - 1, 0)))
    return Regular(times, rows, step, Repairs(int(times.size), missing, doubles, 0, int(steps[longest])))
