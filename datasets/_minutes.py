"""Use of machines by the minute, as a grid, and what it says about jobs that ran on some of them for some time."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from twin_gym.workload import UNKNOWN, Trace, Workload

from ._columns import real
from ._csv import NAME, NUMBER, TEXT, blocks, header
from ._dates import unix_seconds
from ._lists import Rows, offsets
from ._notes import Notes
from ._watts import fraction

Ints = npt.NDArray[np.int64]
Half = npt.NDArray[np.float16]

MINUTE = 60
PERCENT = 100.0
SAMPLES = 4_000_000
"""So many samples are gathered at a time."""
ZONES = {"PST": 8 * 3600, "PDT": 7 * 3600}


class Minutes(NamedTuple):
    """Minutes since 1970 that matter: from `first` up to, not including, `stop`."""

    first: int
    stop: int

    @classmethod
    def of(cls, workload: Workload) -> Minutes:
        """Return the minutes in which jobs ran."""
        known = workload.start != UNKNOWN
        if not known.any():
            return cls(0, 0)
        begin = (workload.start + workload.epoch)[known]
        return cls(int(begin.min()) // MINUTE, int((begin + workload.runtime[known]).max()) // MINUTE + 1)


def read_minutes(path: Path, machines: dict[str, int], each: int, span: Minutes, notes: Notes) -> Half:
    """Read a file of ``time,machine,use...`` with `each` columns of percent.

    Parameters
    ----------
    path : Path
        Rows such as ``2017-10-03 01:01:00 PDT,m29,12.5``; with or without a line of titles.
    machines : dict
        Place of each machine.
    each : int
        Columns of use: 1 for CPUs, 8 for GPUs; a file may have fewer.
    span : Minutes
        Only these are kept.

    Returns
    -------
    ndarray of float16, shape (machines * each, minutes)
        Percent; NaN where nothing is recorded.
    """
    grid = np.full((len(machines) * each, span.stop - span.first), np.nan, dtype=np.float16)
    given = header(path)
    count = len(given)
    titled = not given[0][:1].isdigit()
    titles = given if titled else ["time", "machine", *(f"use{k}" for k in range(count - 2))]
    use = dict.fromkeys(titles[2 : 2 + each], NUMBER)
    needed = {titles[0]: TEXT, titles[1]: NAME, **use}
    strangers = 0
    for batch in blocks(path, needed, what="Philly's series", titles=None if titled else titles):
        table = pa.Table.from_batches([batch])
        minute = _minutes(table[titles[0]].chunk(0), str(path)) - span.first
        names = table[titles[1]].chunk(0)
        known = np.array([machines.get(name, -1) for name in [*names.dictionary.to_pylist(), None]])
        machine = known[np.asarray(names.indices.fill_null(len(known) - 1))]
        ours = (machine >= 0) & (minute >= 0) & (minute < grid.shape[1])
        strangers += int(np.count_nonzero(machine < 0))
        for k, name in enumerate(use):
            grid[machine[ours] * each + k, minute[ours]] = real(table, name, str(path))[ours]
    notes.count("orphan", strangers)
    return grid


def _minutes(text: pa.Array, where: str) -> Ints:
    """Return minutes since 1970 of ``2017-10-03 01:01:00 PDT``; -1 for what is no such text."""
    parts = pc.extract_regex(text, r"^\s*(?P<clock>[-\d]+ [\d:]+)(?: (?P<zone>P[SD]T))?\s*$")
    clock = unix_seconds(pc.struct_field(parts, "clock"), "time", where).seconds
    winter = np.asarray(pc.equal(pc.struct_field(parts, "zone"), "PST").fill_null(False))
    summer = np.asarray(pc.equal(pc.struct_field(parts, "zone"), "PDT").fill_null(False))
    seconds = clock + np.where(winter, ZONES["PST"], 0) + np.where(summer, ZONES["PDT"], 0)
    return np.where(clock == UNKNOWN, -1, seconds // MINUTE)


def traces(workload: Workload, places: Rows, grid: Half, whole: Ints, span: Minutes, notes: Notes) -> Trace:
    """Return the use of each job's places in each full minute that it ran, a fraction of `whole` of them.

    Parameters
    ----------
    workload : Workload
        J jobs.
    places : Rows
        Rows of the grid for each job; -1 for one that isn't known.
    grid : ndarray of float16
        Percent by place and minute.
    whole : ndarray, shape (J,)
        What full use of all would be; for machines their number, for GPUs all of the job's machines.
    span : Minutes
        The grid's.
    notes : Notes
        On the jobs.
    """
    jobs = len(workload)
    known = workload.start != UNKNOWN
    begin = np.where(known, workload.start + workload.epoch, 0)
    first = -(-begin // MINUTE) - span.first
    lengths = np.where(
        known & (places.lengths > 0), (begin + workload.runtime - 1) // MINUTE - span.first - first + 1, 0
    )
    lengths = np.maximum(lengths, 0)
    work = np.cumsum(lengths * np.maximum(places.lengths, 1))
    cuts = np.searchsorted(work, np.arange(0, int(work[-1]) + SAMPLES, SAMPLES)) if jobs else np.zeros(1, np.int64)
    values, counts = [], []
    for low, high in zip(cuts[:-1], np.append(cuts[1:-1], jobs), strict=True):
        if high > low:
            use, seen = _gathered(slice(int(low), int(high)), places, grid, first, lengths)
            values.append(use)
            counts.append(seen)
    use = np.concatenate([np.empty(0), *values])
    seen = np.concatenate([np.empty(0), *counts])
    job = np.repeat(np.arange(jobs), lengths)
    own = np.where(places.lengths > 0, places.lengths, 1)[job]
    # the mean of the places that have a sample stands for all of the job's
    share = np.divide(use, seen, out=np.zeros(len(use)), where=seen > 0) * own / np.maximum(whole, 1)[job] / PERCENT
    return _trimmed(share, seen > 0, job, lengths, first, begin, span, notes)


def _gathered(
    some: slice, places: Rows, grid: Half, first: Ints, lengths: Ints
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return sums over the places of some jobs in each minute, and how many places have a sample."""
    bounds = offsets(places.lengths)
    place = places.values[bounds[some.start] : bounds[some.stop]]
    job = np.repeat(np.arange(some.start, some.stop), places.lengths[some])
    long = lengths[job]
    at = np.arange(int(long.sum())) - np.repeat(np.cumsum(long) - long, long)
    row, minute = np.repeat(place, long), np.repeat(first[job], long) + at
    value = np.where(row >= 0, grid[row, minute].astype(np.float64), np.nan)
    target = np.repeat(offsets(lengths)[job] - offsets(lengths)[some.start], long) + at
    size = int(lengths[some].sum())
    fine = np.isfinite(value)
    sums = np.asarray(np.bincount(target[fine], value[fine], size), dtype=np.float64)
    return sums, np.bincount(target[fine], minlength=size).astype(np.float64)


