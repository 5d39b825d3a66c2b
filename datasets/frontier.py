"""Frontier (OLCF): jobs with power profiles every 15 s, or the public log in its dialect of SWF.

Two sources that go by one name:

- Parquet sets of jobs and profiles (``joblive/`` and ``jobprofile/``). They aren't public; columns are those that the
  public ExaDigiT/RAPS reader asks for. Profiles hold watts of all CPUs and all GPUs of a job and of its mean node.
- ``frontier-2024.swf``, ``frontier-2025.swf`` (K. Maheshwari and others, "Workload traces from the Frontier exascale
  supercomputer", JSSPP 2026): 21 fields, no power. Fields 5 and 8 count nodes or cores; the number of nodes is told by
  the last, ``frontier:excl:NxM``.

Verified on the schemas and on hand-made rows, not on the full files.
"""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from twin_gym.errors import WorkloadError
from twin_gym.system import System
from twin_gym.workload import UNKNOWN, Workload

from ._columns import names, states, whole
from ._dates import unix_seconds
from ._foreign import finish, jobs_of
from ._frontier_swf import read_logs
from ._lists import Rows
from ._notes import Notes
from ._parquet import ParquetSet, Paths
from ._places import settle
from ._profiles import Profiles
from ._text import Progress
from ._watts import cpu_busy, fraction, gpu_busy, positive
from ._window import Window, span_of

NEEDED = ("job_id", "allocation_id", "node_count", "time_submission", "time_limit", "time_start", "time_end")
WANTED = (*NEEDED, "account", "state_current", "xnames")
POWER = ("sum_cpu0_power", "sum_gpu_power", "mean_node_power")
QUANTUM = 15
"""Distance of samples, s."""
XNAME = r"^x2(?P<row>\d)(?P<column>\d\d)c(?P<chassis>\d)s(?P<slot>\d)b(?P<board>\d)"
"""Cabinet (row, column), chassis, slot and board of a node."""


def load(
    path: Paths,
    *,
    profiles: Paths | None = None,
    window: Window = None,
    with_traces: bool = True,
    system: str = "frontier",
    missing_requests: str = "fallback",
    strict: bool = False,
    progress: Progress | None = None,
) -> Workload:
    """Read Frontier's jobs.

    Parameters
    ----------
    path : path or list of paths
        A folder with ``joblive/`` and ``jobprofile/``; or the Parquet files of jobs alone; or one or several ``.swf``
        files (plain or .gz).
    profiles : path or list of paths, optional
        The Parquet files of profiles, where they don't lie in ``jobprofile/`` beside the jobs.
    window : pair of dates, optional
        Only jobs that were submitted, waiting or running between two instants; second 0 becomes the first of them.
        Row groups of jobs and profiles that lie outside aren't read.
    with_traces : bool
        Whether to read profiles.
    system : str
        System whose nodes turn watts into utilisation.
    missing_requests, strict
        As in `Workload.build`.
    progress : callable, optional
        Called with the row groups of profiles read, and of all.

    Returns
    -------
    Workload
        From Parquet: traces ``cpu``, ``gpu`` (fractions of all of a node's) and ``node_power`` (W per node), each with
        the time of its first sample; a missing sample is taken as the one before. Jobs are numbered by allocation_id;
        of rows that stand twice the last counts.

    Raises
    ------
    WorkloadError
        If a file or a column is missing or wrong, or no job is left.
    """
    span = span_of(window)
    machine = System.load(system)
    logs = _logs(path)
    if logs:
        return read_logs(logs, span, machine.nodes, missing_requests, strict)
    files = ParquetSet.open(_inside(path, "joblive"))
    present = files.require(NEEDED, "Frontier's job table")
    table, rows = files.rows([name for name in WANTED if name in present], span, ("time_submission", "time_end"))
    where = files.label
    ids = whole(table, "allocation_id", where)
    notes = Notes(ids, where)
    notes.drop("repeated_row", pd.Series(ids).duplicated(keep="last").to_numpy() & (ids != UNKNOWN))
    submit, start, end = (
        notes.dates(unix_seconds(table[name], name, where)) for name in ("time_submission", "time_start", "time_end")
    )
    columns: dict[str, Any] = {
        "id": ids,
        "submit": submit,
        "start": start,
        "runtime": np.where((start != UNKNOWN) & (end != UNKNOWN), end - start, 0),
        "requested_time": whole(table, "time_limit", where),
        "nodes": whole(table, "node_count", where),
        "account": names(table, "account"),
        "status": states(table, "state_current"),
    }
    if "xnames" in table.column_names:
        columns["node_ids"] = settle(_places(table["xnames"], where), columns["nodes"], machine.total_nodes, notes)
    workload = jobs_of(
        columns, rows, notes, span, name="Frontier", capacity=machine.nodes, missing_requests=missing_requests
    )
    there = profiles if profiles is not None else _beside(path)
    if with_traces and there is not None:
        workload = _attach(workload, ParquetSet.open(there), machine, progress)
    return finish(workload, notes, strict)


