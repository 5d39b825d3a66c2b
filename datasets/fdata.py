"""F-Data: three years of jobs on Fugaku (RIKEN, 2021 to 2024), with mean power and performance counters of each.

Data: Zenodo 11467483, one Parquet file for each month (``YY_MM.parquet``); F. Antici and others, "F-DATA: a Fugaku
workload dataset for job-centric predictive modelling in HPC systems", 2024. Power is the mean of one node, W; how busy
the CPUs were is perf1 / (perf1 + perf6), cycles awake by all cycles. Node numbers aren't published.
Verified on the schema and on hand-made rows, not on the full files.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from twin_gym.system import System
from twin_gym.workload import UNKNOWN, Trace, Workload

from ._columns import floats, measured, names, numbered, states, whole
from ._dates import unix_seconds
from ._foreign import finish, jobs_of
from ._notes import Notes
from ._parquet import ParquetSet, Paths
from ._text import Progress
from ._window import Window, span_of

NEEDED = ("jid", "adt", "sdt", "edt", "nnumr", "elpl")
WANTED = (*NEEDED, "usr", "pri", "exit state", "perf1", "perf6", "avgpcon", "nnuma", "pclass")
CLASSES = {"MEMORY-BOUND": 0, "COMPUTE-BOUND": 1}


def load(
    path: Paths,
    *,
    window: Window = None,
    time_zone: str = "Asia/Tokyo",
    with_traces: bool = True,
    system: str = "fugaku",
    missing_requests: str = "fallback",
    strict: bool = False,
    progress: Progress | None = None,
) -> Workload:
    """Read F-Data's monthly files.

    Parameters
    ----------
    path : path or list of paths
        One or several of them, a folder, or a pattern such as ``"fdata/23_*.parquet"``.
    window : pair of dates, optional
        Only jobs that were submitted, waiting or running between two instants; second 0 becomes the first of them.
        Row groups that lie outside aren't read.
    time_zone : str
        Zone of the dates where they don't say theirs: the machine's own, which is an assumption.
    with_traces : bool
        Whether to read counters and power.
    system : str
        System whose size is the machine's.
    missing_requests, strict
        As in `Workload.build`.
    progress : callable, optional
        Called with the files read, and of all.

    Returns
    -------
    Workload
        Traces ``cpu`` (fraction) and ``node_power`` (W per node), one number for each job. Jobs are numbered by jid, or
        from 1 where that is no number. ``extra["performance_class"]`` is 1 for compute-bound jobs, 0 for memory-bound,
        -1 unknown.

    Raises
    ------
    WorkloadError
        If a file or a column is missing or wrong, or no job is left.
    """
    span = span_of(window)
    machine = System.load(system)
    files = ParquetSet.open(path)
    present = files.require((*NEEDED, *(("perf1", "perf6", "avgpcon") if with_traces else ())), "F-Data")
    table, rows = files.rows([name for name in WANTED if name in present], span, ("adt", "edt"), progress)
    where = files.label
    ids, spelled = numbered(table, "jid")
    notes = Notes(ids, where)
    submit, start, end = (
        notes.dates(unix_seconds(table[name], name, where, time_zone)) for name in ("adt", "sdt", "edt")
    )
    ran = (start != UNKNOWN) & (end != UNKNOWN)
    columns: dict[str, Any] = {
        "id": ids,
        "submit": submit,
        "start": start,
        "runtime": np.where(ran, end - start, 0),
        "requested_time": whole(table, "elpl", where),
        "nodes": whole(table, "nnumr", where),
        "used_nodes": whole(table, "nnuma", where) if "nnuma" in table.column_names else None,
        "user": names(table, "usr"),
        "priority": floats(table, "pri", where),
        "status": states(table, "exit state"),
    }
    columns["extra"] = {} if spelled is None else {"jid": spelled}
    if "pclass" in table.column_names:
        columns["extra"]["performance_class"] = states(table, "pclass", CLASSES)
    if with_traces:
        columns["traces"] = _traces(table, where, notes)
    workload = jobs_of(
        columns, rows, notes, span, name="F-Data", capacity=machine.nodes, missing_requests=missing_requests
    )
    return finish(workload, notes, strict)


def _traces(table: pa.Table, where: str, notes: Notes) -> dict[str, Trace]:
    """Return how busy the CPUs were and what a node drew, one number for each row."""
    awake, asleep, watts = (measured(table, name, where) for name in ("perf1", "perf6", "avgpcon"))
    cycles = awake + asleep
    counted = (awake >= 0) & (asleep >= 0) & (cycles > 0)
    cpu = np.divide(awake, cycles, out=np.full(len(cycles), np.nan), where=counted)
    notes.note("negative_counter", (awake < 0) | (asleep < 0) | (watts < 0), perf1=awake, perf6=asleep, avgpcon=watts)
    watts = np.where(watts >= 0, watts, np.nan)
    notes.note("no_samples", np.isnan(cpu) & np.isnan(watts))
    return {"cpu": Trace.scalars(cpu, "1"), "node_power": Trace.scalars(watts, "W")}
