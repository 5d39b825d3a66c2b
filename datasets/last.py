"""LAST: three years of jobs on Lassen (LLNL, 2018 on) as IBM's CSM recorded them, with energies, CPU time and traffic.

Data: https://github.com/LLNL/LAST; T. Patki and others, "Monitoring large scale supercomputers: a case study with the
Lassen supercomputer", CLUSTER 2021. Three CSV files: allocations, nodes of allocations, job steps. They are joined in
one pass over each, in memory that grows with the number of jobs, not with the size of the files.

Units: energies in J; ``cpu_usage`` in ns of hardware threads; InfiniBand counters in words of 4 bytes. A node counts
44 cores, of which two to a socket don't run jobs, with 1, 2 or 4 threads (``smt_mode``).
Verified on the schema and on hand-made rows, not on the full files.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from twin_gym.errors import WorkloadError
from twin_gym.system import System
from twin_gym.workload import UNKNOWN, Status, Trace, Workload

from ._columns import floats, names, real, whole
from ._csv import NAME, NUMBER, TEXT, blocks, one_of
from ._dates import unix_seconds
from ._foreign import finish, jobs_of
from ._lists import Rows
from ._notes import Notes
from ._places import settle
from ._text import Progress
from ._watts import fraction, gpu_busy
from ._window import Span, Window, span_of

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

ALLOCATIONS = ("final_csm_allocation_history_hashed.csv", "final_csm_allocation_history.csv")
NODES = ("final_csm_allocation_node_history.csv",)
STEPS = ("final_csm_step_history.csv",)
WHAT = "LAST"

NEEDED = {
    "allocation_id": NUMBER, "num_nodes": NUMBER, "begin_time": TEXT, "end_time": TEXT, "job_submit_time": TEXT,
    "time_limit": NUMBER,
}  # fmt: skip
OPTIONAL = {
    "primary_job_id": NUMBER, "hashed_user_id": NAME, "hashed_user_group_id": NAME, "exit_status": NUMBER,
    "queue": NAME, "smt_mode": NUMBER,
}  # fmt: skip
UNLIMITED = 2_147_483_647
NANO = 1e9
WORD = 4
"""Bytes that one count of the InfiniBand counters stands for."""
THREADS = 4
"""Hardware threads of a core where `smt_mode` doesn't say."""


def load(
    path: str | PathLike[str],
    *,
    window: Window = None,
    time_zone: str = "America/Los_Angeles",
    with_traces: bool = True,
    system: str = "lassen",
    missing_requests: str = "fallback",
    strict: bool = False,
    progress: Progress | None = None,
) -> Workload:
    """Read the folder of LAST's three files (plain or .gz).

    Parameters
    ----------
    path : path
        Folder, or the file of allocations in it.
    window : pair of dates, optional
        Only jobs that were submitted, waiting or running between two instants; second 0 becomes the first of them. All
        lines have to be read, but those of other jobs are forgotten at once.
    time_zone : str
        Zone of the dates, which don't say theirs: the machine's own, which is an assumption.
    with_traces : bool
        Whether to read the files of nodes and steps.
    system : str
        System whose nodes turn watts into utilisation.
    missing_requests, strict
        As in `Workload.build`.
    progress : callable, optional
        Called with the number of files read, and of all.

    Returns
    -------
    Workload
        Jobs are numbered by allocation_id. Traces ``cpu``, ``gpu`` (fractions), ``node_power`` (W per node) and
        ``network_tx``, ``network_rx`` (B/s per node): one number for each job, the mean over the nodes that have
        records. ``extra`` holds primary_job_id, and steps and gpus of the file of steps if it is there.

    Raises
    ------
    WorkloadError
        If a file or a column is missing or wrong, or no job is left.
    """
    span = span_of(window)
    machine = System.load(system)
    given = Path(path)
    folder = given.parent if given.is_file() else given
    allocations = given if given.is_file() else one_of(folder, ALLOCATIONS, WHAT)
    told = progress or (lambda done, total: None)
    jobs = _allocations(allocations, span, time_zone)
    notes = Notes(jobs.ids, str(allocations))
    notes.note("no_date", jobs.wrong)
    told(1, 3)
    columns = jobs.columns
    columns["extra"] = {} if jobs.primary is None else {"primary_job_id": jobs.primary}
    if with_traces:
        nodes = _nodes(one_of(folder, NODES, WHAT), jobs)
        told(2, 3)
        columns["traces"] = _traces(nodes, jobs, machine, notes)
        columns["node_ids"] = settle(nodes.listed, columns["nodes"], machine.total_nodes, notes)
        columns["extra"] |= _steps(folder, jobs)
        told(3, 3)
    rows = np.arange(len(jobs.ids))
    workload = jobs_of(
        columns, rows, notes, span, name="LAST", capacity=machine.nodes, missing_requests=missing_requests
    )
    return finish(workload, notes, strict)


