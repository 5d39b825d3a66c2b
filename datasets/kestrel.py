"""Kestrel (NREL): jobs with the power of their nodes, as the public ExaDigiT/RAPS reader asks for them.

One Parquet table: job_id, account, nodes_required, job_state, submit_time, start_time, end_time, wall_time (requested,
s) and power_per_node, an array of W of one node (the mean over the job's nodes). CPUs aren't metered apart: they draw
what memory, NICs and storage leave. Times without a zone are Mountain Time, as in the laboratory's published job
records. Verified on the schema and on hand-made rows; the table itself is not public.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from twin_gym.system import System
from twin_gym.workload import UNKNOWN, Trace, Workload

from ._columns import names, states, whole
from ._dates import unix_seconds
from ._foreign import finish, jobs_of
from ._lists import filled, joined, numbers, offsets
from ._notes import Notes
from ._parquet import ParquetSet, Paths
from ._text import Progress
from ._watts import cpu_busy, fraction, positive
from ._window import Window, span_of

NEEDED = ("job_id", "nodes_required", "submit_time", "start_time", "end_time")
WANTED = (*NEEDED, "wall_time", "account", "job_state")
POWER = "power_per_node"


def load(
    path: Paths,
    *,
    window: Window = None,
    time_zone: str = "America/Denver",
    quantum: int = 20,
    with_traces: bool = True,
    system: str = "kestrel",
    missing_requests: str = "fallback",
    strict: bool = False,
    progress: Progress | None = None,
) -> Workload:
    """Read Kestrel's job table.

    Parameters
    ----------
    path : path or list of paths
        Parquet files, a folder, or a pattern.
    window : pair of dates, optional
        Only jobs that were submitted, waiting or running between two instants; second 0 becomes the first of them.
    time_zone : str
        Zone of dates that don't say theirs.
    quantum : int
        Distance of samples, s, which the table doesn't tell.
    with_traces : bool
        Whether to read the arrays.
    system : str
        System whose CPU nodes turn watts into utilisation.
    missing_requests, strict
        As in `Workload.build`.
    progress : callable, optional
        Called with the jobs whose arrays were read, and of all.

    Returns
    -------
    Workload
        Traces ``cpu`` (fraction of all of a node's) and ``node_power`` (W per node).

    Raises
    ------
    WorkloadError
        If a file or a column is missing or wrong, or no job is left.
    """
    span = span_of(window)
    machine = System.load(system)
    files = ParquetSet.open(path)
    present = files.require((*NEEDED, *((POWER,) if with_traces else ())), "Kestrel's job table")
    table, rows = files.rows([name for name in WANTED if name in present], span, ("submit_time", "end_time"))
    where = files.label
    ids = whole(table, "job_id", where)
    notes = Notes(ids, where)
    submit, start, end = (
        notes.dates(unix_seconds(table[name], name, where, time_zone))
        for name in ("submit_time", "start_time", "end_time")
    )
    columns: dict[str, Any] = {
        "id": ids,
        "submit": submit,
        "start": start,
        "runtime": np.where((start != UNKNOWN) & (end != UNKNOWN), end - start, 0),
        "requested_time": whole(table, "wall_time", where) if "wall_time" in present else None,
        "nodes": whole(table, "nodes_required", where),
        "account": names(table, "account"),
        "status": states(table, "job_state"),
    }
    workload = jobs_of(
        columns, rows, notes, span, name="Kestrel", capacity=machine.nodes, missing_requests=missing_requests
    )
    if with_traces:
        workload = _attach(workload, files, machine, quantum, progress)
    return finish(workload, notes, strict)


def _attach(
    workload: Workload, files: ParquetSet, machine: System, quantum: int, progress: Progress | None
) -> Workload:
    """Give jobs their traces."""
    rows = np.asarray(workload.extra["row"])
    order = np.argsort(rows, kind="stable")
    parts = []
    for batch in files.batches((POWER,), rows[order]):
        parts.append(numbers(batch.columns[POWER], POWER, files.label))
        if progress is not None:
            progress(batch.at.stop, len(rows))
    read = joined(parts).take(np.argsort(order, kind="stable"))
    notes = Notes(workload.id, files.label)
    node = machine.partitions[0].node
    watts, gaps = filled(read)
    cpu, outside = fraction(cpu_busy(watts - (node.memory_w + node.nics * node.nic_idle_w + node.nvme_w), node))
    job = np.repeat(np.arange(len(rows)), read.lengths)
    watts, wrong = positive(watts)
    notes.tally("negative_counter", np.bincount(job[wrong], minlength=len(rows)), "samples")
    notes.note("no_samples", read.lengths == 0)
    notes.tally("clipped", np.bincount(job[outside], minlength=len(rows)), "samples")
    notes.tally("gap", gaps, "samples")
    zeros, every = np.zeros(len(rows), dtype=np.int64), np.full(len(rows), quantum)
    bounds = offsets(read.lengths)
    traces = {"cpu": Trace(cpu, bounds, zeros, every, "1"), "node_power": Trace(watts, bounds, zeros, every, "W")}
    return notes.onto(replace(workload, traces=traces))
