"""The public log of Frontier in its dialect of the Standard Workload Format: 21 fields, nodes in the last."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from twin_gym.columns import whole
from twin_gym.errors import WorkloadError
from twin_gym.workload import UNKNOWN, Workload

from ._foreign import finish, jobs_of
from ._notes import Notes
from ._window import Span

FIELDS = (
    "job_id", "submit", "wait", "run", "allocated", "cpu_time", "memory", "requested", "limit", "memory_requested",
    "status", "user", "group", "executable", "queue", "partition", "preceding", "think_time", "gpus", "soft_limit",
    "descriptor",
)  # fmt: skip
NEEDED = ("job_id", "submit", "wait", "run", "allocated", "limit", "status", "user", "group", "queue", "descriptor")
DESCRIPTOR = r"^[^:]+:[^:]+:(\d+)x\d+$"
"""Such as ``frontier:excl:2500x112``: 2500 nodes."""


def read_logs(paths: list[Path], span: Span | None, capacity: int, missing_requests: str, strict: bool) -> Workload:
    """Read one or several logs; job numbers that both have are renewed and counted.

    Raises
    ------
    WorkloadError
        If a log is missing, malformed, or doesn't tell when it began.
    """
    frame = pd.concat([_read(path) for path in paths], ignore_index=True)
    where = f"{paths[0]}{f' and {len(paths) - 1} more' if len(paths) > 1 else ''}"
    numbers = {name: whole(frame[name], name).values for name in NEEDED if name != "descriptor"}
    notes = Notes(numbers["job_id"], where)
    described = frame["descriptor"].astype(str).str.extract(DESCRIPTOR)[0]
    nodes = whole(pd.to_numeric(described, errors="coerce"), "descriptor").values
    untold = nodes == UNKNOWN
    notes.note("no_descriptor", untold, descriptor=frame["descriptor"].to_numpy(), allocated=numbers["allocated"])
    submit = numbers["submit"] + frame["begin"].to_numpy()
    wait, status = numbers["wait"], numbers["status"]
    columns: dict[str, Any] = {
        "id": numbers["job_id"],
        "submit": np.where(numbers["submit"] == UNKNOWN, UNKNOWN, submit),
        "start": np.where(wait >= 0, submit + wait, UNKNOWN),
        "runtime": numbers["run"],
        "requested_time": numbers["limit"],
        "nodes": np.where(untold, numbers["allocated"], nodes),
        "user": numbers["user"],
        "account": numbers["group"],
        "partition": numbers["queue"],
        "status": np.where((status >= 0) & (status <= 5), status, -1),
    }
    rows = np.arange(len(frame))
    workload = jobs_of(
        columns, rows, notes, span, name="Frontier", capacity=capacity, missing_requests=missing_requests
    )
    return finish(workload, notes, strict)


def _read(path: Path) -> pd.DataFrame:
    """Read the fields of one log, and in ``begin`` the Unix time from which it counts."""
    begin = None
    try:
        opener: Any = gzip.open if path.name.endswith(".gz") else open
        with opener(path, "rt", encoding="utf-8") as file:
            for line in file:
                if not line.startswith(";"):
                    break
                told = re.match(r"^;\s*UnixStartTime\s*:\s*(\d+)", line)
                begin = int(told.group(1)) if told else begin
        if begin is None:
            raise WorkloadError(
                f"{path} has no line '; UnixStartTime: ...' at its head; is it a log of Frontier? Try the loader 'swf'."
            )
        frame = pd.read_csv(path, sep=r"\s+", comment=";", header=None, names=FIELDS, dtype=object)
    except FileNotFoundError as error:
        raise WorkloadError(f"{path} does not exist; check the path.") from error
    except pd.errors.ParserError as error:
        raise WorkloadError(f"{path} is malformed: {str(error).strip().splitlines()[-1]}.") from error
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise WorkloadError(f"{path} can't be read: {error}.") from error
    if not isinstance(frame.index, pd.RangeIndex):  # pandas takes the first of too many fields for an index
        raise WorkloadError(f"{path} is malformed: its first line has more than {len(FIELDS)} fields.")
    if frame.empty:
        raise WorkloadError(f"{path} holds no job; check that it was fetched completely.")
    return frame[list(NEEDED)].assign(begin=begin)
