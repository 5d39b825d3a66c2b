"""Blue Waters (NCSA): Torque's accounting, and the traffic of nodes from Cray's system sampler.

Data: https://bluewaters.ncsa.illinois.edu/data-sets; accounting files hold a line for each event of a job, of which
those of its end (``E``) are read; sampler files have Unix time, node, and the counters of bytes sent and received (in
columns 15 and 16 of the original, 2 and 3 of an excerpt of four columns). Counters only grow: what counts is how much
they grow between two samples of a node, and a sample in which one has fallen (a restart) is left out.
Verified on the schema and on hand-made lines, not on the full files.
"""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from twin_gym.errors import WorkloadError
from twin_gym.system import System
from twin_gym.workload import UNKNOWN, Status, Workload

from ._columns import names, whole
from ._foreign import finish, jobs_of
from ._lists import Rows, numbers
from ._notes import Notes
from ._places import settle
from ._sampler import traffic
from ._text import Progress, blocks
from ._window import Window, span_of

KEYS = {
    "user": r"user=(\S+)",
    "group": r"group=(\S+)",
    "account": r"account=(\S+)",
    "queue": r"queue=(\S+)",
    "qtime": r"qtime=(\d+)",
    "start": r"start=(\d+)",
    "end": r"end=(\d+)",
    "exit": r"Exit_status=(-?\d+)",
    "hosts": r"exec_host=(\S+)",
    "nodect": r"Resource_List\.nodect=(\d+)",
    "unique": r"unique_node_count=(\d+)",
    "limit": r"Resource_List\.walltime=(\d+:\d+:\d+)",
}
"""What is taken of a line, each after a blank or the last semicolon."""

LINE = r"^\d\d/\d\d/\d{4} \d\d:\d\d:\d\d;(?P<event>[A-Z]);(?P<id>[^;]+);(?P<rest>.*)$"
KILLED = -11
"""Torque's exit status of a job that exceeded its walltime; other negative ones tell of jobs deleted or lost."""


def load(
    path: str | PathLike[str],
    *,
    window: Window = None,
    with_traces: bool = True,
    system: str = "bluewaters",
    missing_requests: str = "fallback",
    strict: bool = False,
    progress: Progress | None = None,
) -> Workload:
    """Read accounting files, and the sampler's if they are there.

    Parameters
    ----------
    path : path
        A folder with ``torque_logs/`` and perhaps ``cray_system_sampler/``, each with files of one day; or a folder of
        accounting files, or one of them.
    window : pair of dates, optional
        Only jobs that were submitted, waiting or running between two instants; second 0 becomes the first of them.
    with_traces : bool
        Whether to read the sampler's files.
    system : str
        System whose places node numbers are.
    missing_requests, strict
        As in `Workload.build`.
    progress : callable, optional
        Called with the number of files read, and of all.

    Returns
    -------
    Workload
        Times are Unix times in the source. Traces ``network_tx`` and ``network_rx``: B/s per node in each minute, the
        mean over those of the job's nodes that have samples. Of lines that tell of one job twice the last counts.

    Raises
    ------
    WorkloadError
        If a file is missing or holds no line of a job's end, or no job is left.
    """
    span = span_of(window)
    machine = System.load(system)
    root = Path(path)
    logs = _files(root / "torque_logs" if (root / "torque_logs").is_dir() else root)
    sampler = root / "cray_system_sampler"
    samples = _files(sampler) if with_traces and sampler.is_dir() else []
    told = progress or (lambda done, total: None)
    table, others, strange = _lines(logs, lambda done: told(done, len(logs) + len(samples)))
    where = f"{logs[0]}{f' and {len(logs) - 1} more' if len(logs) > 1 else ''}"
    ids = whole(table, "id", where)
    notes = Notes(ids, where)
    notes.count("other_event", others)
    notes.count("malformed_row", *strange)
    notes.drop("repeated_row", _again(table["spelled"]))
    submit, start, end = (whole(table, name, where) for name in ("qtime", "start", "end"))
    size, unique = whole(table, "nodect", where), whole(table, "unique", where)
    nodes = np.where(size == UNKNOWN, unique, size)
    status = whole(table, "exit", where)
    columns: dict[str, Any] = {
        "id": ids,
        "submit": submit,
        "start": start,
        "runtime": np.where((start != UNKNOWN) & (end != UNKNOWN), end - start, 0),
        "requested_time": _seconds(table["limit"]),
        "nodes": nodes,
        "user": names(table, "user"),
        "account": names(table, "account"),
        "partition": names(table, "queue"),
        "status": _status(status),
        "node_ids": settle(_hosts(table["hosts"]), nodes, machine.total_nodes, notes),
    }
    rows = np.arange(len(ids))
    workload = jobs_of(
        columns, rows, notes, span, name="Blue Waters", capacity=machine.nodes, missing_requests=missing_requests
    )
    if samples:
        more = Notes(workload.id, str(samples[0]))
        traces = traffic(samples, workload, more, lambda done: told(len(logs) + done, len(logs) + len(samples)))
        workload = more.onto(replace(workload, traces=traces))
    return finish(workload, notes, strict)