def _trimmed(
    share: npt.NDArray[np.float64],
    seen: npt.NDArray[np.bool_],
    job: Ints,
    lengths: Ints,
    first: Ints,
    begin: Ints,
    span: Minutes,
    notes: Notes,
) -> Trace:
    """Return traces from each job's first sample to its last; a missing one is as the one before."""
    jobs = len(lengths)
    index = np.flatnonzero(seen)
    some = np.bincount(job[index], minlength=jobs) > 0
    low, high = np.where(some, len(job), 0), np.full(jobs, -1)
    np.minimum.at(low, job[index], index)
    np.maximum.at(high, job[index], index)
    slots = np.arange(len(job))
    kept = (slots >= low[job]) & (slots <= high[job])
    source = np.maximum.accumulate(np.where(seen, slots, 0))[kept] if len(slots) else slots
    busy, outside = fraction(share[source])
    owner = job[kept]
    notes.tally("gap", np.bincount(job[kept & ~seen], minlength=jobs), "samples")
    notes.tally("clipped", np.bincount(owner[outside], minlength=jobs), "samples")
    start = np.where(some, (first + span.first + low - offsets(lengths)[:-1]) * MINUTE - begin, 0)
    return Trace(busy, offsets(np.bincount(owner, minlength=jobs)), start, np.full(jobs, MINUTE), "1")
