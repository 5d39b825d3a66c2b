"""MIT SuperCloud: Slurm's log of a year on shared nodes, and series of CPU and GPU use for each job.

Data: https://dcc.mit.edu (202201): ``slurm-log.csv``, ``cpu/**/<job>-timeseries.csv``, ``gpu/**/<job>-<node>.csv``;
S. Samsi and others, "The MIT Supercloud Dataset", HPEC 2021. Times are Unix seconds; limits are minutes; states are
Slurm's numbers. CPUUtilization is percent of one core, utilization_gpu_pct percent of one GPU.

Jobs share nodes there: a job's use is told as a share of all CPUs or GPUs of the nodes it ran on. The system has two
partitions, of CPU and of GPU nodes; jobs with GPUs ran on the latter. Verified on the schema and on hand-made rows, not
on the full files.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from twin_gym.errors import OptionError, WorkloadError, suggest
from twin_gym.system import System
from twin_gym.workload import UNKNOWN, Status, Workload

from ._columns import floats, names, whole
from ._csv import NAME, NUMBER, TEXT, blocks
from ._foreign import finish, jobs_of
from ._lists import Rows
from ._notes import Notes
from ._places import settle
from ._series import cpu_series, gpu_series
from ._text import Progress
from ._window import Window, span_of

Ints = npt.NDArray[np.int64]

WHAT = "MIT SuperCloud's Slurm log"
NEEDED = {
    "id_job": NUMBER, "nodes_alloc": NUMBER, "timelimit": NUMBER, "time_submit": NUMBER, "time_start": NUMBER,
    "time_end": NUMBER,
}  # fmt: skip
OPTIONAL = {
    "id_user": NUMBER, "nodelist": TEXT, "partition": NAME, "priority": NUMBER, "state": NUMBER, "tres_alloc": TEXT,
    "gres_used": TEXT, "cpus_req": NUMBER,
}  # fmt: skip
STATES = {
    3: Status.COMPLETED, 4: Status.CANCELLED, 5: Status.FAILED, 6: Status.TIMEOUT, 7: Status.NODE_FAIL,
    8: Status.CANCELLED, 9: Status.NODE_FAIL, 10: Status.TIMEOUT, 11: Status.OUT_OF_MEMORY,
}  # fmt: skip
"""Slurm's numbers of final states; flags stand in the bits above."""
UNLIMITED = 4_294_967_295
MINUTE = 60
GPU_KINDS = ("1001", "1002")
"""Numbers of the GPUs among the trackable resources."""
PARTITIONS = ("all", "cpu", "gpu")


def load(
    path: str | PathLike[str],
    *,
    window: Window = None,
    partition: str = "all",
    with_traces: bool = True,
    system: str = "mit_supercloud",
    missing_requests: str = "fallback",
    strict: bool = False,
    progress: Progress | None = None,
) -> Workload:
    """Read the log and, of the jobs of the window, the series.

    Parameters
    ----------
    path : path
        Folder with ``slurm-log.csv`` (or below it), or that file.
    window : pair of dates, optional
        Only jobs that were submitted, waiting or running between two instants; second 0 becomes the first of them. Only
        their series are read, which is what takes time: they are a file for each job.
    partition : {"all", "cpu", "gpu"}
        Jobs with GPUs ran on the nodes of ``gpu``, all others on those of ``cpu``.
    with_traces : bool
        Whether to read series.
    system : str
        System whose nodes are the machine's.
    missing_requests, strict
        As in `Workload.build`.
    progress : callable, optional
        Called with the files of series read, and of all.

    Returns
    -------
    Workload
        Traces ``cpu`` and ``gpu`` every 10 s, each with the time of its first sample. ``extra`` has gpus and cpus.
        Node numbers are given in the order of the names, nodes that ever ran a job with GPUs from the first of the
        partition of GPUs on.

    Raises
    ------
    WorkloadError
        If a file or a column is missing or wrong, or no job is left.
    """
    if partition not in PARTITIONS:
        raise OptionError(f"partition={partition!r} is unknown.{suggest(partition, PARTITIONS)}")
    span = span_of(window)
    machine = System.load(system)
    log = _log(Path(path))
    where = str(log)
    parts = [pa.Table.from_batches([batch]) for batch in blocks(log, NEEDED, OPTIONAL, what=WHAT)]
    if not parts:
        raise WorkloadError(f"{where} holds titles but no jobs; check that it was fetched completely.")
    table = pa.concat_tables(parts).unify_dictionaries()
    gpus = _gpus(table)
    listed = _places(table, gpus, machine)
    submit, start, end = (_known(whole(table, name, where)) for name in ("time_submit", "time_start", "time_end"))
    if span is not None:  # nodes are numbered by all jobs, so that a part of the log numbers them as the whole does
        rows = np.flatnonzero(span.touches(submit, end))
        table, gpus, submit, start, end = table.take(pa.array(rows)), gpus[rows], submit[rows], start[rows], end[rows]
        listed = None if listed is None else listed.take(rows)
    ids = whole(table, "id_job", where)
    notes = Notes(ids, where)
    if partition != "all":
        notes.drop("left_out", (gpus > 0) != (partition == "gpu"), gpus=gpus)
    limit = whole(table, "timelimit", where)
    nodes = whole(table, "nodes_alloc", where)
    cpus = floats(table, "cpus_req", where)
    columns: dict[str, Any] = {
        "id": ids,
        "submit": submit,
        "start": start,
        "runtime": np.where((start != UNKNOWN) & (end != UNKNOWN), end - start, 0),
        "requested_time": np.where((limit == UNLIMITED) | (limit == UNKNOWN), UNKNOWN, limit * MINUTE),
        "nodes": nodes,
        "user": names(table, "id_user"),
        "partition": names(table, "partition"),
        "priority": floats(table, "priority", where),
        "status": _status(floats(table, "state", where)),
        "extra": {"gpus": gpus} | ({} if cpus is None else {"cpus": cpus}),
        "node_ids": None if listed is None else settle(listed, nodes, machine.total_nodes, notes),
    }
    capacity = {"all": machine.nodes} | {part.name: part.nodes for part in machine.partitions}
    workload = jobs_of(
        columns,
        np.arange(len(ids)),
        notes,
        span,
        name="MIT SuperCloud",
        capacity=capacity.get(partition, machine.nodes),
        missing_requests=missing_requests,
    )
    if with_traces:
        workload = _with_series(workload, log.parent, machine, progress)
    return finish(workload, notes, strict)


