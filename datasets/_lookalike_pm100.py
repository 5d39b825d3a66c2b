"""Look-alike of PM100 (Marconi100 at CINECA, 2020): ``job_table.parquet`` with power arrays at 20 s.

Schema: Zenodo 10127767. Assumed, as no statistics of the real table were at hand: sizes mostly powers of two with more
than half the jobs on one node; runtimes log-uniform, four fifths below 1 h, on average 1.6 h (so that 231,238 jobs make
a file of the original's size); 100 users. Its oddities: jobs cancelled before they started have no start, no nodes and
no power; one array may be shorter than the others; short jobs have empty arrays; some nodes are shared; some job
numbers stand twice; time limits are in minutes.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twin_gym.system import System
from twin_gym.workload import Status, Workload

from ._distributions import Discrete, LogUniform, Mixture
from ._draft_columns import SLURM_STATES, UTC_US, dates, emptied, lists, named, shortened, write_parquet
from ._draft_jobs import Profile, draft, nodes_of
from ._draft_traces import utilisation
from ._population import Population

PROFILE = Profile(
    system="marconi100",
    sizes=Discrete(
        (1, 2, 3, 4, 8, 16, 32, 64, 128, 256), (0.55, 0.12, 0.03, 0.10, 0.08, 0.07, 0.035, 0.01, 0.004, 0.001)
    ),
    runtimes=Mixture((LogUniform(20, 3600), LogUniform(3600, 86_400)), (0.8, 0.2)),
    epoch=int(datetime(2020, 5, 3, 22, tzinfo=UTC).timestamp()),  # midnight in Italy
    population=Population(users=100, accounts=30),
)
QUANTUM = 20
ROWS = 8192
"""Jobs in a row group."""


def write(out: Path, jobs: int, seed: int, progress: Callable[[int, int], None]) -> list[Path]:
    """Write ``job_table.parquet``."""
    workload = draft(PROFILE, jobs, seed)
    rng = np.random.default_rng([seed, 2])
    path = out / "job_table.parquet"
    return [write_parquet(path, SCHEMA, jobs, ROWS, lambda some: _table(workload, some, rng), progress)]


def _table(workload: Workload, some: slice, rng: np.random.Generator) -> pa.Table:
    w = workload
    status, nodes, runtime = w.status[some], w.nodes[some].astype(np.int64), w.runtime[some]
    count = len(nodes)
    never = (status == Status.CANCELLED) & (rng.random(count) < 0.05)
    unmetered = rng.random(count) < 0.01
    runtime = np.where(never, 0, runtime)
    samples = np.where(unmetered, 0, runtime // QUANTUM)
    ids = w.id[some] + 5_000_000
    twice = rng.random(count) < 0.0002
    ids = np.where(twice, ids - 1, ids)
    start = w.start[some] + w.epoch
    columns: dict[str, Any] = {
        "job_id": ids,
        "user_id": w.user[some] + 1,
        "group_id": w.account[some] + 1,
        "job_state": named(status, SLURM_STATES),
        "submit_time": dates(w.submit[some] + w.epoch),
        "eligible_time": dates(w.submit[some] + w.epoch),
        "start_time": dates(start, never),
        "end_time": dates(np.where(never, w.submit[some] + w.epoch + 60, start + runtime)),
        "run_time": runtime,
        "time_limit": w.requested_time[some] // 60,
        "num_nodes_req": nodes,
        "num_nodes_alloc": np.where(never, 0, nodes),
        "num_cores_req": nodes * 32,
        "num_cores_alloc": np.where(never, 0, nodes * 128),
        "num_gpus_req": nodes * 4,
        "num_gpus_alloc": np.where(never, 0, nodes * 4),
        "mem_req": nodes * 237,
        "mem_alloc": np.where(never, 0, nodes * 237),
        "num_tasks": nodes * 4,
        "cores_per_task": np.full(count, 8),
        "threads_per_core": np.full(count, 4),
        "priority": w.priority[some].astype(np.int64) + 10_000,
        "partition": pa.array(np.char.mod("%d", w.partition[some])),
        "qos": pa.array(np.where(w.partition[some] == 1, "dbg", "normal")),
        "shared": pa.array(np.where(rng.random(count) < 0.05, "1", "0")),
        "nodes": lists(*emptied(nodes_of(w).take(some).values, nodes, never)),
        "derived_ec": pa.array(np.where(status == Status.FAILED, "1:0", "0:0")),
        "state_reason": pa.array(np.where(status == Status.TIMEOUT, "TimeLimit", "None")),
        "req_nodes": pa.nulls(count, pa.string()),
        "cores_allocated": pa.array(np.full(count, "{}"), mask=never),
        "cores_alloc_layout": pa.array(np.full(count, "{}"), mask=never),
    }
    power = _power(rng, nodes, samples)
    for name, watts in zip(("node", "cpu", "mem"), power, strict=True):
        columns[f"{name}_power_consumption"] = shortened(rng, watts, samples, 0.05, unmetered & (ids % 2 == 0))
    return pa.table({name: columns[name] for name in SCHEMA.names}, schema=SCHEMA)


def _power(
    rng: np.random.Generator, nodes: npt.NDArray[np.int64], samples: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], ...]:
    """Return the watts of whole nodes, CPUs and memory, summed over each job's nodes; shape (samples.sum(),)."""
    node = System.load(PROFILE.system).partitions[0].node
    cpu = node.cpus * (node.cpu_idle_w + (node.cpu_max_w - node.cpu_idle_w) * utilisation(rng, samples, 0.1, 0.7))
    gpu = node.gpus * (node.gpu_idle_w + (node.gpu_max_w - node.gpu_idle_w) * utilisation(rng, samples, 0.0, 1.0))
    memory = node.memory_w * (1 + 0.1 * rng.standard_normal(len(cpu), dtype=np.float32))
    whole = cpu + gpu + memory + node.nics * node.nic_idle_w + node.nvme_w
    each = np.repeat(nodes, samples)
    return tuple(np.rint(np.maximum(watts, 0) * each).astype(np.int64) for watts in (whole, cpu, memory))


SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("cores_alloc_layout", "cores_allocated")),
        ("cores_per_task", pa.int64()),
        ("derived_ec", pa.string()),
        ("eligible_time", UTC_US),
        ("end_time", UTC_US),
        *((name, pa.int64()) for name in ("group_id", "job_id")),
        ("job_state", pa.string()),
        ("nodes", pa.list_(pa.int64())),
        *((f"num_{what}_{how}", pa.int64()) for what in ("cores", "gpus", "nodes") for how in ("req", "alloc")),
        *((name, pa.int64()) for name in ("mem_req", "mem_alloc", "num_tasks")),
        ("partition", pa.string()),
        ("priority", pa.int64()),
        *((name, pa.string()) for name in ("qos", "req_nodes")),
        ("run_time", pa.int64()),
        ("shared", pa.string()),
        ("start_time", UTC_US),
        ("state_reason", pa.string()),
        ("submit_time", UTC_US),
        *((name, pa.int64()) for name in ("threads_per_core", "time_limit", "user_id")),
        *((f"{what}_power_consumption", pa.list_(pa.int64())) for what in ("node", "cpu", "mem")),
    ]
)
