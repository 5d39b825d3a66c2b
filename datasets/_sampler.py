"""Traffic of jobs from the growing counters of their nodes (Cray's system sampler)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twin_gym.errors import WorkloadError
from twin_gym.workload import UNKNOWN, Trace, Workload

from ._columns import real
from ._csv import NUMBER, blocks, header
from ._lists import offsets
from ._notes import Notes

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

QUANTUM = 60
"""Distance of samples of the traces, s: that of the sampler."""

COLUMNS = {4: (2, 3)}
"""Where the counters stand, by the number of columns; in the original: 15 and 16."""


class Samples(NamedTuple):
    """Counters of nodes: instant (Unix s), node, bytes sent and received so far."""

    time: Floats
    node: Floats
    sent: Floats
    received: Floats


def traffic(paths: list[Path], workload: Workload, notes: Notes, told: Callable[[int], None]) -> dict[str, Trace]:
    """Return what each job's nodes sent and received in each minute, B/s per node.

    Parameters
    ----------
    paths : list of Path
        The sampler's files; only samples of the workload's nodes during its jobs are kept.
    workload : Workload
        J jobs with node numbers.
    notes : Notes
        On these jobs.
    told : callable
        Called with the number of files read.
    """
    sums = _Sums(workload)
    rest: Samples | None = None
    for done, path in enumerate(paths, 1):
        for samples in _read(path):
            joined = samples if rest is None else Samples(*map(np.concatenate, zip(rest, samples, strict=True)))
            rest = sums.take(joined)
        told(done)
    notes.count("negative_counter", sums.falls)
    return sums.traces(notes)


def _read(path: Path) -> list[Samples]:
    """Read the four columns of one file."""
    count = len(header(path))
    where = COLUMNS.get(count, (15, 16))
    if max(where) >= count:
        raise WorkloadError(f"{path} has {count} columns; the sampler's files have 4 (an excerpt) or more than 16.")
    titles = [f"c{k}" for k in range(count)]
    wanted = {titles[k]: NUMBER for k in (0, 1, *where)}
    found = []
    for batch in blocks(path, wanted, what="Cray's system sampler", titles=titles):
        table = pa.Table.from_batches([batch])
        found.append(Samples(*(real(table, name, str(path)) for name in wanted)))
    return found


class _Sums:
    """Bytes and seconds of every job in every minute, added up as samples come."""

    def __init__(self, workload: Workload) -> None:
        """Lay out a minute grid for the jobs that have node numbers and a start."""
        ids = workload.node_ids
        counts = np.zeros(len(workload), dtype=np.int64) if ids is None else ids.lengths
        known = (counts > 0) & (workload.start != UNKNOWN)
        self.begin = np.where(known, workload.start + workload.epoch, 0)
        self.end = np.where(known, self.begin + workload.runtime, 0)
        self.lengths = np.where(known, -(-workload.runtime // QUANTUM), 0)
        self.first = offsets(self.lengths)
        job = np.repeat(np.arange(len(workload)), counts)
        node = np.empty(0, dtype=np.int64) if ids is None else ids.values.astype(np.int64)
        node, job = node[known[job]], job[known[job]]
        order = np.lexsort((self.begin[job], node))
        self.node, self.job = node[order], job[order]
        self.key = _key(self.node, self.begin[self.job])
        self.sent = np.zeros(int(self.first[-1]))
        self.received = np.zeros(int(self.first[-1]))
        self.seconds = np.zeros(int(self.first[-1]))
        self.falls = 0

    def take(self, samples: Samples) -> Samples:
        """Add the growth between samples; return the last sample of each node, from which the next block goes on."""
        good = np.isfinite(samples.time) & np.isfinite(samples.node)
        samples = Samples(*(column[good] for column in samples))
        order = np.lexsort((samples.time, samples.node))
        time, node, sent, received = (column[order] for column in samples)
        same = node[1:] == node[:-1]
        span = time[1:] - time[:-1]
        out, into = sent[1:] - sent[:-1], received[1:] - received[:-1]
        falls = same & ((out < 0) | (into < 0))
        self.falls += int(np.count_nonzero(falls))
        fine = same & (span > 0) & (out >= 0) & (into >= 0)
        # the middle of the interval decides whose it is
        self._add(node[1:][fine], (time[1:] - span / 2)[fine], out[fine], into[fine], span[fine])
        last = np.append(~same, True) if len(node) else np.zeros(0, dtype=bool)
        return Samples(time[last], node[last], sent[last], received[last])

    def _add(self, node: Floats, middle: Floats, out: Floats, into: Floats, span: Floats) -> None:
        if not len(self.key):
            return
        place = np.searchsorted(self.key, _key(node.astype(np.int64), middle.astype(np.int64)), side="right") - 1
        place = np.maximum(place, 0)
        job = self.job[place]
        ours = (self.node[place] == node) & (middle >= self.begin[job]) & (middle < self.end[job])
        job = job[ours]
        slot = self.first[job] + ((middle[ours] - self.begin[job]) // QUANTUM).astype(np.int64)
        np.add.at(self.sent, slot, out[ours])
        np.add.at(self.received, slot, into[ours])
        np.add.at(self.seconds, slot, span[ours])

    def traces(self, notes: Notes) -> dict[str, Trace]:
        """Return bytes per second and node; minutes without a sample are as the minute before."""
        job = np.repeat(np.arange(len(self.lengths)), self.lengths)
        seen = self.seconds > 0
        some = np.bincount(job[seen], minlength=len(self.lengths)) > 0
        notes.note("no_samples", ~some)
        # from the first minute of each job that has samples to the last
        index = np.flatnonzero(seen)
        first, last = np.where(some, len(job), 0), np.full(len(self.lengths), -1)
        np.minimum.at(first, job[index], index)
        np.maximum.at(last, job[index], index)
        slots = np.arange(len(job))
        kept = (slots >= first[job]) & (slots <= last[job])
        lengths = np.bincount(job[kept], minlength=len(self.lengths))
        source = np.maximum.accumulate(np.where(seen, slots, 0))[kept]
        notes.tally("gap", np.bincount(job[kept & ~seen], minlength=len(self.lengths)), "samples")
        start = np.where(some, (first - self.first[:-1]) * QUANTUM, 0)
        quantum = np.full(len(lengths), QUANTUM)

        def trace(total: Floats) -> Trace:
            rate = np.divide(total, self.seconds, out=np.zeros(len(total)), where=seen)
            return Trace(rate[source].astype(np.float32), offsets(lengths), start, quantum, "B/s")

        return {"network_tx": trace(self.sent), "network_rx": trace(self.received)}


def _key(node: Ints, instant: Ints) -> Ints:
    """Return numbers in the order of nodes, and of instants within each."""
    return node * np.int64(1 << 40) + instant
