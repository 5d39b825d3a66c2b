"""`Series`: one quantity over time (a price, a carbon intensity, a temperature), looked up and integrated exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from twin_gym.errors import TwinGymError

__all__ = ["DAY", "HOUR", "WEEK", "Outside", "Repairs", "Series", "SeriesError"]

HOUR, DAY, WEEK = 3_600, 86_400, 604_800
_YEAR = 365.2425 * DAY  # mean Gregorian year
_SHORTEST_YEAR = 364 * DAY  # 52 weeks: what a record must span to stand for other years
_ALWAYS = 2**60  # a constant's reach, s; far beyond any clock, and differences still fit int64

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Outside = Literal["repeat", "hold", "error"]


class SeriesError(TwinGymError):
    """A weather, price or carbon series that can't be used as it stands."""


@dataclass(frozen=True)
class Repairs:
    """What a record lacked, and what was done about it.

    Attributes
    ----------
    samples : int
        Samples that were used.
    missing : int
        Samples that should lie between them and do not; the rule of the series bridges them.
    duplicates : int
        Samples that were left out, since an earlier row has the same time.
    clipped : int
        Values just beyond the possible that were set to the limit.
    longest_gap_s : int
        Longest time between two samples.
    repeated : bool
        The record stands for a time that it does not cover.
    """

    samples: int = 0
    missing: int = 0
    duplicates: int = 0
    clipped: int = 0
    longest_gap_s: int = 0
    repeated: bool = False


