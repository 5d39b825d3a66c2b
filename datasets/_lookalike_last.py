"""Look-alike of LAST (Lassen at LLNL): three CSV files of IBM's CSM: allocations, nodes of allocations, job steps.

Schema: https://github.com/LLNL/LAST (the original holds 1,467,747 jobs). Assumed: three quarters of the jobs on one
node; runtimes log-uniform up to the 12 h limit, half below 10 min. Its oddities: a nameless index column in front,
local times without a zone, some with microseconds; limits of 2147483647 s; ``num_gpus`` always 0; negative GPU
energies; node rows that are missing; allocations that end before they begin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from twin_gym.system import System
from twin_gym.workload import Status, Workload

from ._distributions import Discrete, LogUniform, Mixture
from ._draft_columns import text_dates, write_csv
from ._draft_jobs import Profile, draft, nodes_of
from ._draft_traces import positions
from ._population import Population

PROFILE = Profile(
    system="lassen",
    sizes=Discrete(
        (1, 2, 3, 4, 8, 16, 32, 64, 128, 256), (0.75, 0.06, 0.02, 0.07, 0.05, 0.03, 0.012, 0.005, 0.002, 0.001)
    ),
    runtimes=Mixture((LogUniform(5, 600), LogUniform(600, 43_200)), (0.5, 0.5)),
    epoch=int(datetime(2019, 3, 1, 8, tzinfo=UTC).timestamp()),  # midnight in California
    max_request=43_200,
    load=0.75,
    population=Population(users=300, accounts=60),
)
LOCAL = -8 * 3600
"""Dates are written as a clock on standard time shows them, without a zone."""
UNLIMITED = 2_147_483_647
ROWS = 100_000
FILES = (
    "final_csm_allocation_history_hashed.csv",
    "final_csm_allocation_node_history.csv",
    "final_csm_step_history.csv",
)


def write(out: Path, jobs: int, seed: int, progress: Callable[[int, int], None]) -> list[Path]:
    """Write the three files."""
    workload = draft(PROFILE, jobs, seed)
    parts = [slice(first, min(first + ROWS, jobs)) for first in range(0, jobs, ROWS)]

    def told(tables: Iterator[pa.Table], share: float) -> Iterator[pa.Table]:
        for part, table in zip(parts, tables, strict=True):
            yield table
            progress(int(jobs * (share + part.stop / jobs) / len(FILES)), jobs)

    makers = (_allocations, _nodes, _steps)
    return [
        write_csv(out / name, told((make(workload, part, seed) for part in parts), k))
        for k, (name, make) in enumerate(zip(FILES, makers, strict=True))
    ]


def _allocations(workload: Workload, some: slice, seed: int) -> pa.Table:
    rng = np.random.default_rng([seed, 2, some.start])
    w = workload
    count = some.stop - some.start
    nodes, status = w.nodes[some].astype(np.int64), w.status[some]
    submit, start = w.submit[some] + w.epoch + LOCAL, w.start[some] + w.epoch + LOCAL
    backwards = rng.random(count) < 0.0005
    end = np.where(backwards, start - 1, start + w.runtime[some])
    limit = np.where(rng.random(count) < 0.01, UNLIMITED, w.requested_time[some])
    zeros = np.zeros(count, dtype=np.int64)
    columns: dict[str, Any] = {
        "": np.arange(some.start, some.stop),
        "allocation_id": w.id[some] + 1000,
        "primary_job_id": w.id[some] + 200_000,
        "launch_node_name": pa.array(np.full(count, "lassen708")),
        "isolated_cores": np.full(count, 2),
        "user_flags": pa.nulls(count, pa.string()),
        "system_flags": pa.nulls(count, pa.string()),
        "ssd_min": zeros,
        "ssd_max": zeros,
        "num_nodes": nodes,
        "num_processors": zeros,
        "num_gpus": zeros,
        "projected_memory": zeros,
        "type": pa.array(np.full(count, "user-managed")),
        "job_type": pa.array(np.full(count, "batch")),
        "hashed_user_id": pa.array(np.char.mod("u%08x", w.user[some].astype(np.int64) * 2_654_435_761 % 2**32)),
        "hashed_user_group_id": pa.array(np.char.mod("g%08x", w.account[some].astype(np.int64) * 40_503 % 2**32)),
        "begin_time": text_dates(start, _fractions(rng, count)),
        "end_time": text_dates(end, _fractions(rng, count)),
        "exit_status": np.where(status == Status.COMPLETED, 0, np.where(status == Status.TIMEOUT, 140, 1)),
        "job_submit_time": text_dates(submit),
        "queue": pa.array(np.where(w.partition[some] == 1, "pdebug", "pbatch")),
        "requeue": pa.array(np.full(count, "N")),
        "time_limit": limit,
        "smt_mode": rng.choice(np.array([4, 2, 1]), count, p=(0.9, 0.05, 0.05)),
        "core_blink": pa.array(np.full(count, "f")),
    }
    return pa.table(columns)


def _fractions(rng: np.random.Generator, count: int) -> np.ndarray:
    """Return microseconds, none for most rows; small ones, so that seconds are rounded down."""
    return np.where(rng.random(count) < 0.7, rng.integers(1, 400_000, count), 0)


def _nodes(workload: Workload, some: slice, seed: int) -> pa.Table:
    rng = np.random.default_rng([seed, 3, some.start])
    node = System.load(PROFILE.system).partitions[0].node
    nodes = workload.nodes[some].astype(np.int64)
    ids = nodes_of(workload).take(some).values
    rows = int(nodes.sum())
    gpu = np.repeat(rng.beta(1.0, 1.5, len(nodes)), nodes) * rng.uniform(0.9, 1.0, rows)
    cpu = np.repeat(rng.beta(1.5, 4.0, len(nodes)), nodes) * rng.uniform(0.9, 1.0, rows)
    runtime = np.repeat(workload.runtime[some], nodes).astype(float)
    gpu_w = node.gpus * (node.gpu_idle_w + (node.gpu_max_w - node.gpu_idle_w) * gpu)
    cpu_w = node.cpus * (node.cpu_idle_w + (node.cpu_max_w - node.cpu_idle_w) * cpu)
    whole_w = gpu_w + cpu_w + node.memory_w + node.nics * node.nic_idle_w + node.nvme_w
    threads = node.cpus * (node.cores_per_cpu or 1) * 4
    traffic = (
        np.repeat(np.where(nodes > 1, np.minimum(rng.lognormal(16.0, 2.5, len(nodes)), 2e10), 0.0), nodes) * runtime / 4
    )
    zeros = np.zeros(rows, dtype=np.int64)
    missing = np.repeat(rng.random(len(nodes)) < 0.01, nodes) & (positions(nodes) == 0)
    columns: dict[str, Any] = {
        "allocation_id": np.repeat(workload.id[some] + 1000, nodes),
        "node_name": pa.array(np.char.mod("lassen%d", ids + 1)),
        "shared": pa.array(np.full(rows, "f")),
        "energy": np.rint(whole_w * runtime).astype(np.int64),
        "gpfs_read": rng.integers(0, 10**9, rows),
        "gpfs_write": rng.integers(0, 10**9, rows),
        "ib_tx": np.rint(traffic).astype(np.int64),
        "ib_rx": np.rint(traffic * 0.98).astype(np.int64),
        "power_cap": zeros,
        "power_shifting_ratio": zeros,
        "power_cap_hit": zeros,
        "gpu_usage": np.rint(gpu * runtime * node.gpus).astype(np.int64),
        "gpu_energy": np.where(rng.random(rows) < 0.002, -1, np.rint(gpu_w * runtime)).astype(np.int64),
        "cpu_usage": np.rint(cpu * runtime * threads * 1e9).astype(np.int64),
        "memory_usage_max": rng.integers(10**9, 2 * 10**11, rows),
    }
    return pa.table(columns).filter(pa.array(~missing))


def _steps(workload: Workload, some: slice, seed: int) -> pa.Table:
    rng = np.random.default_rng([seed, 4, some.start])
    w = workload
    steps = np.minimum(rng.geometric(0.6, some.stop - some.start) - 1, 20)
    rows = int(steps.sum())
    job = np.repeat(np.arange(some.start, some.stop), steps)
    length = np.maximum(w.runtime[job] // np.maximum(np.repeat(steps, steps), 1), 1)
    begin = w.start[job] + w.epoch + LOCAL + positions(steps) * length
    nodes = w.nodes[job].astype(np.int64)
    columns: dict[str, Any] = {
        "allocation_id": w.id[job] + 1000,
        "step_id": positions(steps) + 1,
        "begin_time": text_dates(begin),
        "end_time": text_dates(begin + length),
        "num_nodes": nodes,
        "num_processors": nodes * 40,
        "num_gpus": nodes * 4,
        "num_tasks": nodes * 4,
        "projected_memory": np.zeros(rows, dtype=np.int64),
        "user_flags": pa.nulls(rows, pa.string()),
        "exit_status": np.where(w.status[job] == Status.COMPLETED, 0, 1),
        "total_u_time": np.rint(length * nodes * 40 * rng.random(rows)),
        "total_s_time": np.rint(length * nodes * rng.random(rows)),
        "omp_thread_limit": pa.array(np.full(rows, "")),
    }
    return pa.table(columns)
