"""What the columns of somebody's table mean: names, units, time zone, states; read from YAML and checked."""

from __future__ import annotations

from collections.abc import Mapping as AnyMapping
from dataclasses import dataclass, field, fields
from os import PathLike
from pathlib import Path
from typing import Any

import yaml

from twin_gym.errors import OptionError, suggest
from twin_gym.workload import TRACES, UNITS, Status

from ._dates import zone_of

TIMES = ("submit", "start", "end")
SPANS = ("runtime", "requested_time", "wait")
NUMBERS = ("id", "nodes", "used_nodes", "priority")
LABELS = ("user", "account", "partition")
COLUMNS = (*NUMBERS, *TIMES, *SPANS, *LABELS, "status", "initial", "node_list", "energy", *TRACES)
"""What a column may be."""

SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0, "d": 86_400.0}
SHARES = {"1": 1.0, "%": 0.01}
TRAFFIC = {"B/s": 1.0, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9}
SCALES: dict[str, AnyMapping[str, float]] = {
    **dict.fromkeys((*TIMES, *SPANS), SECONDS),
    **dict.fromkeys(("cpu", "gpu"), SHARES),
    "node_power": {"W": 1.0, "kW": 1e3, "MW": 1e6},
    "energy": {"J": 1.0, "kJ": 1e3, "MJ": 1e6, "Wh": 3600.0, "kWh": 3.6e6},
    **dict.fromkeys(("network_tx", "network_rx"), TRAFFIC),
}
"""Units of each column, the first of them the default, and what one of them is in ours."""

SHARED = ("node_power",)
"""Columns that may be given for the whole job instead of for each node: ``unit: W per job``."""


@dataclass(frozen=True)
class Mapping:
    """The meaning of a table's columns.

    Attributes
    ----------
    columns : mapping of str to str
        Our name of a column to the table's. Empty: the table uses our names.
    units : mapping of str to str
        Our name of a column to its unit. Default: s, W, J, B/s, and fractions.
    time_zone : str
        Zone of dates that don't say theirs.
    epoch : str, int or None
        Of times given as numbers: ``"unix"`` if they are Unix times; the date or Unix time of their 0; None, unknown.
    delimiter : str or None
        What parts the columns of a text file; None: found out.
    states : mapping of str to str
        The table's words or numbers for how a job ended, to names of `Status`.
    keep : tuple of str
        Further columns of the table to be kept in `Workload.extra`.
    capacity, unit, name
        As in `Workload.build`.
    """

    columns: AnyMapping[str, str] = field(default_factory=dict)
    units: AnyMapping[str, str] = field(default_factory=dict)
    time_zone: str = "UTC"
    epoch: str | int | None = None
    delimiter: str | None = None
    states: AnyMapping[Any, str] = field(default_factory=dict)
    keep: tuple[str, ...] = ()
    capacity: int | None = None
    unit: str = "node"
    name: str | None = None

    def scale(self, column: str) -> float:
        """Return what one unit of a column is in ours."""
        scales = SCALES[column]
        return scales[str(self.units.get(column, next(iter(scales)))).removesuffix(" per job")]

    def per_job(self, column: str) -> bool:
        """Tell whether a column counts the whole job instead of each of its nodes."""
        return str(self.units.get(column, "")).endswith(" per job")


def mapping_of(given: str | PathLike[str] | AnyMapping[str, Any] | None) -> Mapping:
    """Read a mapping from a YAML file or a dictionary and check it.

    Raises
    ------
    OptionError
        If it can't be read, or a key, column, unit or state is unknown; names file and key.
    """
    where = "mapping"
    if isinstance(given, str | PathLike):
        where = str(given)
        try:
            given = yaml.safe_load(Path(given).read_text(encoding="utf-8"))
        except OSError as error:
            raise OptionError(f"mapping={where} can't be read: {error.strerror or error}.") from error
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            reason = " ".join(str(error).split())[:120]
            raise OptionError(f"{where} is no YAML: {reason}.") from error
        if not isinstance(given, AnyMapping):
            raise OptionError(f"{where} must hold keys such as 'columns: {{submit: Submit, ...}}'.")
    given = dict(given or {})
    known = [item.name for item in fields(Mapping)]
    for name in given:
        if name not in known:
            raise OptionError(f"{where} has no key '{name}'.{suggest(str(name), known)}")
    for name in ("columns", "units", "states"):
        if not isinstance(given.setdefault(name, {}), AnyMapping):
            raise OptionError(f"{where}: '{name}' must be a mapping, such as {{submit: Submit}}.")
    for name in given["columns"]:
        if name not in COLUMNS:
            raise OptionError(f"{where}, columns: a workload has no column '{name}'.{suggest(str(name), COLUMNS)}")
    for name, unit in given["units"].items():
        if name not in SCALES:
            raise OptionError(f"{where}, units: '{name}' has no unit.{suggest(str(name), SCALES)}")
        choices = [*SCALES[name], *(f"{scale} per job" for scale in SCALES[name] if name in SHARED)]
        if str(unit) not in choices:
            raise OptionError(f"{where}, units: {name}={unit!r} is unknown.{suggest(str(unit), choices)}")
    for word, state in given["states"].items():
        if state not in Status.__members__:
            raise OptionError(
                f"{where}, states: {word}: {state!r} is unknown.{suggest(str(state), Status.__members__)}"
            )
    if given.get("unit", "node") not in UNITS:
        raise OptionError(f"{where}: unit={given['unit']!r} must be {' or '.join(UNITS)}.")
    zone_of(given.get("time_zone", "UTC"))
    keep = given.pop("keep", ())
    return Mapping(**given, keep=(keep,) if isinstance(keep, str) else tuple(keep or ()))
