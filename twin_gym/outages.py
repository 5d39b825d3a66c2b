"""Outages: which nodes are down from when to when, what becomes of the jobs on them, and who knows of it in advance."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from twin_gym.errors import OptionError, suggest

MODES = ("drain", "requeue", "fail")
_COLUMNS = ("nodes", "start", "end", "mode", "planned")


@dataclass(frozen=True)
class Outage:
    """Nodes that are down for a time.

    Attributes
    ----------
    nodes : tuple of int
        Node ids, 0-based.
    start, end : int
        The nodes are down from `start` (inclusive) to `end` (exclusive), s since the workload's epoch.
    mode : str
        What happens to jobs that run on them at the start: ``drain``: they run on, and the nodes go down when they end;
        ``requeue``: they are killed and queued again from scratch; ``fail``: they are killed for good.
    planned : bool
        Whether the scheduler knows of it in advance.
    """

    nodes: tuple[int, ...]
    start: int
    end: int
    mode: str = "drain"
    planned: bool = True

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise OptionError(f"outage mode {self.mode!r} is unknown.{suggest(str(self.mode), MODES)}")
        if not self.start < self.end:
            raise OptionError(f"an outage must end after it starts, but it goes from {self.start} s to {self.end} s.")
        if not self.nodes:
            raise OptionError(f"the outage from {self.start} s to {self.end} s names no node.")
        if min(self.nodes) < 0 or len(set(self.nodes)) != len(self.nodes):
            raise OptionError(f"the outage from {self.start} s names a negative node or one node twice.")


def parse_nodes(text: Any) -> tuple[int, ...]:
    """Read node ids from a number, a list, or text such as ``"0-3,7"``.

    Raises
    ------
    OptionError
        If the text is not of that form.
    """
    if isinstance(text, int):
        return (text,)
    if isinstance(text, (list, tuple)):
        return tuple(node for item in text for node in parse_nodes(item))
    nodes: list[int] = []
    for part in str(text).replace(" ", "").split(","):
        first, dash, last = part.partition("-")
        last = last if dash else first
        if not (first.isdecimal() and last.isdecimal() and int(first) <= int(last)):
            raise OptionError(f"nodes {text!r} can't be read; write ids and ranges such as 0-3,7.")
        nodes.extend(range(int(first), int(last) + 1))
    return tuple(nodes)


def _outage(record: Mapping[str, Any], where: str) -> Outage:
    unknown = set(record) - set(_COLUMNS)
    if unknown:
        name = sorted(map(str, unknown))[0]
        raise OptionError(f"{where}: unknown key {name!r}.{suggest(name, _COLUMNS)}")
    for key in ("nodes", "start", "end"):
        if record.get(key) in (None, ""):
            raise OptionError(f"{where}: {key!r} is missing; an outage needs nodes, start and end (s).")
    planned = record.get("planned", True)
    if isinstance(planned, str):
        if planned.strip().lower() not in ("true", "false", "yes", "no", "1", "0", ""):
            raise OptionError(f"{where}: planned={planned!r} must be true or false.")
        planned = planned.strip().lower() in ("true", "yes", "1", "")
    try:
        start, end = int(record["start"]), int(record["end"])
    except (TypeError, ValueError) as error:
        raise OptionError(f"{where}: start and end must be whole seconds ({error}).") from None
    mode = str(record.get("mode") or "drain").strip()
    try:
        return Outage(parse_nodes(record["nodes"]), start, end, mode, bool(planned))
    except OptionError as error:
        raise OptionError(f"{where}: {error}") from None


def load_outages(path: str | Path) -> tuple[Outage, ...]:
    """Read outages from a YAML list or a CSV table with the columns nodes, start, end, mode, planned.

    Parameters
    ----------
    path : path
        A ``.yaml``, ``.yml`` or ``.csv`` file; times in seconds since the workload's epoch.

    Raises
    ------
    OptionError
        If the file can't be read or a record is wrong; the message names file and record.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"outage file {path} can't be read: {getattr(error, 'strerror', None) or error}.") from None
    if path.suffix == ".csv":
        rows = enumerate(csv.DictReader(text.splitlines()), start=2)
        return tuple(_outage({k: v for k, v in row.items() if k is not None}, f"{path}, line {i}") for i, row in rows)
    if path.suffix not in (".yaml", ".yml"):
        raise OptionError(f"outage file {path} has the ending {path.suffix!r}; it must be .yaml, .yml or .csv.")
    import yaml

    try:
        records = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise OptionError(f"{path}{line}: not valid YAML.") from None
    if records is None:
        return ()
    if not isinstance(records, list) or not all(isinstance(record, Mapping) for record in records):
        raise OptionError(f"{path}: must hold a list of outages, each with nodes, start and end.")
    return tuple(_outage(record, f"{path}, outage {i + 1}") for i, record in enumerate(records))


def check_outages(outages: Iterable[Outage], nodes: int) -> tuple[Outage, ...]:
    """Check that the outages' nodes exist in a system of `nodes` nodes."""
    checked = tuple(outages)
    for outage in checked:
        highest = int(np.max(outage.nodes))
        if highest >= nodes:
            raise OptionError(
                f"the outage from {outage.start} s names node {highest}, but the system's nodes are 0 to {nodes - 1}."
            )
    return checked
