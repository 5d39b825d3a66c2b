r"""Slurm's accounting: what ``sacct --parsable2`` (any field set that suffices) or ``sacct --json`` prints.

The fields: https://slurm.schedmd.com/sacct.html. Verified on outputs of Slurm 22.05. Useful to ask for::

    sacct -a -X --parsable2 --noconvert -S 2026-01-01 -E 2026-02-01 --format=JobIDRaw,JobID,User,Account,Partition,\
    State,Submit,Eligible,Start,End,Timelimit,NNodes,NCPUS,AllocTRES,NodeList,Priority,ConsumedEnergyRaw

``sacct -S`` leaves out jobs that never became eligible; ``-D`` tells the earlier runs of requeued jobs, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twin_gym.errors import OptionError
from twin_gym.validation import EXAMPLES
from twin_gym.workload import UNITS, UNKNOWN, Trace, Workload

from ._columns import floats, names, states
from ._dates import zone_of
from ._foreign import finish, jobs_of
from ._hostlists import numbered, placed
from ._notes import Notes
from ._sacct import Rows, read_rows
from ._sacct_fields import (
    dates_of,
    durations,
    elapsed,
    further,
    job_numbers,
    node_lists,
    recorded,
    require,
    sizes_of,
    time_limit,
    unfinished,
)
from ._text import Progress, Source, label
from ._watts import fraction
from ._window import Window, span_of

Ints = npt.NDArray[np.int64]

WANTED = (
    "jobid", "jobidraw", "user", "uid", "account", "partition", "state", "submit", "eligible", "start", "end",
    "elapsedraw", "elapsed", "timelimitraw", "timelimit", "nnodes", "allocnodes", "reqnodes", "ncpus", "alloccpus",
    "reqcpus", "alloctres", "reqtres", "nodelist", "priority", "consumedenergyraw", "totalcpu",
)  # fmt: skip
JOULES = 1e15
"""More than any job used: Slurm's marks of unknown energies are larger."""


