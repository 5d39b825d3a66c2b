"""Jobs with arrays of metered watts (PM100 and its kin): their traces, read and converted some thousand at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from twin_gym.system import System
from twin_gym.workload import Trace, Workload

from ._lists import Rows, filled, joined, numbers, offsets
from ._notes import Notes
from ._parquet import Batch, ParquetSet
from ._places import settle
from ._text import Progress
from ._watts import cpu_busy, fraction, gpu_busy, gpu_watts, positive

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


class Arrays(NamedTuple):
    """Names of the columns that hold arrays: watts of whole nodes, CPUs and memory, and the numbers of the nodes."""

    whole: str = "node_power_consumption"
    cpu: str = "cpu_power_consumption"
    memory: str = "mem_power_consumption"
    nodes: str = "nodes"

    @property
    def watts(self) -> tuple[str, str, str]:
        """The columns of watts."""
        return self.whole, self.cpu, self.memory


class Samples(NamedTuple):
    """Watts per node of some jobs, their arrays cut to the shortest of each job."""

    whole: Floats
    cpu: Floats
    memory: Floats
    lengths: Ints
    gaps: Ints
    unequal: npt.NDArray[np.bool_]


def samples(whole: Rows, cpu: Rows, memory: Rows, nodes: npt.NDArray[np.int32]) -> Samples:
    """Cut the arrays of each job to the shortest, close gaps, and divide by the job's nodes.

    Parameters
    ----------
    whole, cpu, memory : Rows
        Watts summed over the nodes of J jobs.
    nodes : ndarray of int32, shape (J,)
        Nodes of each.
    """
    rows = (whole, cpu, memory)
    shortest = np.min([part.lengths for part in rows], axis=0)
    longest = np.max([part.lengths for part in rows], axis=0)
    each = np.repeat(nodes.astype(np.float32), shortest)
    closed = [filled(part.first(shortest)) for part in rows]
    a, b, c = (values / each for values, _ in closed)
    return Samples(a, b, c, shortest, np.sum([gaps for _, gaps in closed], axis=0), shortest < longest)


class Read(NamedTuple):
    """What the arrays of some jobs gave: utilisation, node power, node numbers, and what was cut."""

    cpu: Floats
    gpu: Floats
    power: Floats
    lengths: Ints
    gaps: Ints
    unequal: npt.NDArray[np.bool_]
    outside: npt.NDArray[np.int64]
    negative: npt.NDArray[np.int64]
    nodes: Rows


def attach(
    workload: Workload,
    files: ParquetSet,
    arrays: Arrays,
    system: System,
    quantum: int,
    progress: Progress | None,
) -> Workload:
    """Give jobs their traces and node numbers, read from the rows that ``workload.extra["row"]`` names.

    Traces are ``cpu`` and ``gpu`` (fractions of all of a node's, mean over the job's nodes) and ``node_power`` (W per
    node). Only a batch is held as it was read.
    """
    rows = np.asarray(workload.extra["row"])
    order = np.argsort(rows, kind="stable")
    sizes = workload.nodes[order]
    parts = []
    for batch in files.batches((*arrays.watts, arrays.nodes), rows[order]):
        parts.append(_convert(batch, arrays, sizes[batch.at], system, files.label))
        if progress is not None:
            progress(batch.at.stop, len(rows))
    back = None if np.all(order[1:] > order[:-1]) else np.argsort(order, kind="stable")
    notes = Notes(workload.id, files.label)
    lengths = np.concatenate([part.lengths for part in parts])

    def trace(name: str, unit: str) -> Trace:
        values = np.concatenate([getattr(part, name) for part in parts])
        zeros = np.zeros(len(lengths), dtype=np.int64)
        found = Trace(values, offsets(lengths), zeros, np.full(len(lengths), quantum), unit)
        return found if back is None else found.take(back)

    def each(name: str) -> npt.NDArray[Any]:
        column = np.concatenate([getattr(part, name) for part in parts])
        return column if back is None else column[back]

    traces = {"cpu": trace("cpu", "1"), "node_power": trace("power", "W")}
    if system.partitions[0].node.gpus:
        traces["gpu"] = trace("gpu", "1")
    outside = each("outside")
    notes.note("unequal_arrays", each("unequal"))
    notes.note("no_samples", traces["cpu"].lengths == 0)
    notes.tally("clipped", outside, "samples")
    notes.tally("negative_counter", each("negative"), "samples")
    notes.tally("gap", each("gaps"), "samples")
    listed = joined([part.nodes for part in parts])
    listed = listed if back is None else listed.take(back)
    node_ids = settle(listed, workload.nodes, system.total_nodes, notes)
    return notes.onto(replace(workload, traces=traces, node_ids=node_ids))


def _convert(batch: Batch, arrays: Arrays, nodes: npt.NDArray[np.int32], system: System, where: str) -> Read:
    node = system.partitions[0].node
    columns = batch.columns
    whole, processors, memory, listed = (numbers(columns[name], name, where) for name in (*arrays.watts, arrays.nodes))
    watts = samples(whole, processors, memory, nodes)
    jobs = len(watts.lengths)
    job = np.repeat(np.arange(jobs), watts.lengths)
    cpu, wrong = fraction(cpu_busy(watts.cpu, node))
    outside = np.bincount(job[wrong], minlength=jobs)
    gpu = np.empty(0, dtype=np.float32)
    if node.gpus:
        gpu, wrong = fraction(gpu_busy(gpu_watts(watts.whole, watts.cpu, watts.memory, node), node))
        outside += np.bincount(job[wrong], minlength=jobs)
    power, wrong = positive(watts.whole)
    negative = np.bincount(job[wrong], minlength=jobs)
    return Read(cpu, gpu, power, watts.lengths, watts.gaps, watts.unequal, outside, negative, listed)
