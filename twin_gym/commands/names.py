"""The names a command line may hold: configuration groups, policies, file formats; without heavy imports."""

from __future__ import annotations

from collections.abc import Collection
from importlib.resources import files

from twin_gym.config import BACKFILLS, ESTIMATES, PLACEMENTS, RESERVATIONS, SEMANTICS

FORMATS = {".swf": "swf", ".swf.gz": "swf", ".parquet": "parquet", ".csv": "csv"}
"""Suffix of a workload file -> the workload group that reads it."""

CHOICES: dict[str, Collection[str]] = {
    "backfill": BACKFILLS,
    "estimates": tuple(name for name in ESTIMATES if name != "predicted"),  # predictions come from Python
    "semantics": SEMANTICS,
    "placement": PLACEMENTS,
    "reservations": RESERVATIONS,
}
"""Values of the keys that take a name from a closed set."""


def groups(group: str) -> list[str]:
    """Return the options of a configuration group, such as ``workload`` or ``system``."""
    folder = files("twin_gym.conf") / group
    return sorted(item.name.removesuffix(".yaml") for item in folder.iterdir() if item.name.endswith(".yaml"))


def policy_names() -> list[str]:
    """Return the names of the ordering policies."""
    from twin_gym.policies import TABLE

    return list(TABLE)
