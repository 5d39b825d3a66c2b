"""Look-alike of the Adastra MI250 jobs (GENCI-CINES, 15 days): ``AdastaJobsMI250_15days.parquet`` (spelled so).

Schema: Zenodo 14007065. The original is 1.2 MB for tens of thousands of jobs, and the one public reader divides the sum
of an array by runtime and nodes; so arrays hold one number for each job here: its energy in J. Time limits are
deadlines in Unix seconds, as one of two descriptions has them. Assumed: sizes mostly one node, log-uniform
runtimes to 24 h.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from twin_gym.system import System
from twin_gym.workload import Status, Workload

from ._distributions import Discrete, LogUniform, Mixture
from ._draft_columns import SLURM_STATES, UTC_US, dates, emptied, lists, named, write_parquet
from ._draft_jobs import Profile, draft, nodes_of
from ._population import Population

PROFILE = Profile(
    system="adastra",
    sizes=Discrete((1, 2, 4, 8, 16, 32, 64, 128), (0.62, 0.12, 0.1, 0.07, 0.05, 0.025, 0.01, 0.005)),
    runtimes=Mixture((LogUniform(20, 3600), LogUniform(3600, 86_400)), (0.75, 0.25)),
    epoch=int(datetime(2024, 9, 1, 22, tzinfo=UTC).timestamp()),  # midnight in France
    population=Population(users=120, accounts=40),
)
ROWS = 65_536


def write(out: Path, jobs: int, seed: int, progress: Callable[[int, int], None]) -> list[Path]:
    """Write ``AdastaJobsMI250_15days.parquet``."""
    workload = draft(PROFILE, jobs, seed)
    rng = np.random.default_rng([seed, 2])
    path = out / "AdastaJobsMI250_15days.parquet"
    return [write_parquet(path, SCHEMA, jobs, ROWS, lambda some: _table(workload, some, rng), progress)]


def _table(workload: Workload, some: slice, rng: np.random.Generator) -> pa.Table:
    w = workload
    status, nodes = w.status[some], w.nodes[some].astype(np.int64)
    count = len(nodes)
    never = (status == Status.CANCELLED) & (rng.random(count) < 0.05)
    runtime = np.where(never, 0, w.runtime[some])
    submit, start = w.submit[some] + w.epoch, w.start[some] + w.epoch
    columns: dict[str, Any] = {
        "job_id": w.id[some] + 1_000_000,
        "user_id": w.user[some].astype(np.int64),
        "num_nodes_req": nodes,
        "num_nodes_alloc": np.where(never, 0, nodes),
        "num_cores_req": nodes * 64,
        "num_gpus_req": nodes * 8,
        "nodes": lists(*emptied(nodes_of(w).take(some).values, nodes, never)),
        "partition": pa.array(np.full(count, "mi250")),
        "qos": pa.array(np.full(count, "normal")),
        "priority": w.priority[some].astype(np.int64),
        "job_state": named(status, SLURM_STATES),
        "submit_time": dates(submit),
        "start_time": dates(start, never),
        "end_time": dates(np.where(never, submit + 30, start + runtime)),
        "run_time": runtime,
        "time_limit": start + w.requested_time[some],
    }
    energies = _joules(rng, nodes * runtime, rng.random(count) < 0.01)
    measured = runtime > 0
    for name, joules in zip(("node", "cpu", "mem"), energies, strict=True):
        columns[f"{name}_power_consumption"] = lists(joules[measured], measured.astype(np.int64))
    return pa.table({name: columns[name] for name in SCHEMA.names}, schema=SCHEMA)


def _joules(rng: np.random.Generator, node_seconds: np.ndarray, faulty: np.ndarray) -> list[np.ndarray]:
    """Return the energies of whole nodes, CPUs and memory; a faulty meter of the node counts too little."""
    node = System.load(PROFILE.system).partitions[0].node
    jobs = len(node_seconds)
    cpu = node.cpus * (node.cpu_idle_w + (node.cpu_max_w - node.cpu_idle_w) * rng.beta(1.5, 4.0, jobs))
    gpu = node.gpus * (node.gpu_idle_w + (node.gpu_max_w - node.gpu_idle_w) * rng.beta(1.0, 1.5, jobs))
    memory = node.memory_w * rng.uniform(0.9, 1.1, jobs)
    whole = np.where(faulty, cpu + memory, cpu + gpu + memory + node.nics * node.nic_idle_w + node.nvme_w)
    return [np.rint(watts * node_seconds).astype(np.int64) for watts in (whole, cpu, memory)]


SCHEMA = pa.schema(
    [
        *((name, pa.int64()) for name in ("job_id", "user_id", "num_nodes_req", "num_nodes_alloc")),
        *((name, pa.int64()) for name in ("num_cores_req", "num_gpus_req")),
        ("nodes", pa.list_(pa.int64())),
        *((name, pa.string()) for name in ("partition", "qos")),
        ("priority", pa.int64()),
        ("job_state", pa.string()),
        *((name, UTC_US) for name in ("submit_time", "start_time", "end_time")),
        *((name, pa.int64()) for name in ("run_time", "time_limit")),
        *((f"{what}_power_consumption", pa.list_(pa.int64())) for what in ("node", "cpu", "mem")),
    ]
)