class Directory:
    """Where allocations stand."""

    def __init__(self, ids: Ints) -> None:
        """Take the number of each row; of rows with one number the first counts."""
        self.order = np.argsort(ids, kind="stable")
        self.ids = ids[self.order]

    def rows(self, ids: Floats) -> Ints:
        """Return the row of each number, -1 where there is none."""
        if not len(self.ids):
            return np.full(len(ids), -1)
        place = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        return np.where(self.ids[place] == ids, self.order[place], -1)


class Allocations(NamedTuple):
    """The file of allocations.

    Attributes
    ----------
    ids : ndarray of int64, shape (R,)
        Numbers of the allocations of the window.
    columns : dict
        Their columns as `Workload.build` takes them.
    smt : ndarray of float64, shape (R,)
        Hardware threads of a core.
    primary : ndarray of int64, shape (R,), or None
        Job numbers of the batch system.
    wrong : ndarray of bool, shape (R,)
        Rows with something else in place of a date.
    everyone : ndarray of int64
        Numbers of all allocations of the file.
    """

    ids: Ints
    columns: dict[str, Any]
    smt: Floats
    primary: Ints | None
    wrong: npt.NDArray[np.bool_]
    everyone: Ints


DATES = ("job_submit_time", "begin_time", "end_time")


def _allocations(path: Path, span: Span | None, time_zone: str) -> Allocations:
    """Read the allocations that were submitted, waiting or running in the window."""
    where = str(path)
    parts: list[pa.Table] = []
    times: list[tuple[Ints, ...]] = []
    wrong: list[npt.NDArray[np.bool_]] = []
    everyone: list[Ints] = []
    for batch in blocks(path, NEEDED, OPTIONAL, what=WHAT):
        table = pa.Table.from_batches([batch])
        dates = [unix_seconds(table[name], name, where, time_zone) for name in DATES]
        everyone.append(whole(table, "allocation_id", where))
        submit, _, end = (date.seconds for date in dates)
        keep = np.ones(len(table), dtype=bool)
        if span is not None:
            keep = (submit < span.end) & ((end == UNKNOWN) | (end > span.begin))
        rows = np.flatnonzero(keep)
        parts.append(table.drop_columns(list(DATES)).take(pa.array(rows)))
        times.append(tuple(date.seconds[rows] for date in dates))
        wrong.append(np.any([date.wrong for date in dates], axis=0)[rows])
    if not parts or not sum(map(len, parts)):
        window = " in the window" if parts else ""
        raise WorkloadError(f"{where} holds no allocation{window}; check the path{' and window=' if parts else ''}.")
    table = pa.concat_tables(parts).unify_dictionaries()
    submit, begin, end = (np.concatenate(column) for column in zip(*times, strict=True))
    ids, limit = whole(table, "allocation_id", where), whole(table, "time_limit", where)
    smt = floats(table, "smt_mode", where)
    columns: dict[str, Any] = {
        "id": ids,
        "submit": submit,
        "start": begin,
        "runtime": np.where((begin != UNKNOWN) & (end != UNKNOWN), end - begin, 0),
        "requested_time": np.where(limit >= UNLIMITED, UNKNOWN, limit),
        "nodes": whole(table, "num_nodes", where),
        "user": names(table, "hashed_user_id"),
        "account": names(table, "hashed_user_group_id"),
        "partition": names(table, "queue"),
        "status": _status(floats(table, "exit_status", where)),
    }
    primary = whole(table, "primary_job_id", where) if "primary_job_id" in table.column_names else None
    threads = np.full(len(ids), float(THREADS)) if smt is None else np.where(smt >= 1, smt, THREADS)
    return Allocations(ids, columns, threads, primary, np.concatenate(wrong), np.concatenate(everyone))


def _status(exits: Floats | None) -> npt.NDArray[np.int8] | None:
    if exits is None:
        return None
    known = np.where(exits == 0, Status.COMPLETED, Status.FAILED)
    return np.where(np.isnan(exits), Status.UNKNOWN, known).astype(np.int8)


METERS = ("energy", "gpu_energy", "cpu_usage", "ib_tx", "ib_rx")


class Nodes(NamedTuple):
    """The file of nodes: for each meter the sum over the nodes of an allocation, and over how many; node numbers."""

    sums: dict[str, Floats]
    counts: dict[str, Floats]
    negative: npt.NDArray[np.bool_]
    orphans: int
    listed: Rows


