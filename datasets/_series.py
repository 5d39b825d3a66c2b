"""Series of CPU and GPU use that come as one file for each job (MIT SuperCloud), on a grid of 10 s."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twin_gym.system import System
from twin_gym.workload import UNKNOWN, Trace, Workload

from ._columns import real
from ._csv import NAME, NUMBER, blocks
from ._lists import offsets
from ._notes import Notes
from ._watts import fraction

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

QUANTUM = 10
"""Distance of samples, s: that of the CPU series; those of GPUs (0.1 s) are averaged."""

PERCENT = 100.0
TOGETHER = 200
"""Jobs whose files are held at a time."""


def cpu_series(
    files: Mapping[int, list[Path]],
    workload: Workload,
    with_gpu: npt.NDArray[np.bool_],
    machine: System,
    notes: Notes,
    told: Callable[[int], None],
) -> Trace:
    """Return how busy the CPUs of each job's nodes were with it, a fraction of all.

    Steps of one node overlap (the batch step contains the others): the busiest counts. Nodes are averaged.

    Parameters
    ----------
    files : mapping of int to list of Path
        By the job's row in the workload.
    workload : Workload
        J jobs.
    with_gpu : ndarray of bool, shape (J,)
        Whether they ran on nodes with GPUs, whose CPUs may be others.
    machine : System
        Partitions of CPU and of GPU nodes.
    notes, told
        Take what is found, and the number of files read.
    """
    cores = np.array([part.node.cpus * (part.node.cores_per_cpu or 1) for part in machine.partitions])
    of_job = cores[np.where(with_gpu, min(1, len(cores) - 1), 0)]
    columns = {"Step": NUMBER, "EpochTime": NUMBER, "CPUUtilization": NUMBER}
    found, done = _Grid(workload), 0
    for rows, paths in _parts(files):
        job, table = _read(rows, paths, columns, {"Node": NAME}, "MIT SuperCloud's CPU series")
        step, time, use = (real(table, name, "CPU series") for name in columns)
        node = _codes(table, "Node")
        good = np.isfinite(time) & np.isfinite(use)
        bins, ours = found.place(job, time, good)
        # the mean of a step in a bin, the busiest step of a node, the mean of the nodes
        key, value = _mean(_keys(job[ours], bins, node[ours], np.nan_to_num(step[ours])), use[ours])
        key, value = _largest(key[:, :3], value)
        key, value = _mean(key[:, :2], value)
        found.add(key, value / PERCENT / of_job[key[:, 0]])
        done += len(paths)
        told(done)
    return found.trace(notes)


def gpu_series(
    files: Mapping[int, list[Path]],
    workload: Workload,
    machine: System,
    notes: Notes,
    told: Callable[[int], None],
) -> Trace:
    """Return how busy the GPUs of each job's nodes were with it, a fraction of all GPUs of these nodes.

    Parameters and files as in `cpu_series`; one file for each of the job's nodes.
    """
    each = max(part.node.gpus for part in machine.partitions) or 1
    columns = {"timestamp": NUMBER, "gpu_index": NUMBER, "utilization_gpu_pct": NUMBER}
    found, done = _Grid(workload), 0
    for rows, paths in _parts(files):
        job, table = _read(rows, paths, columns, {}, "MIT SuperCloud's GPU series", numbered=True)
        time, index, use = (real(table, name, "GPU series") for name in columns)
        good = np.isfinite(time) & np.isfinite(use) & np.isfinite(index)
        bins, ours = found.place(job, time, good)
        file = np.asarray(table["file"])
        key, value = _mean(_keys(job[ours], bins, file[ours], index[ours]), use[ours])
        key, value = _sum(key[:, :2], value)
        found.add(key, value / PERCENT / (each * workload.nodes[key[:, 0]]))
        done += len(paths)
        told(done)
    return found.trace(notes)


def _parts(files: Mapping[int, list[Path]]) -> Iterator[tuple[list[int], list[Path]]]:
    """Yield rows of jobs and their files, some hundred jobs at a time."""
    jobs = sorted(files)
    for first in range(0, len(jobs), TOGETHER):
        some = jobs[first : first + TOGETHER]
        yield [job for job in some for _ in files[job]], [path for job in some for path in files[job]]


def _read(
    rows: list[int],
    paths: list[Path],
    needed: Mapping[str, pa.DataType],
    optional: Mapping[str, pa.DataType],
    what: str,
    numbered: bool = False,
) -> tuple[Ints, pa.Table]:
    """Read files as one table, with the job's row of each of its rows."""
    tables, jobs = [], []
    for number, (row, path) in enumerate(zip(rows, paths, strict=True)):
        for batch in blocks(path, needed, optional, what=what):
            table = pa.Table.from_batches([batch])
            if numbered:
                table = table.append_column("file", pa.array(np.full(len(table), number)))
            tables.append(table)
            jobs.append(np.full(len(table), row))
    if not tables:
        empty = pa.table(
            {name: pa.array([], kind) for name, kind in {**needed, **optional, "file": pa.int64()}.items()}
        )
        return np.empty(0, dtype=np.int64), empty
    return np.concatenate(jobs), pa.concat_tables(tables, promote_options="default")


