"""The errors that a user may meet: one sentence each, saying what is wrong, where, and how to put it right."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class TwinGymError(ValueError):
    """Base of every error that twin_gym raises on bad input; its text is one sentence for a user."""


class WorkloadError(TwinGymError):
    """A job log or job table that can't be used as it stands."""


class SystemConfigError(TwinGymError):
    """A system description with a missing, unknown or out-of-range value."""


class PolicyError(TwinGymError):
    """An unknown or ambiguous policy, backfill mode or other scheduling choice."""


class OptionError(TwinGymError):
    """An option whose value is out of range or does not go with another one."""


class ResultError(TwinGymError):
    """A run directory that can't be written or read."""


def suggest(name: str, choices: Iterable[str]) -> str:
    """Say what the user may have meant.

    Parameters
    ----------
    name : str
        The unknown name.
    choices : iterable of str
        The names that exist.

    Returns
    -------
    str
        A sentence that begins with a space: the nearest name if one is near, and all choices.
    """
    options = sorted(choices)
    near = difflib.get_close_matches(name.lower(), options, n=1, cutoff=0.5)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    return f"{hint} Choose from: {', '.join(options)}."
