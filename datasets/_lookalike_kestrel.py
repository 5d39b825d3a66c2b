"""Look-alike of the table of Kestrel's jobs that the public reader asks for: ``kestrel_jobs.parquet``.

Assumed: sizes mostly small, runtimes log-uniform to two days, watts of the mean node every 20 s. Oddities: dates in
Mountain Time without a zone, jobs cancelled before they started, missing and empty arrays.
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
from ._draft_columns import NAIVE_US, SLURM_STATES, dates, lists, named, write_parquet
from ._draft_jobs import Profile, draft
from ._draft_traces import utilisation
from ._population import Population

PROFILE = Profile(
    system="kestrel",
    sizes=Discrete((1, 2, 4, 8, 16, 32, 64, 128, 256), (0.6, 0.12, 0.1, 0.08, 0.05, 0.03, 0.012, 0.006, 0.002)),
    runtimes=Mixture((LogUniform(20, 3600), LogUniform(3600, 172_800)), (0.8, 0.2)),
    epoch=int(datetime(2024, 12, 1, 7, tzinfo=UTC).timestamp()),  # midnight in Colorado, on standard time
    max_request=172_800,
    population=Population(users=250, accounts=80),
    placed=False,
)
LOCAL = -7 * 3600
QUANTUM = 20
ROWS = 8192


def write(out: Path, jobs: int, seed: int, progress: Callable[[int, int], None]) -> list[Path]:
    """Write ``kestrel_jobs.parquet``."""
    workload = draft(PROFILE, jobs, seed)
    rng = np.random.default_rng([seed, 2])
    path = out / "kestrel_jobs.parquet"
    return [write_parquet(path, SCHEMA, jobs, ROWS, lambda some: _table(workload, some, rng), progress)]


def _table(workload: Workload, some: slice, rng: np.random.Generator) -> pa.Table:
    w = workload
    status, runtime = w.status[some], w.runtime[some]
    count = len(status)
    never = (status == Status.CANCELLED) & (rng.random(count) < 0.05)
    unmetered = rng.random(count) < 0.02
    samples = np.where(never | unmetered, 0, runtime // QUANTUM)
    node = System.load(PROFILE.system).partitions[0].node
    busy = utilisation(rng, samples, 0.2, 1.0)
    watts = node.cpus * (node.cpu_idle_w + (node.cpu_max_w - node.cpu_idle_w) * busy)
    watts += node.memory_w + node.nics * node.nic_idle_w + node.nvme_w
    submit, start = w.submit[some] + w.epoch + LOCAL, w.start[some] + w.epoch + LOCAL
    columns: dict[str, Any] = {
        "job_id": w.id[some] + 7_000_000,
        "account": pa.array(np.char.mod("acct%02d", w.account[some])),
        "nodes_required": w.nodes[some].astype(np.int64),
        "job_state": named(status, SLURM_STATES),
        "submit_time": dates(submit, kind=NAIVE_US),
        "start_time": dates(start, never, NAIVE_US),
        "end_time": dates(np.where(never, submit, start + runtime), kind=NAIVE_US),
        "wall_time": w.requested_time[some],
        "power_per_node": lists(np.rint(watts).astype(np.float64), samples, unmetered),
    }
    return pa.table(columns, schema=SCHEMA)


SCHEMA = pa.schema(
    [
        ("job_id", pa.int64()),
        ("account", pa.string()),
        ("nodes_required", pa.int64()),
        ("job_state", pa.string()),
        *((name, NAIVE_US) for name in ("submit_time", "start_time", "end_time")),
        ("wall_time", pa.int64()),
        ("power_per_node", pa.list_(pa.float64())),
    ]
)
