"""Adastra: fifteen days of jobs on the MI250 partition of Adastra (GENCI-CINES) with energies or power of each.

Data: Zenodo 14007065 (C. Cirou), ``AdastaJobsMI250_15days.parquet``, whose columns are PM100's. Two things are told
differently by those who read it, so they are decided by the values, said in the header, and can be told:

- What a number of an array is. ``"W"``: watts summed over the nodes, evenly spaced over the job (1 s apart if there is
  one for each second). ``"J"``: joules, so that the sum is the job's energy. Decided by which of them gives most jobs a
  power that a node can draw.
- What ``time_limit`` is: seconds, or, if values are dates, the instant at which the job would have been killed.

GPUs weren't metered: their power is what nodes, CPUs, memory and NICs leave. A GPU is one of eight dies of a node.
Verified on the schema and on hand-made rows, not on the full file.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from twin_gym.errors import OptionError, WorkloadError, suggest
from twin_gym.system import Node, System
from twin_gym.workload import UNKNOWN, Trace, Workload

from ._columns import floats, names, states, whole
from ._dates import unix_seconds
from ._foreign import finish, jobs_of
from ._lists import Rows, joined, numbers, offsets
from ._metered import Arrays, samples
from ._notes import Notes
from ._parquet import ParquetSet, Paths
from ._places import settle
from ._text import Progress
from ._watts import cpu_busy, fraction, gpu_busy, gpu_watts, positive
from ._window import Window, span_of

ARRAYS = Arrays()
NEEDED = ("job_id", "submit_time", "start_time", "end_time", "num_nodes_alloc", "time_limit")
WANTED = (*NEEDED, "run_time", "user_id", "partition", "priority", "job_state", "qos")
CALENDAR = 1_000_000_000
"""Limits above it are dates (2001 on)."""


def load(
    path: Paths,
    *,
    window: Window = None,
    arrays: str = "auto",
    with_traces: bool = True,
    system: str = "adastra",
    missing_requests: str = "fallback",
    strict: bool = False,
    progress: Progress | None = None,
) -> Workload:
    """Read the table of jobs.

    Parameters
    ----------
    path : path or list of paths
        ``AdastaJobsMI250_15days.parquet``, or a folder that holds it.
    window : pair of dates, optional
        Only jobs that were submitted, waiting or running between two instants; second 0 becomes the first of them.
    arrays : {"auto", "W", "J"}
        What the arrays hold, see above.
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
        Traces ``cpu`` and ``gpu`` (fractions of all of a node's, mean over the nodes) and ``node_power`` (W per node):
        one number for each job if arrays hold joules, else its samples. ``header`` tells what arrays and limits were
        taken for.

    Raises
    ------
    WorkloadError
        If a file or a column is missing or wrong, no job is left, or neither meaning of the arrays makes sense.
    """
    if arrays not in ("auto", "W", "J"):
        raise OptionError(f"arrays={arrays!r} is unknown.{suggest(arrays, ('auto', 'W', 'J'))}")
    span = span_of(window)
    machine = System.load(system)
    files = ParquetSet.open(path)
    present = files.require((*NEEDED, *(ARRAYS if with_traces else ())), "Adastra's job table")
    table, rows = files.rows([name for name in WANTED if name in present], span, ("submit_time", "end_time"))
    where = files.label
    ids = whole(table, "job_id", where)
    notes = Notes(ids, where)
    submit, start, end = (
        notes.dates(unix_seconds(table[name], name, where)) for name in ("submit_time", "start_time", "end_time")
    )
    ran = (start != UNKNOWN) & (end != UNKNOWN)
    runtime = np.where(ran, end - start, 0)
    if "run_time" in table.column_names:
        recorded = whole(table, "run_time", where)
        notes.note("runtime_differs", ran & (recorded != runtime), recorded=recorded, runtime=runtime)
    limit = whole(table, "time_limit", where)
    deadlines = bool(np.median(limit[limit > 0]) >= CALENDAR) if np.any(limit > 0) else False
    if deadlines:
        limit = np.where((limit >= CALENDAR) & (start != UNKNOWN), limit - start, UNKNOWN)
    columns: dict[str, Any] = {
        "id": ids,
        "submit": submit,
        "start": start,
        "runtime": runtime,
        "requested_time": limit,
        "nodes": whole(table, "num_nodes_alloc", where),
        "user": names(table, "user_id"),
        "partition": names(table, "partition"),
        "priority": floats(table, "priority", where),
        "status": states(table, "job_state"),
    }
    workload = jobs_of(
        columns,
        rows,
        notes,
        span,
        name="Adastra",
        capacity=machine.nodes,
        missing_requests=missing_requests,
        header={"time_limit": "deadline, Unix s" if deadlines else "s"},
    )
    if with_traces:
        workload = _attach(workload, files, machine, arrays, progress)
    return finish(workload, notes, strict)


def _attach(
    workload: Workload, files: ParquetSet, machine: System, meaning: str, progress: Progress | None
) -> Workload:
    """Give jobs their traces and node numbers."""
    rows = np.asarray(workload.extra["row"])
    order = np.argsort(rows, kind="stable")
    parts: tuple[list[Rows], ...] = ([], [], [], [])
    for batch in files.batches(ARRAYS, rows[order]):
        for part, name in zip(parts, (*ARRAYS.watts, ARRAYS.nodes), strict=True):
            part.append(numbers(batch.columns[name], name, files.label))
        if progress is not None:
            progress(batch.at.stop, len(rows))
    back = np.argsort(order, kind="stable")
    whole_, cpu, memory, listed = (joined(part).take(back) for part in parts)
    node = machine.partitions[0].node
    notes = Notes(workload.id, files.label)
    read = samples(whole_, cpu, memory, workload.nodes)
    meaning, quantum = _meaning(meaning, read.whole, read.lengths, workload.runtime, node, files.label)
    lengths, power, cpu_w, memory_w = read.lengths, read.whole, read.cpu, read.memory
    if meaning == "J":
        power, cpu_w, memory_w = (_mean_watts(part, lengths, workload.runtime) for part in (power, cpu_w, memory_w))
        lengths = (lengths > 0).astype(np.int64)
    busy, wrong = fraction(cpu_busy(cpu_w, node))
    busy_gpu, wrong_gpu = fraction(gpu_busy(gpu_watts(power, cpu_w, memory_w, node), node))
    job = np.repeat(np.arange(len(lengths)), lengths)
    outside = np.bincount(job[wrong], minlength=len(lengths)) + np.bincount(job[wrong_gpu], minlength=len(lengths))
    notes.note("unequal_arrays", read.unequal)
    notes.note("no_samples", lengths == 0)
    notes.tally("clipped", outside, "samples")
    power, wrong = positive(power)
    notes.tally("negative_counter", np.bincount(job[wrong], minlength=len(lengths)), "samples")
    notes.tally("gap", read.gaps, "samples")
    bounds, zeros = offsets(lengths), np.zeros(len(lengths), dtype=np.int64)
    traces = {
        "cpu": Trace(busy, bounds, zeros, quantum, "1"),
        "gpu": Trace(busy_gpu, bounds, zeros, quantum, "1"),
        "node_power": Trace(power, bounds, zeros, quantum, "W"),
    }
    node_ids = settle(listed, workload.nodes, machine.total_nodes, notes)
    header = {**workload.header, "arrays": meaning}
    return notes.onto(replace(workload, traces=traces, node_ids=node_ids, header=header))


def _mean_watts(
    joules: npt.NDArray[np.float32], lengths: npt.NDArray[np.int64], runtime: npt.NDArray[np.int64]
) -> npt.NDArray[np.float32]:
    """Return the mean watts of each job that has any numbers."""
    sums = np.add.reduceat(joules, offsets(lengths)[:-1][lengths > 0], dtype=np.float64) if joules.size else joules
    return np.asarray(sums / runtime[lengths > 0], dtype=np.float32)


def _meaning(
    told: str,
    values: npt.NDArray[np.float32],
    lengths: npt.NDArray[np.int64],
    runtime: npt.NDArray[np.int64],
    node: Node,
    where: str,
) -> tuple[str, npt.NDArray[np.int64]]:
    """Decide whether numbers are watts or joules; return that, and the distance of samples (0: one for the job)."""
    some = lengths > 0
    if told == "auto" and values.size:
        first = offsets(lengths)[:-1][some]
        sums = np.add.reduceat(values, first, dtype=np.float64)
        low, high = 0.5 * node.idle_w, 1.2 * node.full_w
        shares = {
            "W": float(np.mean((sums / lengths[some] > low) & (sums / lengths[some] < high))),
            "J": float(np.mean((sums / runtime[some] > low) & (sums / runtime[some] < high))),
        }
        told = max(shares, key=lambda name: shares[name])  # with a sample each second both are alike: W keeps them
        if shares[told] < 0.5:
            raise WorkloadError(
                f"{where}: as neither watts nor joules does {ARRAYS.whole} give nodes a power between {low:.0f} and "
                f"{high:.0f} W; say which it is with arrays=W or arrays=J."
            )
    told = "W" if told == "auto" else told
    if told == "J":
        return told, np.zeros(len(lengths), dtype=np.int64)
    return told, np.where(some, np.maximum(np.rint(runtime / np.maximum(lengths, 1)), 1), 0).astype(np.int64)
