"""Times as people write them: seconds, 2d, 12h30m, or a date."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from twin_gym.errors import OptionError

_SECONDS = {"w": 604800, "d": 86400, "h": 3600, "m": 60, "s": 1}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([wdhms])")


def seconds(value: int | float | str, key: str) -> int:
    """Return a length of time in seconds.

    Parameters
    ----------
    value : int, float or str
        ``3600``, ``"90m"``, ``"2d12h"`` (w, d, h, m, s).
    key : str
        The option that it was given for, named in the error.

    Raises
    ------
    OptionError
        If it is not a length of time.
    """
    if isinstance(value, bool):
        raise OptionError(f"{key}={value} is not a time; write seconds or 2d, 12h, 90m.")
    if isinstance(value, int | float):
        return round(value)
    text = str(value).strip().lower()
    if re.fullmatch(r"[+-]?\d+(\.\d+)?", text):
        return round(float(text))
    sign, body = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if not body or _PART.sub("", body).strip():
        raise OptionError(f"{key}={value} is not a time; write seconds or 2d, 12h, 90m, 1w, or joined as 2d12h.")
    return sign * round(sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(body)))


def is_date(value: object) -> bool:
    """Tell whether a point of time is a date rather than a length of time since the epoch."""
    return re.match(r"\d{4}-\d", str(value).strip()) is not None


def instant(value: int | float | str, key: str, epoch: int | None) -> int:
    """Return a point of time in seconds since a workload's epoch.

    Parameters
    ----------
    value : int, float or str
        A length of time since the epoch, or an ISO date and time (UTC unless it names its zone).
    key : str
        The option that it was given for, named in the error.
    epoch : int or None
        Unix time of the workload's second 0, None if the log does not tell.

    Raises
    ------
    OptionError
        If it is neither, or a date where the log does not tell its own.
    """
    text = str(value).strip()
    if not is_date(text):
        return seconds(value, key)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise OptionError(f"{key}={value} is not a date; write it as 2011-02-01 or 2011-02-01T08:00.") from None
    if epoch is None:
        raise OptionError(f"{key}={value} is a date, but the log doesn't say when it begins; give seconds or 2d, 12h.")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp()) - epoch


def clock_of(second: int, epoch: int | None) -> str:
    """Write a second of a workload as date and time (UTC), or as days and time where the log does not know its date."""
    if epoch is not None:
        return datetime.fromtimestamp(epoch + second, UTC).strftime("%Y-%m-%d %H:%M")
    days, rest = divmod(second, _SECONDS["d"])
    return f"day {days} {rest // 3600:02d}:{rest // 60 % 60:02d}"