def _logs(path: Paths) -> list[Path]:
    """Return the SWF files that a path means, none if it means Parquet."""
    given = [path] if isinstance(path, str | PathLike) else list(path)
    found: list[Path] = []
    for each in map(Path, given):
        if each.is_dir() and not any(each.rglob("*.parquet")):
            found += sorted([*each.glob("*.swf"), *each.glob("*.swf.gz")])
        elif each.name.endswith((".swf", ".swf.gz")):
            found.append(each)
    if found and len(found) < len(given):
        raise WorkloadError("Give either SWF logs of Frontier or Parquet files, not both.")
    return found


def _inside(path: Paths, name: str) -> Paths:
    """Return a folder's sub-folder of a name if it has one."""
    if isinstance(path, str | PathLike) and (Path(path) / name).is_dir():
        return Path(path) / name
    return path


def _beside(path: Paths) -> Path | None:
    """Return the folder of profiles in the same folder as that of jobs, if there is one."""
    first = Path(path if isinstance(path, str | PathLike) else next(iter(path)))
    for folder in (first, *first.parents[:2]):
        if (folder / "jobprofile").is_dir():
            return folder / "jobprofile"
    return None


def _places(column: pa.ChunkedArray, where: str) -> Rows:
    """Return the places in the racks of lists of node names, -1 for what is none."""
    chunk = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if not (pa.types.is_list(chunk.type) or pa.types.is_large_list(chunk.type)):
        raise WorkloadError(f"{where}: column 'xnames' must hold lists of node names, but is {chunk.type}.")
    lengths = pc.fill_null(pc.list_value_length(chunk), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    spelled = chunk.flatten().dictionary_encode()
    return _nonempty(Rows(place_of(spelled.dictionary)[spelled.indices.fill_null(-1).to_numpy()], lengths))


def place_of(spelled: pa.Array) -> npt.NDArray[np.int64]:
    """Return the place in the racks of each node name, and -1 after the last of them for missing names.

    Racks count column after column, twelve to a row; row 6 begins at column 9. A rack has 8 chassis of 8 slots with two
    boards each. -1 for what is no name of a node, -2 for an empty one.
    """
    parts = pc.extract_regex(spelled.cast(pa.string()), XNAME)
    known = np.asarray(parts.is_valid())
    row, column, chassis, slot, board = (
        np.asarray(pc.struct_field(parts, name).fill_null("0").cast(pa.int64()))
        for name in ("row", "column", "chassis", "slot", "board")
    )
    rack = row * 12 + np.where(row == 6, column - 9, column)
    place = np.where(known, rack * 128 + chassis * 16 + slot * 2 + board, -1)
    place[np.asarray(pc.equal(spelled.cast(pa.string()), "").fill_null(False))] = -2
    return np.append(place, -1)


def _nonempty(given: Rows) -> Rows:
    """Leave out empty names, which stand for no list at all."""
    empty = given.values == -2
    if not empty.any():
        return given
    job = np.repeat(np.arange(len(given.lengths)), given.lengths)
    return Rows(given.values[~empty], given.lengths - np.bincount(job[empty], minlength=len(given.lengths)))


def _attach(workload: Workload, files: ParquetSet, machine: System, progress: Progress | None) -> Workload:
    """Give jobs their profiles."""
    files.require(("timestamp", "allocation_id", *POWER), "Frontier's job profiles")
    notes = Notes(workload.id, files.label)
    profiles = Profiles.read(files, workload, "timestamp", "allocation_id", POWER, QUANTUM, notes, progress)
    node = machine.partitions[0].node
    nodes = np.repeat(workload.nodes.astype(np.float32), profiles.lengths)
    cpu, wrong = fraction(cpu_busy(profiles.values[0] / nodes, node))
    gpu, wrong_gpu = fraction(gpu_busy(profiles.values[1] / nodes, node))
    power, negative = positive(profiles.values[2])
    notes.tally("clipped", profiles.per_job(wrong) + profiles.per_job(wrong_gpu), "samples")
    notes.tally("negative_counter", profiles.per_job(negative), "samples")
    traces = {
        "cpu": profiles.trace(cpu, "1"),
        "gpu": profiles.trace(gpu, "1"),
        "node_power": profiles.trace(power, "W"),
    }
    return notes.onto(replace(workload, traces=traces))