def _nodes(path: Path, jobs: Allocations) -> Nodes:
    """Add up the meters of all nodes of each allocation, in one pass."""
    where, count = str(path), len(jobs.ids)
    directory = Directory(jobs.ids)
    everyone = directory if len(jobs.everyone) == count else Directory(jobs.everyone)
    sums = {name: np.zeros(count) for name in METERS}
    counts = {name: np.zeros(count) for name in METERS}
    negative = np.zeros(count, dtype=bool)
    orphans = 0
    owners: list[Ints] = []
    places: list[Ints] = []
    needed = {"allocation_id": NUMBER, "node_name": NAME, **dict.fromkeys(METERS, NUMBER)}
    for batch in blocks(path, needed, what=WHAT):
        table = pa.Table.from_batches([batch])
        ids = real(table, "allocation_id", where)
        row = directory.rows(ids)
        if everyone is directory:
            orphans += int(np.count_nonzero(row < 0))
        else:
            orphans += int(np.count_nonzero(everyone.rows(ids) < 0))
        ours = row >= 0
        row = row[ours]
        for name in METERS:
            values = real(table, name, where)[ours]
            known = np.isfinite(values)
            below = known & (values < 0)
            negative[row[below]] = True
            np.add.at(sums[name], row[known], np.maximum(values[known], 0))
            np.add.at(counts[name], row[known], 1)
        owners.append(row.astype(np.int32))
        places.append(_places(table["node_name"])[ours].astype(np.int32))
    return Nodes(sums, counts, negative, orphans, _listed(owners, places, count))


def _places(column: pa.ChunkedArray) -> Ints:
    """Return 0 for lassen1 and so on, -1 for what has no number."""
    chunk = column.chunk(0)
    digits = pc.replace_substring_regex(chunk.dictionary, r"^.*?(\d*)$", r"\1")
    number = pc.if_else(pc.equal(digits, ""), pa.scalar("0"), digits).cast(pa.int64())
    table: Ints = np.append(np.asarray(number) - 1, -1)
    return np.asarray(table[chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False)])


def _listed(owners: list[Ints], places: list[Ints], count: int) -> Rows:
    """Return the node numbers allocation after allocation."""
    none = np.empty(0, dtype=np.int32)
    owner, place = np.concatenate([none, *owners]), np.concatenate([none, *places])
    if np.any(owner[1:] < owner[:-1]):
        place = place[np.argsort(owner, kind="stable")]
    return Rows(place, np.bincount(owner, minlength=count))


def _traces(nodes: Nodes, jobs: Allocations, machine: System, notes: Notes) -> dict[str, Trace]:
    """Return the mean over its nodes and its time of what each allocation used."""
    node = machine.partitions[0].node
    seconds = jobs.columns["runtime"].astype(np.float64)
    seconds[seconds <= 0] = np.nan
    mean = {
        name: np.divide(nodes.sums[name], nodes.counts[name], out=np.full(len(seconds), np.nan), where=counted > 0)
        / seconds
        for name, counted in nodes.counts.items()
    }
    threads = node.cpus * (node.cores_per_cpu or 1) * jobs.smt
    cpu, wrong = fraction(mean["cpu_usage"] / NANO / threads)
    gpu, wrong_too = fraction(gpu_busy(mean["gpu_energy"], node))
    notes.note("negative_counter", nodes.negative)
    notes.tally("clipped", wrong.astype(np.int64) + wrong_too, "samples")
    metered = nodes.counts["energy"]
    size = jobs.columns["nodes"]
    notes.note("no_samples", metered == 0)
    notes.note("few_nodes", (metered > 0) & (metered < size), nodes=size, metered=metered.astype(np.int64))
    notes.count("orphan", nodes.orphans)
    return {
        "cpu": Trace.scalars(cpu, "1"),
        "gpu": Trace.scalars(gpu, "1"),
        "node_power": Trace.scalars(mean["energy"], "W"),
        "network_tx": Trace.scalars(mean["ib_tx"] * WORD, "B/s"),
        "network_rx": Trace.scalars(mean["ib_rx"] * WORD, "B/s"),
    }


def _steps(folder: Path, jobs: Allocations) -> dict[str, Ints]:
    """Return how many steps each allocation had and how many GPUs the largest used, if there is a file of steps."""
    try:
        path = one_of(folder, STEPS, WHAT)
    except WorkloadError:  # it tells nothing that the jobs need
        return {}
    directory, count = Directory(jobs.ids), len(jobs.ids)
    steps, gpus = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    for batch in blocks(path, {"allocation_id": NUMBER, "num_gpus": NUMBER}, what=WHAT):
        table = pa.Table.from_batches([batch])
        row = directory.rows(real(table, "allocation_id", str(path)))
        used = np.nan_to_num(real(table, "num_gpus", str(path)), nan=0.0).astype(np.int64)
        steps += np.bincount(row[row >= 0], minlength=count)
        np.maximum.at(gpus, row[row >= 0], used[row >= 0])
    return {"steps": steps, "gpus": gpus}