def _log(path: Path) -> Path:
    """Return the log of a folder, or of those below it."""
    if not path.is_dir():
        return path
    found = sorted([*path.rglob("slurm-log.csv"), *path.rglob("slurm-log.csv.gz")])
    if not found:
        raise WorkloadError(f"{path} holds no slurm-log.csv, which {WHAT} is; check the path.")
    return found[0]


def _known(seconds: Ints) -> Ints:
    """Return instants; Slurm writes 0 for what never was."""
    return np.where(seconds > 0, seconds, UNKNOWN)


def _status(state: npt.NDArray[np.float64] | None) -> npt.NDArray[np.int8] | None:
    if state is None:
        return None
    table = np.full(256, Status.UNKNOWN, dtype=np.int8)
    table[list(STATES)] = list(STATES.values())
    return np.asarray(table[np.where(np.isfinite(state), state, 255).astype(np.int64) & 0xFF])


def _gpus(table: pa.Table) -> Ints:
    """Return how many GPUs each job was given, by the resources that Slurm tracks (``1=20,1002=2``)."""
    count = np.zeros(len(table), dtype=np.int64)
    for name, pattern in (
        ("tres_alloc", r"(?:^|[,\"])(?:{kind})=(?P<n>\d+)"),
        ("gres_used", r"gpu[^,=\d]*[:=](?P<n>\d+)"),
    ):
        if name not in table.column_names or count.any():
            continue
        for kind in GPU_KINDS if "{kind}" in pattern else ("",):
            found = pc.extract_regex(table[name].combine_chunks(), pattern.replace("{kind}", kind))
            count += np.asarray(pc.struct_field(found, "n").cast(pa.int64()).fill_null(0))
    return count


def _places(table: pa.Table, gpus: Ints, machine: System) -> Rows | None:
    """Return the numbers of the nodes in lists like ``['r01-n1', 'r01-n2']``; -1 beyond a partition's size."""
    if "nodelist" not in table.column_names:
        return None
    bare = pc.replace_substring_regex(table["nodelist"].combine_chunks(), pattern=r"[\[\]'\"\s]", replacement="")
    bare = pc.if_else(pc.equal(bare, ""), pa.scalar(None, pa.string()), bare)
    lists = pc.split_pattern(bare, ",")
    lengths = np.asarray(pc.fill_null(pc.list_value_length(lists), 0), dtype=np.int64)
    spelled = lists.flatten().dictionary_encode()
    codes = np.asarray(spelled.indices, dtype=np.int64)
    with_gpu = np.zeros(len(spelled.dictionary), dtype=bool)
    with_gpu[codes[np.repeat(gpus > 0, lengths)]] = True
    order = np.argsort(np.asarray(spelled.dictionary.to_pylist(), dtype=np.str_), kind="stable")
    place = np.full(len(order), -1)
    first = 0
    for part, ours in zip(machine.partitions, (~with_gpu, with_gpu), strict=False):
        members = order[ours[order]][: part.nodes]
        place[members] = first + np.arange(len(members))
        first += part.topology.total_nodes
    return Rows(place[codes], lengths)


def _with_series(workload: Workload, folder: Path, machine: System, progress: Progress | None) -> Workload:
    """Give jobs their series."""
    wanted = {int(job): row for row, job in enumerate(workload.id)}
    found: dict[str, dict[int, list[Path]]] = {}
    for kind in ("cpu", "gpu"):
        files: dict[int, list[Path]] = defaultdict(list)
        for path in sorted((folder / kind).rglob("*.csv*")) if (folder / kind).is_dir() else []:
            job = path.name.split("-", 1)[0]
            if job.isdigit() and int(job) in wanted:
                files[wanted[int(job)]].append(path)
        found[kind] = files
    total = sum(len(paths) for files in found.values() for paths in files.values())
    if not total:
        return workload
    notes = Notes(workload.id, str(folder))
    told = progress or (lambda done, total: None)
    done = sum(map(len, found["cpu"].values()))
    with_gpu = np.asarray(workload.extra["gpus"]) > 0
    traces = {
        "cpu": cpu_series(found["cpu"], workload, with_gpu, machine, notes, lambda n: told(n, total)),
        "gpu": gpu_series(found["gpu"], workload, machine, notes, lambda n: told(done + n, total)),
    }
    return notes.onto(replace(workload, traces={name: trace for name, trace in traces.items() if len(trace.values)}))
