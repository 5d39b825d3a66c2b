"""The stretch of calendar time that a reader shall read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from twin_gym.errors import OptionError
from twin_gym.workload import UNKNOWN, Workload

Ints = npt.NDArray[np.int64]

Instant: TypeAlias = int | float | str | date | datetime | np.datetime64 | pd.Timestamp
Window: TypeAlias = Sequence[Instant | None] | None
"""Begin and end (None: open): dates (UTC unless they say otherwise) or Unix seconds."""

FOREVER = 2**62


class Span(NamedTuple):
    """Unix seconds from `begin` up to, not including, `end`."""

    begin: int
    end: int

    def touches(self, submit: Ints, end: Ints) -> npt.NDArray[np.bool_]:
        """Tell which jobs matter: submitted before the window closes, not known to have ended before it opens.

        Both in Unix seconds, `UNKNOWN` where not recorded.
        """
        touched: npt.NDArray[np.bool_] = (submit < self.end) & ((end == UNKNOWN) | (end > self.begin))
        return touched


def span_of(window: Window) -> Span | None:
    """Turn the option `window` into Unix seconds; None stays None.

    Raises
    ------
    OptionError
        If it is no pair, an instant is no date, or it ends before it begins.
    """
    if window is None:
        return None
    if isinstance(window, str) or len(window) != 2:
        raise OptionError(f"window={window!r} must be a pair (begin, end), such as ('2020-06-01', '2020-06-02').")
    begin, end = (_instant(given, other) for given, other in zip(window, (-FOREVER, FOREVER), strict=True))
    if begin >= end:
        raise OptionError(f"window={tuple(window)!r} is empty: it must end after it begins.")
    return Span(begin, end)


def _instant(given: Instant | None, unknown: int) -> int:
    if given is None:
        return unknown
    if isinstance(given, int | float | np.integer):
        return int(given)
    try:
        stamp = pd.Timestamp(given)
    except (ValueError, TypeError) as error:
        raise OptionError(
            f"window: {given!r} is no date; write one such as 2020-06-01T12:00 or Unix seconds."
        ) from error
    if stamp is pd.NaT:
        raise OptionError(f"window: {given!r} is no date; write one such as 2020-06-01T12:00 or Unix seconds.")
    stamp = stamp.tz_localize(UTC) if stamp.tz is None else stamp
    return int(stamp.timestamp() // 1)


def cut(workload: Workload, span: Span | None) -> Workload:
    """Return the window of a workload; None is all of it.

    Raises
    ------
    WorkloadError
        If it holds no job.
    """
    if span is None:
        return workload
    begin = (
        max(span.begin - workload.epoch, int(workload.submit[0]))
        if span.begin == -FOREVER
        else span.begin - workload.epoch
    )
    return workload.window(begin, None if span.end == FOREVER else span.end - workload.epoch - begin)
