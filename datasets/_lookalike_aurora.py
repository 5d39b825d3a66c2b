"""Look-alike of Aurora's public job log (ALCF): ``ANL-ALCF-DJC-AURORA_20250127_20251031.csv``, 53 columns.

Assumed: sizes from one node to most of the machine, runtimes log-uniform to 24 h. Oddities: COBALT_JOBID is the same in
all rows, so that the job's number is in JOB_NAME, with brackets for arrays; node names are cut short for large jobs;
jobs without cores; ends before starts; times with and without fractions.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from twin_gym.workload import Status, Workload

from ._distributions import Discrete, LogUniform, Mixture
from ._draft_columns import text_dates, write_csv
from ._draft_jobs import Profile, draft, nodes_of
from ._population import Population

PROFILE = Profile(
    system="aurora",
    sizes=Discrete(
        (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 9000),
        (0.4, 0.12, 0.1, 0.1, 0.08, 0.06, 0.05, 0.04, 0.02, 0.015, 0.008, 0.004, 0.002, 0.001),
    ),
    runtimes=Mixture((LogUniform(30, 3600), LogUniform(3600, 86_400)), (0.85, 0.15)),
    epoch=int(datetime(2025, 1, 27, tzinfo=UTC).timestamp()),
    population=Population(users=400, accounts=120),
)
ROWS = 20_000
NAMED = 40
"""So many node names fit into LOCATION."""
CORES = 104

COLUMNS = (
    "JOB_NAME COBALT_JOBID MACHINE_NAME QUEUED_TIMESTAMP QUEUED_DATE_ID START_TIMESTAMP START_DATE_ID END_TIMESTAMP "
    "END_DATE_ID USERNAME_GENID PROJECT_NAME_GENID QUEUE_NAME WALLTIME_SECONDS RUNTIME_SECONDS NODES_USED "
    "NODES_REQUESTED CORES_USED CORES_REQUESTED LOCATION EXIT_STATUS ELIGIBLE_WAIT_SECONDS ELIGIBLE_WAIT_FACTOR "
    "QUEUED_WAIT_SECONDS QUEUED_WAIT_FACTOR REQUESTED_CORE_HOURS USED_CORE_HOURS CAPABILITY_USAGE_CORE_HOURS "
    "NONCAPABILITY_USAGE_CORE_HOURS BUCKETS3_A_USAGE_CORE_HOURS BUCKETS3_B_USAGE_CORE_HOURS "
    "BUCKETS3_C_USAGE_CORE_HOURS MACHINE_PARTITION EXIT_CODE MODE RESID DATA_LOAD_STATUS CAPABILITY SIZE_BUCKETS3 "
    "PERCENTILE NUM_TASKS_SUBBLOCK NUM_TASKS_CONSECUTIVE NUM_TASKS_MULTILOCATION NUM_TASKS_SINGLE COBALT_NUM_TASKS "
    "IS_SINGLE IS_CONSECUTIVE IS_MULTILOCATION IS_SUBBLOCK IS_NO_TASKS IS_OTHER OVERBURN_CORE_HOURS IS_OVERBURN "
    "ALLOCATION_AWARD_CATEGORY"
)


def write(out: Path, jobs: int, seed: int, progress: Callable[[int, int], None]) -> list[Path]:
    """Write the log."""
    workload = draft(PROFILE, jobs, seed)
    rng = np.random.default_rng([seed, 2])
    path = out / "ANL-ALCF-DJC-AURORA_20250127_20251031.csv"
    parts = [slice(first, min(first + ROWS, jobs)) for first in range(0, jobs, ROWS)]

    def tables() -> Any:
        for part in parts:
            yield _table(workload, part, rng)
            progress(part.stop, jobs)

    return [write_csv(path, tables(), quoted=True)]


def _table(workload: Workload, some: slice, rng: np.random.Generator) -> pa.Table:
    w = workload
    count = some.stop - some.start
    nodes, status = w.nodes[some].astype(np.int64), w.status[some]
    submit, start, runtime = w.submit[some] + w.epoch, w.start[some] + w.epoch, w.runtime[some]
    backwards, coreless = rng.random(count) < 0.001, rng.random(count) < 0.001
    end = np.where(backwards, start - 30, start + runtime)
    array = rng.random(count) < 0.01
    numbers = np.char.mod("%d", w.id[some] + 1_000_000)
    name = np.where(array, np.char.add(numbers, "[3].aurora-pbs-0001"), np.char.add(numbers, ".aurora-pbs-0001"))
    fraction = np.where(rng.random(count) < 0.3, rng.integers(1, 400_000, count), 0)
    known: dict[str, Any] = {
        "JOB_NAME": pa.array(name),
        "COBALT_JOBID": np.zeros(count, dtype=np.int64),
        "MACHINE_NAME": pa.array(np.full(count, "aurora")),
        "QUEUED_TIMESTAMP": text_dates(submit),
        "START_TIMESTAMP": text_dates(start, fraction),
        "END_TIMESTAMP": text_dates(end, fraction),
        "USERNAME_GENID": pa.array(np.char.mod("%d", w.user[some] * 97 + 10_000_000)),
        "PROJECT_NAME_GENID": pa.array(np.char.mod("%d", w.account[some] * 89 + 20_000_000)),
        "QUEUE_NAME": pa.array(np.where(w.partition[some] == 1, "debug", "prod")),
        "WALLTIME_SECONDS": w.requested_time[some].astype(float),
        "RUNTIME_SECONDS": (end - start).astype(float),
        "NODES_USED": np.where(coreless, 0, nodes).astype(float),
        "NODES_REQUESTED": nodes.astype(float),
        "CORES_USED": np.where(coreless, 0, nodes * CORES).astype(float),
        "CORES_REQUESTED": (nodes * CORES).astype(float),
        "LOCATION": pa.array(_locations(workload, some)),
        "EXIT_STATUS": np.where(status == Status.COMPLETED, 0, np.where(status == Status.TIMEOUT, -29, 1)).astype(
            float
        ),
        "MODE": pa.array(np.full(count, "script")),
    }
    return pa.table({name: known.get(name, pa.nulls(count, pa.string())) for name in COLUMNS.split()})


def _locations(workload: Workload, some: slice) -> list[str]:
    """Return the names of the nodes, comma by comma; of large jobs only the first ones."""
    ids = nodes_of(workload)
    return [",".join(map(name_of, ids[job][:NAMED])) for job in range(some.start, some.stop)]


def name_of(place: int) -> str:
    """Return the name of a place in the racks: cabinet, chassis, slot."""
    rack, within = divmod(int(place), 64)
    return f"x4{rack // 8:02d}{rack % 8}c{within // 8}s{within % 8}b0n0"
