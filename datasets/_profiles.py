"""Samples that come as rows of a table (job, time, values): put in order and on an even grid for each job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from twin_gym.workload import UNKNOWN, Trace, Workload

from ._columns import measured, whole
from ._dates import unix_seconds
from ._lists import offsets
from ._notes import Notes
from ._parquet import ParquetSet
from ._text import Progress
from ._window import Span

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


class Profiles(NamedTuple):
    """Evenly spaced samples of J jobs.

    Attributes
    ----------
    values : list of ndarray of float32, shape (V,)
        One for each kind of value.
    lengths : ndarray of int64, shape (J,)
        Samples of each job.
    start : ndarray of int64, shape (J,)
        Time of the first, s after the job's start.
    quantum : int
        Distance, s.
    """

    values: list[Floats]
    lengths: Ints
    start: Ints
    quantum: int

    def trace(self, values: Floats, unit: str) -> Trace:
        """Return values on this grid as a trace."""
        quantum = np.full(len(self.lengths), self.quantum)
        return Trace(values, offsets(self.lengths), self.start, quantum, unit)

    def per_job(self, samples: npt.NDArray[np.bool_]) -> Ints:
        """Count samples for each job."""
        job = np.repeat(np.arange(len(self.lengths)), self.lengths)
        return np.bincount(job[samples], minlength=len(self.lengths))

    @classmethod
    def read(
        cls,
        files: ParquetSet,
        workload: Workload,
        time: str,
        key: str,
        columns: Sequence[str],
        quantum: int,
        notes: Notes,
        progress: Progress | None,
    ) -> Profiles:
        """Read the samples of a workload's jobs while they ran.

        Parameters
        ----------
        files : ParquetSet
            The samples; row groups from before the first start or after the last end aren't read.
        workload : Workload
            J jobs, of which `id` is the key.
        time, key, columns : str, str, sequence of str
            Columns of the instant, of the job's number, and of values.
        quantum : int
            Distance of samples, s.
        notes : Notes
            On the jobs; takes those without samples, samples that are missing, and samples of no job.
        """
        order = np.argsort(workload.id, kind="stable")
        ids = workload.id[order]
        known = workload.start != UNKNOWN
        begin = np.where(known, workload.start + workload.epoch, UNKNOWN)
        span = None
        if known.any():
            span = Span(int(begin[known].min()), int((begin + workload.runtime)[known].max()) + 1)
        found: list[tuple[npt.NDArray[np.int32], Ints, list[Floats]]] = []
        outside = 0
        for table in files.groups((time, key, *columns), span, (time, time), progress):
            numbers = whole(table, key, files.label)
            place = np.minimum(np.searchsorted(ids, numbers), len(ids) - 1)
            job = np.where(ids[place] == numbers, order[place], -1)
            instant = unix_seconds(table[time], time, files.label).seconds
            after = np.where((job >= 0) & (instant != UNKNOWN), instant - begin[job], -1)
            ours = (job >= 0) & known[job] & (after >= 0) & (after < workload.runtime[job])
            outside += int(np.count_nonzero((job >= 0) & ~ours))
            read = [measured(table, name, files.label) for name in columns]
            ours &= np.isfinite(np.sum(read, axis=0))  # a row without one of its numbers is a missing sample
            values = [column[ours].astype(np.float32) for column in read]
            found.append((job[ours].astype(np.int32), after[ours], values))
        notes.count("sample_outside", outside)
        return cls._gridded(found, len(workload), len(columns), quantum, notes)

    @classmethod
    def _gridded(
        cls,
        found: list[tuple[npt.NDArray[np.int32], Ints, list[Floats]]],
        jobs: int,
        kinds: int,
        quantum: int,
        notes: Notes,
    ) -> Profiles:
        """Put samples on the grid that begins at each job's first; a missing one is the one before."""
        job = np.concatenate([np.empty(0, dtype=np.int32), *(part[0] for part in found)])
        after = np.concatenate([np.empty(0, dtype=np.int64), *(part[1] for part in found)])
        order = np.lexsort((after, job))
        job, after = job[order], after[order]
        first = np.searchsorted(job, np.arange(jobs))
        last = np.searchsorted(job, np.arange(jobs), side="right") - 1
        some = last >= first
        start, stop = np.zeros(jobs, dtype=np.int64), np.zeros(jobs, dtype=np.int64)
        start[some], stop[some] = after[first[some]], after[last[some]]
        lengths = np.where(some, (stop - start + quantum // 2) // quantum + 1, 0)
        slot = offsets(lengths)[:-1][job] + (after - start[job] + quantum // 2) // quantum
        source = np.full(int(lengths.sum()), -1, dtype=np.int64)
        source[slot] = np.arange(len(slot))  # of two samples on one slot the later counts
        missing = source < 0
        source = np.maximum.accumulate(source)  # the first slot of each job is never empty
        values = []
        for kind in range(kinds):
            joined = np.concatenate([np.empty(0, dtype=np.float32), *(part[2][kind] for part in found)])
            values.append(joined[order][source])
        profiles = cls(values, lengths, start, quantum)
        notes.note("no_samples", ~some)
        notes.tally("gap", profiles.per_job(missing), "samples")
        return profiles
