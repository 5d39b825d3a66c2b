"""PM100: half a year of jobs on Marconi100 (CINECA, 2020) with the power of their nodes, CPUs and memory every 20 s.

Data: Zenodo 10127767, ``job_table.parquet``; F. Antici and others, "PM100: A job power consumption dataset of a
large-scale production HPC system", SC-W 2023. Arrays hold watts summed over a job's nodes, one sample in 20 s from its
start; limits are minutes. GPUs weren't metered: their power is what nodes, CPUs, memory, NICs and storage leave.
Verified on the schema and on hand-made rows, not on the full file.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twin_gym.system import System
from twin_gym.workload import UNKNOWN, Workload

from ._columns import floats, names, states, whole
from ._dates import unix_seconds
from ._foreign import finish, jobs_of
from ._metered import Arrays, attach
from ._notes import Notes
from ._parquet import ParquetSet, Paths
from ._text import Progress
from ._window import Window, span_of

ARRAYS = Arrays()
NEEDED = ("job_id", "submit_time", "start_time", "end_time", "num_nodes_alloc", "time_limit")
WANTED = (*NEEDED, "run_time", "user_id", "group_id", "partition", "priority", "job_state", "shared")
QUANTUM = 20
"""Distance of samples, s."""
MINUTE = 60


def load(
    path: Paths,
    *,
    window: Window = None,
    keep_shared: bool = False,
    with_traces: bool = True,
    system: str = "marconi100",
    missing_requests: str = "fallback",
    strict: bool = False,
    progress: Progress | None = None,
) -> Workload:
    """Read PM100's job table.

    Parameters
    ----------
    path : path or list of paths
        ``job_table.parquet``, or a folder that holds it.
    window : pair of dates, optional
        Only jobs that were submitted, waiting or running between two instants; only their arrays are read. Second 0
        becomes the first of them.
    keep_shared : bool
        Also take jobs that may have shared their nodes; their power is not theirs alone.
    with_traces : bool
        Whether to read the arrays, and the numbers of the nodes.
    system : str
        System whose nodes turn watts into utilisation.
    missing_requests, strict
        As in `Workload.build`.
    progress : callable, optional
        Called with the jobs whose arrays were read, and of all.

    Returns
    -------
    Workload
        Traces ``cpu`` and ``gpu`` (fractions of all of a node's, mean over the nodes), ``node_power`` (W per node).
        Users and accounts are user_id and group_id. `report` counts what was left out, cut or forgotten.

    Raises
    ------
    WorkloadError
        If a file or a column is missing or wrong, or no job is left.
    """
    span = span_of(window)
    machine = System.load(system)
    files = ParquetSet.open(path)
    needed = (*NEEDED, *(() if keep_shared else ("shared",)), *(ARRAYS if with_traces else ()))
    present = files.require(needed, "PM100's job table")
    table, rows = files.rows([name for name in WANTED if name in present], span, ("submit_time", "end_time"))
    where = files.label
    ids = whole(table, "job_id", where)
    notes = Notes(ids, where)
    submit, start, end = (
        notes.dates(unix_seconds(table[name], name, where)) for name in ("submit_time", "start_time", "end_time")
    )
    if not keep_shared:
        notes.drop("shared_nodes", pc.equal(table["shared"].cast(pa.string()), "1").fill_null(False).to_numpy())
    ran = (start != UNKNOWN) & (end != UNKNOWN)
    runtime = np.where(ran, end - start, 0)
    if "run_time" in table.column_names:
        recorded = whole(table, "run_time", where)
        notes.note("runtime_differs", ran & (recorded != runtime), recorded=recorded, runtime=runtime)
    limit = whole(table, "time_limit", where)
    columns: dict[str, Any] = {
        "id": ids,
        "submit": submit,
        "start": start,
        "runtime": runtime,
        "requested_time": np.where(limit == UNKNOWN, UNKNOWN, limit * MINUTE),
        "nodes": whole(table, "num_nodes_alloc", where),
        "user": names(table, "user_id"),
        "account": names(table, "group_id"),
        "partition": names(table, "partition"),
        "priority": floats(table, "priority", where),
        "status": states(table, "job_state"),
    }
    workload = jobs_of(
        columns, rows, notes, span, name="PM100", capacity=machine.nodes, missing_requests=missing_requests
    )
    if with_traces:
        workload = attach(workload, files, ARRAYS, machine, QUANTUM, progress)
    return finish(workload, notes, strict)
