"""Google's cluster trace of May 2011 (ClusterData2011_2): jobs of many tasks on about 12,500 machines of several kinds.

Data: https://github.com/google/cluster-data, folders ``job_events``, ``task_events``, ``machine_events`` and
``task_usage`` of CSV files without titles; C. Reiss, J. Wilkes, J. Hellerstein, "Google cluster-usage traces: format +
schema", 2011. Times are microseconds, 600 s of which pass before the trace begins at 19:00 EDT on 1 May 2011. Sizes and
rates are fractions of the largest machine.

There are no nodes per job in it: a job's size here is how many machines of the commonest kind its tasks ask for, by CPU
or by memory, whichever is more. Verified on the schema and on hand-made rows, not on the full files.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from twin_gym.columns import Labels
from twin_gym.errors import WorkloadError
from twin_gym.workload import UNKNOWN, Status, Trace, Workload

from ._columns import names, real
from ._csv import NAME, NUMBER, blocks
from ._foreign import finish, jobs_of
from ._lists import offsets
from ._notes import Notes
from ._text import Progress
from ._watts import fraction
from ._window import Window, span_of

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

EPOCH = 1_304_290_200
"""Unix time of microsecond 0: 2011-05-01 18:50 EDT."""
MICRO = 1_000_000
AFTER = 2.0**62
"""Times beyond it stand for "after the trace"."""
QUANTUM = 300
"""Length of the records of use, s."""
SUBMIT, SCHEDULE = 0, 1
ENDS = {2: Status.CANCELLED, 3: Status.FAILED, 4: Status.COMPLETED, 5: Status.CANCELLED, 6: Status.UNKNOWN}
"""Events that end a job or task: evicted, failed, finished, killed, lost."""

TITLES = {
    "job_events": "time missing job event user class name logical_name",
    "task_events": "time missing job task machine event user class priority cpu memory disk different",
    "machine_events": "time machine event platform cpu memory",
    "task_usage": "start end job task machine rate canonical_memory assigned_memory unmapped_cache cache max_memory "
    "disk_time disk_space max_rate max_disk_time cpi mai sample_portion aggregation sampled_rate",
}
WHAT = "Google's cluster trace"


def load(
    path: str | PathLike[str],
    *,
    window: Window = None,
    with_traces: bool = True,
    missing_requests: str = "fallback",
    strict: bool = False,
    progress: Progress | None = None,
) -> Workload:
    """Read the trace, all of it or as many parts as there are.

    Parameters
    ----------
    path : path
        Folder with the four folders, each with ``part-?????-of-?????.csv`` or ``.csv.gz``.
    window : pair of dates, optional
        Only jobs that were submitted, waiting or running between two instants; second 0 becomes the first of them.
    with_traces : bool
        Whether to read the records of use, by far the largest part.
    missing_requests, strict
        As in `Workload.build`.
    progress : callable, optional
        Called with the number of files read, and of all.

    Returns
    -------
    Workload
        A job runs from the first task that is scheduled to the last that ends. Nobody asks for time there, so that
        requested times are the runtimes. Trace ``cpu``: what all tasks of a job used in each five minutes, a fraction
        of its machines. `priority` is the highest of its tasks; ``extra`` has tasks and scheduling_class.

    Raises
    ------
    WorkloadError
        If a folder or file is missing or wrong, or no job is left.
    """
    span = span_of(window)
    root = Path(path)
    files = {name: _parts(root, name) for name in TITLES if with_traces or name != "task_usage"}
    total, done = sum(map(len, files.values())), 0

    def tables(name: str, columns: dict[str, pa.DataType]) -> Any:
        nonlocal done
        for file in files[name]:
            for batch in blocks(file, columns, what=WHAT, titles=TITLES[name].split()):
                yield pa.Table.from_batches([batch])
            done += 1
            if progress is not None:
                progress(done, total)

    machines = _machines(tables("machine_events", dict.fromkeys(("machine", "event", "cpu", "memory"), NUMBER)), root)
    jobs = _jobs(
        tables("job_events", {"time": NUMBER, "job": NUMBER, "event": NUMBER, "user": NAME, "class": NUMBER}), root
    )
    needed = ("time", "job", "task", "event", "priority", "cpu", "memory")
    tasks = _tasks(tables("task_events", dict.fromkeys(needed, NUMBER)), jobs.ids)
    nodes = np.maximum(np.ceil(tasks.cpu / machines.cpu - 1e-9), np.ceil(tasks.memory / machines.memory - 1e-9))
    nodes = np.where(tasks.number > 0, np.maximum(nodes, 1), 0).astype(np.int64)
    notes = Notes(jobs.ids, str(root))
    notes.count("orphan", tasks.orphans)
    notes.drop("unfinished", (tasks.start != UNKNOWN) & (tasks.end == UNKNOWN))
    columns: dict[str, Any] = {
        "id": jobs.ids,
        "submit": jobs.submit,
        "start": tasks.start,
        "runtime": np.where((tasks.start != UNKNOWN) & (tasks.end != UNKNOWN), tasks.end - tasks.start, 0),
        "nodes": nodes,
        "user": jobs.user,
        "priority": tasks.priority,
        "status": jobs.status,
        "extra": {"tasks": tasks.number, "scheduling_class": jobs.kind},
    }
    if with_traces:
        wanted = np.ones(len(nodes), dtype=bool) if span is None else span.touches(jobs.submit, tasks.end)
        usage = tables("task_usage", dict.fromkeys(("start", "end", "job", "rate"), NUMBER))
        columns["traces"] = {"cpu": _usage(usage, jobs.ids, tasks, wanted, nodes * machines.cpu, notes)}
    workload = jobs_of(
        columns,
        np.arange(len(nodes)),
        notes,
        span,
        name="Google 2011",
        capacity=machines.number,
        missing_requests=missing_requests,
    )
    return finish(workload, notes, strict)


def _parts(root: Path, name: str) -> list[Path]:
    found = sorted([*(root / name).glob("part-*.csv"), *(root / name).glob("part-*.csv.gz")])
    if not found:
        raise WorkloadError(f"{root / name} holds no part-*.csv or part-*.csv.gz, which {WHAT} has; check the path.")
    return found


class Machines(NamedTuple):
    """How many machines there are, and the CPU and memory of the commonest kind."""

    number: int
    cpu: float
    memory: float


def _machines(tables: Any, root: Path) -> Machines:
    table = pa.concat_tables(tables)
    machine, event, cpu, memory = (real(table, name, "machine_events") for name in table.column_names)
    good = (event == 0) & (cpu > 0) & (memory > 0)
    if not good.any():
        raise WorkloadError(f"{root / 'machine_events'} adds no machine with CPU and memory; fetch it again.")
    kinds = pd.Series(list(zip(cpu[good], memory[good], strict=True))).value_counts()
    return Machines(len(np.unique(machine[good])), *map(float, kinds.index[0]))


class Jobs(NamedTuple):
    """Jobs by number, ascending (R)."""

    ids: Ints
    submit: Ints
    user: Labels | None
    kind: Ints
    status: npt.NDArray[np.int8]


def _seconds(time: Floats) -> Ints:
    """Return Unix seconds; what happened before or after the trace is unknown, except that it was before."""
    known = np.isfinite(time) & (time < AFTER)
    return np.where(known, EPOCH + (np.where(known, time, 0) // MICRO).astype(np.int64), UNKNOWN)


def _jobs(tables: Any, root: Path) -> Jobs:
    table = pa.concat_tables(tables).unify_dictionaries()
    time, job, event, kind = (real(table, name, "job_events") for name in ("time", "job", "event", "class"))
    good = np.isfinite(job) & np.isfinite(time)
    rows = np.flatnonzero(good & (event == SUBMIT))
    if not rows.size:
        raise WorkloadError(f"{root / 'job_events'} submits no job; check the path.")
    rows = rows[np.lexsort((time[rows], job[rows]))]
    ids, first = np.unique(job[rows], return_index=True)
    rows = rows[first]
    status = np.full(len(ids), Status.UNKNOWN, dtype=np.int8)
    ended = np.flatnonzero(good & np.isin(event, list(ENDS)))
    ended = ended[np.argsort(time[ended], kind="stable")]  # of several ends the last counts
    place = np.minimum(np.searchsorted(ids, job[ended]), len(ids) - 1)
    ours = ids[place] == job[ended]
    table_of = np.full(16, Status.UNKNOWN, dtype=np.int8)
    table_of[list(ENDS)] = list(ENDS.values())
    status[place[ours]] = table_of[event[ended[ours]].astype(np.int64)]
    user = names(table, "user")
    return Jobs(
        ids.astype(np.int64),
        _seconds(time[rows]),
        None if user is None else user.take(rows),
        np.where(np.isfinite(kind[rows]), kind[rows], -1).astype(np.int64),
        status,
    )


class Tasks(NamedTuple):
    """What the tasks of each job (R) come to."""

    number: Ints
    cpu: Floats
    memory: Floats
    priority: Floats
    start: Ints
    end: Ints
    orphans: int


def _tasks(tables: Any, ids: Ints) -> Tasks:
    """Add up what tasks ask for, each once however often it was submitted, and find the first start and last end."""
    jobs = len(ids)
    start, end = np.full(jobs, np.inf), np.full(jobs, -np.inf)
    priority = np.full(jobs, -np.inf)
    asked_for = _Asked()
    orphans = 0
    for table in tables:
        time, job, task, event, rank, cores, bytes_ = (real(table, name, "task_events") for name in table.column_names)
        place = np.minimum(np.searchsorted(ids, np.nan_to_num(job, nan=-1.0)), jobs - 1)
        ours = (ids[place] == job) & np.isfinite(task) & np.isfinite(time) & (time < AFTER)
        orphans += int(np.count_nonzero(ids[place] != job))
        place, task, time, event = place[ours], task[ours].astype(np.int64), time[ours], event[ours]
        np.minimum.at(start, place[event == SCHEDULE], time[event == SCHEDULE])
        over = np.isin(event, list(ENDS))
        np.maximum.at(end, place[over], time[over])
        np.fmax.at(priority, place, rank[ours])
        asked = event == SUBMIT
        key = place[asked] * np.int64(1 << 32) + task[asked]
        asked_for.add(key, np.nan_to_num(cores[ours][asked]), np.nan_to_num(bytes_[ours][asked]))
    key, cpu, memory = asked_for.merged()
    owner = key >> 32
    known = np.isfinite(start) & np.isfinite(end) & (end > start)
    return Tasks(
        np.bincount(owner, minlength=jobs),
        np.asarray(np.bincount(owner, cpu, jobs), dtype=np.float64),
        np.asarray(np.bincount(owner, memory, jobs), dtype=np.float64),
        np.where(np.isfinite(priority), priority, np.nan),
        _seconds(start),
        np.where(known, _seconds(np.where(known, end, 0)), UNKNOWN),
        orphans,
    )


class _Asked:
    """The largest request of every task, merged now and then, so that it costs little more than one sort of all."""

    LEAST = 4_000_000

    def __init__(self) -> None:
        self.parts: list[tuple[Ints, Floats, Floats]] = [(np.empty(0, dtype=np.int64), np.empty(0), np.empty(0))]
        self.waiting = 0

    def add(self, key: Ints, cpu: Floats, memory: Floats) -> None:
        """Take requests."""
        self.parts.append((key, cpu, memory))
        self.waiting += len(key)
        if self.waiting > max(self.LEAST, len(self.parts[0][0])):
            self.merged()

    def merged(self) -> tuple[Ints, Floats, Floats]:
        """Return each task once."""
        keys, cpus, memories = (np.concatenate(column) for column in zip(*self.parts, strict=True))
        key, back = np.unique(keys, return_inverse=True)
        result = key, _largest(cpus, back, len(key)), _largest(memories, back, len(key))
        self.parts, self.waiting = [result], 0
        return result


def _largest(values: Floats, group: Ints, groups: int) -> Floats:
    result = np.zeros(groups)
    np.maximum.at(result, group, values)
    return result


def _usage(
    tables: Any, ids: Ints, tasks: Tasks, wanted: npt.NDArray[np.bool_], capacity: Floats, notes: Notes
) -> Trace:
    """Add up, for each job and five minutes, what its tasks used; tasks run side by side, not one after the other."""
    jobs = len(ids)
    running = wanted & (tasks.start != UNKNOWN) & (tasks.end != UNKNOWN)
    begin = np.where(running, (tasks.start - EPOCH) // QUANTUM, 0)
    stop = np.where(running, -(-(tasks.end - EPOCH) // QUANTUM), 0)
    bounds = offsets(stop - begin)
    sums, seen = np.zeros(int(bounds[-1])), np.zeros(int(bounds[-1]), dtype=bool)
    outside = 0
    for table in tables:
        first, last, job, rate = (real(table, name, "task_usage") for name in table.column_names)
        place = np.minimum(np.searchsorted(ids, np.nan_to_num(job, nan=-1.0)), jobs - 1)
        good = (ids[place] == job) & running[place] & np.isfinite(rate) & np.isfinite(first) & (last > first)
        place, first, last, rate = place[good], first[good] / MICRO, last[good] / MICRO, rate[good]
        bins = (first // QUANTUM).astype(np.int64)
        inside = (bins >= begin[place]) & (bins < stop[place])
        outside += int(np.count_nonzero(~inside))
        slot = (bounds[:-1][place] + bins - begin[place])[inside]
        np.add.at(sums, slot, (rate * np.minimum(last - first, QUANTUM) / QUANTUM)[inside])
        seen[slot] = True
    job = np.repeat(np.arange(jobs), stop - begin)
    some = np.bincount(job[seen], minlength=jobs) > 0
    last_seen = np.maximum.accumulate(np.where(seen, np.arange(len(job)), -1))
    sums = np.where(last_seen >= bounds[:-1][job], sums[last_seen], 0.0)
    notes.tally("gap", np.bincount(job[~seen & some[job]], minlength=jobs), "samples")
    busy, wrong = fraction(np.divide(sums, capacity[job], out=np.zeros(len(sums)), where=capacity[job] > 0))
    kept = some[job]
    notes.count("sample_outside", outside)
    notes.note("no_samples", ~some & running)
    notes.tally("clipped", np.bincount(job[wrong], minlength=jobs), "samples")
    # bins are those of the trace; a job that starts within one has its first sample from before its start
    lengths = np.where(some, stop - begin, 0)
    start = np.where(some, EPOCH + begin * QUANTUM - np.where(running, tasks.start, 0), 0)
    return Trace(busy[kept], offsets(lengths), start, np.full(jobs, QUANTUM), "1")
