"""Look-alike of Google's trace of 2011: one part each of job, task and machine events and of task usage.

Assumed: jobs of one task to hundreds, each asking for most of a machine's half-sized CPU; runtimes log-uniform to a
day; 12,500 machines of three kinds. Oddities: times of microseconds, no titles, no limits, tasks that are evicted and
submitted again, jobs that go on after the end, machines that come again, jobs without records of use.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from twin_gym.workload import Status, Workload

from ._distributions import Discrete, LogUniform, Mixture
from ._draft_columns import write_csv
from ._draft_jobs import Profile, draft
from ._draft_traces import positions, utilisation
from ._population import Population

PROFILE = Profile(
    system="google-2011",
    nodes=12_500,
    sizes=Discrete((1, 2, 5, 10, 50, 200), (0.75, 0.08, 0.07, 0.06, 0.03, 0.01)),
    runtimes=Mixture((LogUniform(30, 1800), LogUniform(1800, 86_400)), (0.8, 0.2)),
    epoch=1_304_290_800,  # when the trace begins, 600 s after its microsecond 0
    population=Population(users=400, accounts=1),
    outcomes={Status.COMPLETED: 0.6, Status.CANCELLED: 0.35, Status.FAILED: 0.05},
    placed=False,
)
BEFORE = 600
MICRO = 1_000_000
ENDS = {Status.COMPLETED: 4, Status.CANCELLED: 5, Status.FAILED: 3}
WINDOW = 300
CPU, MEMORY = 0.5, 0.2493
"""The commonest machine."""


def write(out: Path, jobs: int, seed: int, progress: Callable[[int, int], None]) -> list[Path]:
    """Write one part of each folder."""
    workload = draft(PROFILE, jobs, seed)
    rng = np.random.default_rng([seed, 2])
    tables = {
        "job_events": _jobs(workload),
        "task_events": _tasks(workload, rng),
        "machine_events": _machines(rng),
        "task_usage": _usage(workload, rng),
    }
    files = []
    for name, table in tables.items():
        (out / name).mkdir(exist_ok=True)
        files.append(write_csv(out / name / "part-00000-of-00001.csv", [table], header=False))
    progress(jobs, jobs)
    return files


def _micro(seconds: np.ndarray) -> np.ndarray:
    return np.asarray((seconds + BEFORE) * MICRO, dtype=np.int64)


def _ids(workload: Workload) -> np.ndarray:
    return np.asarray(workload.id + 6_000_000_000)


def _jobs(w: Workload) -> pa.Table:
    ended = np.array([ENDS.get(Status(code), 5) for code in range(max(Status) + 1)])[w.status]
    count = len(w)
    time = np.concatenate([w.submit, w.start, w.start + w.runtime])
    event = np.concatenate([np.zeros(count, dtype=int), np.ones(count, dtype=int), ended])
    order = np.argsort(time, kind="stable")
    user = np.char.mod("user%d", np.tile(w.user, 3)[order])
    return pa.table(
        {
            "time": _micro(time[order]),
            "missing": pa.nulls(3 * count, pa.int64()),
            "job": np.tile(_ids(w), 3)[order],
            "event": event[order],
            "user": pa.array(user),
            "class": np.tile(w.id % 4, 3)[order],
            "name": pa.array(np.full(3 * count, "name=")),
            "logical": pa.array(np.full(3 * count, "logical=")),
        }
    )


def _tasks(w: Workload, rng: np.random.Generator) -> pa.Table:
    nodes = w.nodes.astype(np.int64)
    job, task = np.repeat(np.arange(len(w)), nodes), positions(nodes)
    rows = len(job)
    again = rng.random(rows) < 0.02
    middle = w.start[job] + w.runtime[job] // 2
    ended = np.array([ENDS.get(Status(code), 5) for code in range(max(Status) + 1)])[w.status][job]
    endless = (rng.random(len(w)) < 0.002)[job]
    steps: list[tuple[Any, Any, Any]] = [
        (w.submit[job], 0, np.ones(rows, dtype=bool)),
        (w.start[job], 1, np.ones(rows, dtype=bool)),
        (middle, 2, again),  # evicted, submitted and scheduled anew in the same second
        (middle, 0, again),
        (middle, 1, again),
        ((w.start + w.runtime)[job], ended, ~endless),
    ]
    time, event, owner, index = (
        np.concatenate(parts)
        for parts in zip(
            *((t[keep], np.broadcast_to(e, rows)[keep], job[keep], task[keep]) for t, e, keep in steps), strict=True
        )
    )
    order = np.argsort(time, kind="stable")
    owner, count = owner[order], len(order)
    # so much for each task that all of them fill the machines but for a third of one
    share = (nodes - 0.3) / nodes
    return pa.table(
        {
            "time": _micro(time[order]),
            "missing": pa.nulls(count, pa.int64()),
            "job": _ids(w)[owner],
            "task": index[order],
            "machine": rng.integers(1, 12_501, count),
            "event": event[order],
            "user": pa.array(np.char.mod("user%d", w.user[owner])),
            "class": w.id[owner] % 4,
            "priority": w.priority[owner].astype(np.int64) % 12,
            "cpu": CPU * share[owner],
            "memory": 0.3 * MEMORY * share[owner],
            "disk": np.full(count, 0.001),
            "different": np.zeros(count, dtype=np.int64),
        }
    )


def _machines(rng: np.random.Generator) -> pa.Table:
    count = PROFILE.nodes or 0
    kind = rng.choice(3, count, p=(0.55, 0.35, 0.1))
    cpu, memory = np.array([CPU, CPU, 1.0])[kind], np.array([MEMORY, 0.4995, 1.0])[kind]
    return pa.table(
        {
            "time": np.concatenate([np.zeros(count, dtype=np.int64), np.full(50, 700 * MICRO)]),
            "machine": np.concatenate([np.arange(1, count + 1), np.arange(1, 51)]),
            "event": np.concatenate([np.zeros(count, dtype=np.int64), np.tile([1, 0], 25)]),
            "platform": pa.array(np.full(count + 50, "platform=")),
            "cpu": np.concatenate([cpu, cpu[:50]]),
            "memory": np.concatenate([memory, memory[:50]]),
        }
    )


def _usage(w: Workload, rng: np.random.Generator) -> pa.Table:
    """Return records of five minutes, of a few tasks of each job; the rest have none, as in parts of the original."""
    tasks = np.minimum(w.nodes.astype(np.int64), 4)
    first, last = (w.start + BEFORE) // WINDOW, (w.start + w.runtime + BEFORE - 1) // WINDOW
    windows = np.where(rng.random(len(w)) < 0.03, 0, np.minimum(last - first + 1, 288))
    lengths = np.repeat(windows, tasks)
    job = np.repeat(np.repeat(np.arange(len(w)), tasks), lengths)
    task = np.repeat(positions(tasks), lengths)
    begin = (first[job] + positions(lengths)) * WINDOW
    rate = np.maximum(utilisation(rng, lengths, 0.1, 0.9), 0) * CPU * (w.nodes / tasks)[job]
    count = len(job)
    zeros = np.zeros(count)
    begin_at = np.maximum(begin, w.start[job] + BEFORE) * MICRO
    columns = {
        "start": begin_at,
        "end": np.maximum(np.minimum(begin + WINDOW, (w.start + w.runtime)[job] + BEFORE) * MICRO, begin_at + MICRO),
        "job": _ids(w)[job],
        "task": task,
        "machine": task + 1,
        "rate": rate,
    }
    return pa.table(columns | {f"c{k}": zeros for k in range(14)})