def _files(path: Path) -> list[Path]:
    """Return one file, or the files of a folder, by name."""
    if path.is_dir():
        found = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
        if not found:
            raise WorkloadError(f"{path} holds no file; check the path.")
        return found
    if not path.exists():
        raise WorkloadError(f"{path} does not exist; check the path.")
    return [path]


def _lines(paths: list[Path], told: Any) -> tuple[pa.Table, int, tuple[int, str]]:
    """Return the fields of the lines that tell of a job's end, and how many tell of something else or of nothing."""
    parts, others, strange, example = [], 0, 0, ""
    for done, path in enumerate(paths, 1):
        for block in blocks(path):
            text = pa.array(block.text.decode("utf-8", "replace").splitlines(), pa.string())
            found = pc.extract_regex(text, LINE)
            wrong = pc.and_(found.is_null(), pc.not_equal(pc.utf8_trim_whitespace(text), ""))
            if pc.any(wrong).as_py():
                example = example or f"{path.name}: {text.filter(wrong)[0].as_py()[:60]}"
                strange += int(pc.sum(wrong).as_py())
            found = found.filter(found.is_valid())
            ended = pc.equal(pc.struct_field(found, "event"), "E")
            others += len(found) - int(pc.sum(ended).as_py() or 0)
            found = found.filter(ended)
            rest = pc.struct_field(found, "rest")
            spelled = pc.struct_field(found, "id")
            fields = {name: _field(rest, pattern) for name, pattern in KEYS.items()}
            number = _field(spelled, r"(\d+)", "^")
            parts.append(pa.table({"spelled": spelled, "id": number, **fields}))
        told(done)
    table = pa.concat_tables(parts)
    if not len(table):
        raise WorkloadError(f"{paths[0]} holds no line of a job's end (';E;'); is it an accounting file of Torque?")
    return table, others, (strange, example)


def _field(text: pa.Array, pattern: str, before: str = r"(?:^|\s)") -> pa.Array:
    return pc.struct_field(pc.extract_regex(text, f"{before}{pattern.replace('(', '(?P<value>', 1)}"), "value")


def _again(spelled: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    """Tell which rows have a job that comes again further down."""
    again: npt.NDArray[np.bool_] = spelled.to_pandas().duplicated(keep="last").to_numpy()
    return again


def _seconds(clock: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """Return ``hours:minutes:seconds`` as seconds."""
    parts = pc.extract_regex(clock.combine_chunks(), r"^(?P<h>\d+):(?P<m>\d+):(?P<s>\d+)$")
    hours, minutes, seconds = (
        np.asarray(pc.struct_field(parts, name).cast(pa.int64()).fill_null(0)) for name in ("h", "m", "s")
    )
    return np.where(np.asarray(parts.is_valid()), hours * 3600 + minutes * 60 + seconds, UNKNOWN)


def _hosts(column: pa.ChunkedArray) -> Rows:
    """Return the node numbers of ``26742/0-31+26743/0-31``."""
    bare = pc.replace_substring_regex(column.combine_chunks(), pattern=r"/[^+]*\+?", replacement=" ")
    return numbers(bare, "exec_host", "Torque's log")


def _status(exits: npt.NDArray[np.int64]) -> npt.NDArray[np.int8]:
    """Return how jobs ended by Torque's exit status; 256 and above tell the signal that killed the job."""
    status = np.select(
        [exits == UNKNOWN, exits == 0, exits == KILLED, exits >= 256, exits > 0],
        [Status.UNKNOWN, Status.COMPLETED, Status.TIMEOUT, Status.CANCELLED, Status.FAILED],
        Status.CANCELLED,
    )
    return status.astype(np.int8)