def load(
    path: Source,
    *,
    window: Window = None,
    time_zone: str = "UTC",
    unit: str = "node",
    sizes: str = "allocated",
    arrivals: str = "submit",
    fields: Sequence[str] | None = None,
    cpus_per_node: int | None = None,
    with_traces: bool = True,
    capacity: int | None = None,
    missing_requests: str = "fallback",
    strict: bool = False,
    progress: Progress | None = None,
) -> Workload:
    """Read an accounting log of Slurm.

    Steps are left out (and counted), array tasks and components of heterogeneous jobs are jobs of their own, jobs that
    still wait or run are left out, and so are (as everywhere) those that never ran. Runtimes are end - start, which
    includes suspensions; without them, Elapsed.

    Parameters
    ----------
    path : path or file object
        The output of ``sacct --parsable2``, ``--parsable`` (with any ``--delimiter``) or ``--json``, plain or ``.gz``.
    window : pair of dates, optional
        Only jobs that were submitted, waiting or running between two instants; second 0 becomes the first of them.
    time_zone : str
        Where sacct ran: it prints local times (``SLURM_TIME_FORMAT=%s`` makes it print Unix seconds instead).
    unit : {"node", "processor"}
        What sizes count. Where jobs share nodes, only processors add up to the machine.
    sizes : {"allocated", "requested"}
        Sizes are what a job was given (requested where nothing is recorded) or what it asked for. ReqNodes is the least
        that the job's options imply, often 1: mind that before asking for it.
    arrivals : {"submit", "eligible"}
        When a job arrives: as it was submitted, or when its dependencies, begin time and holds let it.
    fields : sequence of str, optional
        Names of the fields of a file without a line of titles (``sacct -n``).
    cpus_per_node : int, optional
        CPUs of a node as Slurm counts them, so that the trace ``cpu`` is a fraction of whole nodes; default: a fraction
        of the CPUs that the job was given, which is the same where jobs have nodes for themselves.
    with_traces : bool
        Whether to take ConsumedEnergyRaw as the trace ``node_power`` (W per node, one value per job) and TotalCPU as
        ``cpu``; where they are 0, nothing was measured.
    capacity : int, optional
        Size of the machine. Default: the number of different nodes that the log names, with ``unit="node"``.
    missing_requests, strict
        As in `Workload.build`.
    progress : callable, optional
        Called with the bytes read and of all.

    Returns
    -------
    Workload
        `node_ids` are places in the natural order of all names in the log; ``header["nodes"]`` holds these names,
        ``header["time_zone"]`` the zone. `extra`: ``cpus``, ``gpus`` (allocated), ``array_job``, ``array_task``.

    Raises
    ------
    WorkloadError
        If the file is no such output, lacks a field without which there are no jobs, or holds none.
    OptionError
        If an option has an unknown value.
    """
    for option, value, choices in (
        ("unit", unit, UNITS),
        ("sizes", sizes, ("allocated", "requested")),
        ("arrivals", arrivals, ("submit", "eligible")),
    ):
        if value not in choices:
            raise OptionError(f"{option}={value!r} must be {' or '.join(map(repr, choices))}.")
    span = span_of(window)
    where = label(path)
    zone_of(time_zone)

    def keep(table: pa.Table) -> pa.Array:
        if span is None or arrivals not in table.column_names:
            return pa.array(np.ones(len(table), dtype=bool))
        submit, end = (dates_of(table, name, where, time_zone).seconds for name in (arrivals, "end"))
        return pa.array(span.touches(submit, end))

    found = read_rows(path, fields, WANTED, keep, progress)
    table = found.table
    require(table, where, unit, arrivals)
    ids = job_numbers(table, where)
    notes = Notes(ids, where)
    _tell(notes, found)
    submit, start, end = (notes.dates(dates_of(table, name, where, time_zone)) for name in (arrivals, "start", "end"))
    notes.drop("unfinished", unfinished(table, start, end))
    told = elapsed(table, where)
    ran = (start != UNKNOWN) & (end != UNKNOWN)
    runtime = np.where(ran, end - start, told)
    notes.note("runtime_differs", ran & (told != UNKNOWN) & (told != runtime), recorded=told, taken=runtime)
    nodes, cpus = (sizes_of(table, where, kind, sizes) for kind in UNITS)
    columns: dict[str, Any] = {
        "id": ids,
        "submit": submit,
        "start": start,
        "runtime": runtime,
        "requested_time": time_limit(table, where),
        "nodes": nodes if unit == "node" else cpus,
        "user": names(table, "user") or names(table, "uid"),
        "account": names(table, "account"),
        "partition": names(table, "partition"),
        "priority": floats(table, "priority", where),
        "status": states(table, "state"),
        "extra": further(table, cpus),
    }
    listed = numbered(node_lists(table), recorded(found.lists)) if unit == "node" else None
    if listed is not None and listed.names:
        capacity = capacity or len(listed.names)
    workload = jobs_of(
        columns,
        np.arange(len(table)),
        notes,
        span,
        name="slurm",
        capacity=capacity,
        missing_requests=missing_requests,
        header={"time_zone": time_zone},
        unit=unit,
    )
    at = workload.extra["row"]
    more = Notes(workload.id, where)
    if listed is not None:
        workload = placed(workload, listed, at, where)
    if with_traces:
        traces = _traces(table.take(at), where, workload.runtime, nodes[at], cpus[at], cpus_per_node, more)
        workload = replace(workload, traces=traces)
    return finish(more.onto(workload), notes, strict)


def _tell(notes: Notes, found: Rows) -> None:
    """Count the rows that aren't jobs or weren't as they should be."""
    for defect, lines in (("malformed_row", found.malformed), ("split_row", found.repaired)):
        notes.count(defect, len(lines), *(line if len(line) < 60 else f"{line[:57]}..." for line in lines[:EXAMPLES]))
    notes.count("step", found.steps)


def _traces(
    table: pa.Table, where: str, runtime: Ints, nodes: Ints, cpus: Ints, cpus_per_node: int | None, notes: Notes
) -> dict[str, Trace]:
    """Return power of a node, W, and use of its CPUs, means over the jobs, as far as any job has them."""
    traces = {}
    joules = floats(table, "consumedenergyraw", where)
    if joules is not None:
        measured = (joules > 0) & (joules < JOULES) & (nodes > 0)
        if measured.any():
            watts = np.full(len(joules), np.nan)
            watts[measured] = joules[measured] / (runtime * nodes)[measured]
            traces["node_power"] = Trace.scalars(watts, "W")
    if "totalcpu" in table.column_names:
        used = durations(table["totalcpu"])
        offered = (nodes * cpus_per_node if cpus_per_node else cpus) * runtime
        measured = (used > 0) & (offered > 0)
        if measured.any():
            share = np.full(len(used), np.nan)
            share[measured] = used[measured] / offered[measured]
            values, outside = fraction(share)
            notes.note("clipped", outside)
            traces["cpu"] = Trace.scalars(values, "1")
    return traces
