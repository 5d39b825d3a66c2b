"""The names a command line may hold: configuration groups, policies, file formats; without heavy imports."""

from __future__ import annotations

from collections.abc import Collection
from importlib.resources import files
from typing import Any

from twin_gym.config import BACKFILLS, ESTIMATES, PLACEMENTS, RESERVATIONS, SEMANTICS, SITE

FORMATS = {".swf": "swf", ".swf.gz": "swf", ".parquet": "parquet", ".csv": "csv"}
"""Suffix of a workload file -> the workload group that reads it."""

CHOICES: dict[str, Collection[str]] = {
    "backfill": (*BACKFILLS, SITE),
    "estimates": tuple(name for name in ESTIMATES if name != "predicted"),  # predictions come from Python
    "semantics": SEMANTICS,
    "placement": PLACEMENTS,
    "reservations": RESERVATIONS,
}
"""Values of the keys that take a name from a closed set."""


def groups(group: str) -> list[str]:
    """Return the options of a configuration group, such as ``workload`` or ``system``; ``sample/pm100`` in a folder."""
    found = []
    for item in (files("twin_gym.conf") / group).iterdir():
        if item.name.endswith(".yaml"):
            found.append(item.name.removesuffix(".yaml"))
        elif item.is_dir() and not item.name.startswith("_"):
            found += [f"{item.name}/{name}" for name in groups(f"{group}/{item.name}")]
    return sorted(found)


def loader_options(workload: str) -> dict[str, Any]:
    """Return the options, with their defaults, of the loader behind a workload group (none for other groups)."""
    import yaml

    text = (files("twin_gym.conf") / "workload" / f"{workload}.yaml").read_text(encoding="utf-8")
    return dict((yaml.safe_load(text) or {}).get("options") or {})


def policy_names() -> list[str]:
    """Return the names of the ordering policies, and ``site``."""
    from twin_gym.policies import TABLE

    return [*TABLE, SITE]