@dataclass(frozen=True, eq=False)
class Series:
    """A quantity over time, from ``times[0]`` to `end`.

    Attributes
    ----------
    times : int64 array, shape (N,)
        Ascending, s: Unix time as read, seconds of the workload's clock after `on_clock`.
    values : float64 array, shape (N,)
        In `unit`; finite.
    end : int
        Where the last value ceases to hold, s; at least ``times[-1]``.
    linear : bool
        False: a value holds until the next sample (prices of an hour). True: straight lines between samples
        (temperatures); the last value holds until `end`.
    unit : str
        Of the values.
    origin : str
        Where they are from, for messages.
    repairs : Repairs
        Gaps and the like.

    Raises
    ------
    SeriesError
        If times do not ascend, or a value is not a number.
    """

    times: Ints
    values: Floats
    end: int
    linear: bool = False
    unit: str = ""
    origin: str = "series"
    repairs: Repairs = field(default_factory=Repairs)

    def __post_init__(self) -> None:
        times = np.array(self.times, dtype=np.int64)
        values = np.array(self.values, dtype=np.float64)
        if times.ndim != 1 or times.shape != values.shape or not times.size:
            raise SeriesError(
                f"{self.origin}: times and values must be two columns of one length, with a row at least."
            )
        if times.size > 1 and np.any(np.diff(times) <= 0):
            row = int(np.argmax(np.diff(times) <= 0)) + 1
            raise SeriesError(
                f"{self.origin}: the time of sample {row} is not after the one before it; sort the samples."
            )
        if not np.all(np.isfinite(values)):
            row = int(np.argmin(np.isfinite(values)))
            raise SeriesError(f"{self.origin}: the value of sample {row} is not a number; leave that sample out.")
        if self.end < times[-1]:
            raise SeriesError(f"{self.origin}: the end {self.end} s lies before the last sample at {times[-1]} s.")
        times.flags.writeable = values.flags.writeable = False
        for name, value in (("times", times), ("values", values), ("end", int(self.end))):
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"Series({self.origin}: {len(self)} samples from {self.start} to {self.end} s, {self.unit})"

    def __len__(self) -> int:
        return int(self.times.size)

    @classmethod
    def constant(cls, value: float, unit: str = "", origin: str = "constant") -> Series:
        """Return one value for all time."""
        return cls(np.array([-_ALWAYS]), np.array([value]), _ALWAYS, unit=unit, origin=origin)

    @property
    def start(self) -> int:
        """Where the series begins, s."""
        return int(self.times[0])

    @property
    def is_constant(self) -> bool:
        """Whether one value holds for all time."""
        return self.start == -_ALWAYS

    def at(self, t: npt.ArrayLike) -> Floats:
        """Return the values at times `t` (s, any shape, integer or not).

        Raises
        ------
        SeriesError
            If a time lies outside the series.
        """
        wanted = np.asarray(t)
        self._require(wanted)
        piece = self._piece(wanted)
        value = self.values[piece]
        if self.linear:
            value = value + self._slopes[piece] * (wanted - self.times[piece])
        return np.asarray(value, dtype=np.float64)

    def integral(self, start: npt.ArrayLike, end: npt.ArrayLike) -> Floats:
        """Return the integrals over ``[start, end)``, in `unit` times seconds; exact up to rounding.

        Parameters
        ----------
        start, end : array-like
            s, ``start <= end``; of any shapes that broadcast: one pair per job, say.

        Raises
        ------
        SeriesError
            If an interval is reversed or reaches outside the series.
        """
        first, last = np.broadcast_arrays(np.asarray(start), np.asarray(end))
        if np.any(last < first):
            raise SeriesError(f"{self.origin}: can't integrate over an interval that ends before it begins.")
        self._require(first)
        self._require(last)
        i, j = self._piece(first), self._piece(last)
        inside = self._within(i, first, last)
        # Difference of sums over whole pieces, not of antiderivatives at the ends: no digits are lost within a piece.
        after = np.minimum(i + 1, len(self) - 1)
        head = self._within(i, first, self.times[after])
        across = head + (self._sums[j] - self._sums[after]) + self._within(j, self.times[j], last)
        return np.where(i == j, inside, across)

    def integrate(self, times: npt.ArrayLike, values: npt.ArrayLike, end: int | None = None) -> float:
        """Return the integral of this series times a piecewise-constant one, such as power.

        Steps of the two may lie anywhere: every piece between two steps of either counts once.

        Parameters
        ----------
        times : array-like of int, shape (T,)
            When each piece begins, s; not descending.
        values : array-like of float, shape (T,), or (T - 1,) without `end`
            ``values[k]`` holds from ``times[k]`` to ``times[k + 1]``.
        end : int, optional
            Where the last piece ends, s; ``times[-1]`` if left out: then the last of T values does not count.

        Returns
        -------
        float
            In `unit` times the other unit times seconds.

        Raises
        ------
        SeriesError
            If the columns do not fit, or reach outside the series.
        """
        edges, heights = np.asarray(times), np.asarray(values, dtype=np.float64)
        if edges.ndim != 1 or heights.ndim != 1:
            raise SeriesError(f"{self.origin}: the times and values to integrate must be flat columns.")
        if end is not None:
            edges = np.append(edges, end)
        elif heights.size == edges.size:
            heights = heights[:-1]
        if heights.size != max(edges.size - 1, 0):
            pieces = max(edges.size - 1, 0)
            raise SeriesError(f"{self.origin}: {heights.size} values do not fit the {pieces} pieces between the times.")
        if not heights.size:
            return 0.0
        total = float(np.sum(heights * self.integral(edges[:-1], edges[1:])))
        if not math.isfinite(total):
            piece = int(np.argmin(np.isfinite(heights)))
            raise SeriesError(f"{self.origin}: the value of piece {piece} to integrate is not a number.")
        return total

    def mean(self, start: int, end: int) -> float:
        """Return the mean over ``[start, end)`` by time, or the value at `start` if the interval is empty."""
        return float(self.integral(start, end)) / (end - start) if end > start else float(self.at(start))

    def scaled(self, factor: float, unit: str) -> Series:
        """Return the series in another unit."""
        return replace(self, values=self.values * factor, unit=unit)

    def moved(self, seconds: int) -> Series:
        """Return the series `seconds` later; a constant stays what it is."""
        return self if self.is_constant else replace(self, times=self.times + seconds, end=self.end + seconds)

    def on_clock(self, epoch: int) -> Series:
        """Return a series in Unix time on a clock whose second 0 is `epoch`."""
        return self.moved(-epoch)

    def over(self, start: int, end: int, outside: Outside = "repeat", stride: int = DAY) -> Series:
        """Return a series that covers ``[start, end]``, in Unix time.

        Parameters
        ----------
        start, end : int
            What must be covered, s.
        outside : str
            What holds where the record does not reach. ``repeat``: the record's year again, for records of 364 days and
            more; ``hold``: its first and last value; ``error``: nothing.
        stride : int
            The record is moved by whole multiples of this, s: days keep the hour right, weeks the day of the week too.
            The multiple nearest to whole mean Gregorian years is taken; where that leaves some days between the
            record's end and its next beginning, the record's last strides fill them.

        Raises
        ------
        SeriesError
            If the record does not reach and may not be repeated.
        """
        if self.start <= start and end <= self.end:
            return self
        if outside == "hold":
            return self._held(start, end)
        span = self.end - self.start
        if outside == "repeat" and span >= _SHORTEST_YEAR:
            return self._repeated(start, end, stride)
        advice = "choose a run within it, or outside='hold' to keep its first and last value"
        if span >= _SHORTEST_YEAR:
            advice = "choose a run within it, or outside='repeat' to use the same days of its year"
        raise SeriesError(
            f"{self.origin} covers {date(self.start)} to {date(self.end)}, but the run needs {date(start)} to "
            f"{date(end)}; {advice}."
        )

    def _held(self, start: int, end: int) -> Series:
        times, values = self.times, self.values
        if start < self.start:
            times, values = np.concatenate(([start], times)), np.concatenate((values[:1], values))
        repairs = replace(self.repairs, repeated=True)
        return replace(self, times=times, values=values, end=max(end, self.end), repairs=repairs)

    def _repeated(self, start: int, end: int, stride: int) -> Series:
        years = max(1, math.floor((self.end - self.start + WEEK) / _YEAR))

        def begin(block: int) -> int:
            return self.start + stride * round(block * years * _YEAR / stride)

        since = self.times - self.start
        span = self.end - self.start
        first = math.floor((start - self.start) / (years * _YEAR)) - 1
        last = math.floor((end - self.start) / (years * _YEAR)) + 1
        times, values = [], []
        for block in range(first, last + 1):
            length = begin(block + 1) - begin(block)
            if begin(block + 1) < start or begin(block) > end:
                continue
            kept = since < length
            times.append(begin(block) + since[kept])
            values.append(self.values[kept])
            if length > span:  # the calendar is longer than the record: its last strides once more
                back = stride * -(-(length - span) // stride)
                tail = (since >= span - back) & (since < length - back)
                times.append(begin(block) + back + since[tail])
                values.append(self.values[tail])
        reach = times[-1][-1]
        return replace(
            self,
            times=np.concatenate(times),
            values=np.concatenate(values),
            end=max(end, int(reach)),
            repairs=replace(self.repairs, repeated=True),
        )

    @cached_property
    def _slopes(self) -> Floats:
        if len(self) == 1:
            return np.zeros(1)
        return np.append(np.diff(self.values) / np.diff(self.times), 0.0)

    @cached_property
    def _sums(self) -> Floats:
        """Integral from the beginning to each sample; shape (N,)."""
        heights = (self.values[:-1] + self.values[1:]) / 2 if self.linear else self.values[:-1]
        areas = heights.astype(np.longdouble) * np.diff(self.times)
        return np.concatenate(([0.0], np.cumsum(areas))).astype(np.float64)

    def _piece(self, t: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
        return np.searchsorted(self.times, t, side="right") - 1

    def _within(self, piece: npt.NDArray[np.intp], start: npt.NDArray[Any], end: npt.NDArray[Any]) -> Floats:
        """Integral over an interval that lies within one piece."""
        area = self.values[piece] * (end - start)
        if self.linear:
            origin = self.times[piece]
            area = area + self._slopes[piece] * ((start - origin) + (end - origin)) * (end - start) / 2
        return np.asarray(area, dtype=np.float64)

    def _require(self, t: npt.NDArray[Any]) -> None:
        if not t.size:
            return
        low, high = t.min(), t.max()
        if not (self.start <= low and high <= self.end):
            wrong = low if not self.start <= low else high
            raise SeriesError(
                f"{self.origin} covers {self.start} to {self.end} s, but is asked for {wrong} s; "
                "build it over a longer span."
            )


def date(seconds: int) -> str:
    """Write a Unix time for a message: day and minute in UTC."""
    try:
        return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, OverflowError, OSError):
        return f"{int(seconds)} s"