def _codes(table: pa.Table, name: str) -> Ints:
    """Return a number for each distinct name; 0 for all where there is no such column."""
    if name not in table.column_names:
        return np.zeros(len(table), dtype=np.int64)
    column = table[name].unify_dictionaries().combine_chunks()
    return np.asarray(column.indices.fill_null(-1), dtype=np.int64)


def _keys(*columns: npt.NDArray[np.number]) -> Ints:
    return np.stack([column.astype(np.int64) for column in columns], axis=1)


def _groups(key: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the order of rows by key, where each group begins, and the groups' keys."""
    order = np.lexsort(key.T[::-1])
    key = key[order]
    begin = np.flatnonzero(np.append(True, np.any(key[1:] != key[:-1], axis=1))) if len(key) else np.empty(0, np.int64)
    return order, begin, key[begin]


def _sum(key: Ints, value: Floats) -> tuple[Ints, Floats]:
    order, begin, groups = _groups(key)
    return groups, np.add.reduceat(value[order], begin) if len(begin) else value


def _mean(key: Ints, value: Floats) -> tuple[Ints, Floats]:
    order, begin, groups = _groups(key)
    if not len(begin):
        return groups, value
    return groups, np.add.reduceat(value[order], begin) / np.diff(np.append(begin, len(order)))


def _largest(key: Ints, value: Floats) -> tuple[Ints, Floats]:
    order, begin, groups = _groups(key)
    return groups, np.maximum.reduceat(value[order], begin) if len(begin) else value


class _Grid:
    """Samples of jobs in bins of 10 s from each job's start."""

    def __init__(self, workload: Workload) -> None:
        self.begin = np.where(workload.start == UNKNOWN, UNKNOWN, workload.start + workload.epoch)
        self.runtime = workload.runtime
        self.keys: list[Ints] = []
        self.values: list[Floats] = []
        self.outside = 0

    def place(self, job: Ints, time: Floats, good: npt.NDArray[np.bool_]) -> tuple[Ints, Ints]:
        """Return the bin of each sample that was taken while its job ran, and which those are."""
        begin = self.begin[job]
        after = np.where(good & (begin != UNKNOWN), time - begin, -1.0)
        ours = (after >= 0) & (after < self.runtime[job])
        self.outside += int(np.count_nonzero(good & ~ours))
        return (after[ours] // QUANTUM).astype(np.int64), np.flatnonzero(ours)

    def add(self, key: Ints, value: Floats) -> None:
        """Take one value for each job and bin."""
        self.keys.append(key)
        self.values.append(value)

    def trace(self, notes: Notes) -> Trace:
        """Return the traces from each job's first sample to its last; a missing one is as the one before."""
        jobs = len(self.begin)
        key = np.concatenate([np.empty((0, 2), dtype=np.int64), *self.keys])
        order = np.lexsort((key[:, 1], key[:, 0]))
        job, bins = key[order].T
        value, outside = fraction(np.concatenate([np.empty(0), *self.values])[order])
        first = np.searchsorted(job, np.arange(jobs))
        last = np.searchsorted(job, np.arange(jobs), side="right") - 1
        some = last >= first
        start, stop = np.zeros(jobs, dtype=np.int64), np.full(jobs, -1)
        start[some], stop[some] = bins[first[some]], bins[last[some]]
        lengths = stop - start + 1
        bounds = offsets(lengths)
        source = np.full(int(bounds[-1]), -1, dtype=np.int64)
        source[bounds[:-1][job] + bins - start[job]] = np.arange(len(job))
        owner = np.repeat(np.arange(jobs), lengths)
        notes.count("sample_outside", self.outside)
        notes.tally("gap", np.bincount(owner[source < 0], minlength=jobs), "samples")
        notes.tally("clipped", np.bincount(job[outside], minlength=jobs), "samples")
        values = value[np.maximum.accumulate(source)] if len(source) else np.empty(0, dtype=np.float32)
        return Trace(values, bounds, start * QUANTUM, np.full(jobs, QUANTUM), "1")
