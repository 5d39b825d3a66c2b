"""Look-alike of the MIT SuperCloud data: ``slurm-log.csv``, ``cpu/<job>-timeseries.csv``, ``gpu/<job>-<node>.csv``.

Assumed: nine in ten jobs on one node, runtimes log-uniform to a day, jobs hold whole nodes (in the original they share
them); series of no more than 200 jobs and an hour each, so that files stay few and small. Oddities: limits of
4294967295 minutes, jobs that never started (start 0), series that begin late, several steps of a job, quoted lists of
nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from twin_gym.system import System
from twin_gym.workload import Ragged, Status, Workload

from ._distributions import Discrete, LogUniform, Mixture
from ._draft_columns import write_csv
from ._draft_jobs import Profile, draft, nodes_of
from ._draft_traces import utilisation
from ._population import Population

PROFILE = Profile(
    system="mit_supercloud",
    sizes=Discrete((1, 2, 4, 8, 16, 32), (0.9, 0.04, 0.03, 0.02, 0.008, 0.002)),
    runtimes=Mixture((LogUniform(10, 3600), LogUniform(3600, 86_400)), (0.8, 0.2)),
    epoch=int(datetime(2021, 5, 1, 4, tzinfo=UTC).timestamp()),  # midnight in Massachusetts
    population=Population(users=200, accounts=1),
)
STATES = {Status.COMPLETED: 3, Status.CANCELLED: 4, Status.FAILED: 5, Status.TIMEOUT: 6, Status.NODE_FAIL: 7}
UNLIMITED = 4_294_967_295
SERIES = 200
HOUR = 3600


def write(out: Path, jobs: int, seed: int, progress: Callable[[int, int], None]) -> list[Path]:
    """Write the log and the series."""
    system = System.load(PROFILE.system)
    workload = _mixed(draft(PROFILE, jobs, seed), system)
    rng = np.random.default_rng([seed, 2])
    gpus = _gpus(workload, system, rng)
    files = [write_csv(out / "slurm-log.csv", [_log(workload, gpus, rng)], quoted=True)]
    for folder in ("cpu", "gpu"):
        (out / folder).mkdir(exist_ok=True)
    chosen = np.flatnonzero(workload.runtime >= 60)[:SERIES]
    for done, job in enumerate(map(int, chosen), 1):
        files += _series(out, workload, job, int(gpus[job]), system, rng)
        progress(jobs * done // len(chosen), jobs)
    progress(jobs, jobs)
    return files


def _mixed(workload: Workload, system: System) -> Workload:
    """Rename the nodes so that both partitions are used alike: the scheduler takes the lowest numbers first."""
    rank = np.concatenate([np.arange(part.nodes) / part.nodes for part in system.partitions])
    renamed = np.empty(system.total_nodes, dtype=np.int32)
    renamed[system.places] = system.places[np.argsort(rank, kind="stable")]
    ids = nodes_of(workload)
    return replace(workload, node_ids=Ragged(renamed[ids.values], ids.offsets))


def _gpus(workload: Workload, system: System, rng: np.random.Generator) -> np.ndarray:
    """Give GPUs to the jobs that run on nodes of the second partition alone."""
    ids, first = nodes_of(workload), system.partitions[0].topology.total_nodes
    job = np.repeat(np.arange(len(workload)), ids.lengths)
    inside = np.bincount(job[ids.values >= first], minlength=len(workload)) == ids.lengths
    return np.where(inside, rng.integers(1, 3, len(workload)), 0)


def _name(place: int) -> str:
    return f"r{9_189_566 + place // 40}-n{911_000 + place}"


def _log(workload: Workload, gpus: np.ndarray, rng: np.random.Generator) -> pa.Table:
    w, ids = workload, nodes_of(workload)
    count = len(w)
    nodes = w.nodes.astype(np.int64)
    never = (w.status == Status.CANCELLED) & (rng.random(count) < 0.05)
    start = np.where(never, 0, w.start + w.epoch)
    names = [str([_name(int(place)) for place in ids[job]]) if not never[job] else "[]" for job in range(count)]
    zeros = np.zeros(count, dtype=np.int64)
    with_gpu = np.char.mod(",1002=%d", gpus)
    tres = np.char.add(np.char.mod("1=%d,2=170000,4=1,5=20", nodes * 20), np.where(gpus > 0, with_gpu, ""))
    states = np.array([STATES.get(Status(code), 5) for code in range(max(Status) + 1)])
    columns: dict[str, Any] = {
        "id_job": w.id + 4_000_000,
        "id_array_job": zeros,
        "id_array_task": np.full(count, UNLIMITED - 1),
        "id_user": w.user.astype(np.int64) + 50_000_000,
        "kill_requid": np.full(count, -1),
        "nodes_alloc": np.where(never, 0, nodes),
        "nodelist": pa.array(names),
        "cpus_req": nodes * 20,
        "derived_ec": zeros,
        "exit_code": np.where(w.status == Status.FAILED, 256, 0),
        "gres_used": pa.array(np.where(gpus > 0, np.char.mod("gpu:volta:%d", gpus), "")),
        "array_max_tasks": zeros,
        "array_task_pending": zeros,
        "constraints": pa.array(np.where(gpus > 0, "xeon-g6", "xeon-p8")),
        "flags": np.full(count, 4),
        "mem_req": np.full(count, 9_223_372_036_854_784_308, dtype=np.uint64),
        "partition": pa.array(np.full(count, "normal")),
        "priority": w.priority.astype(np.int64),
        "state": states[w.status],
        "timelimit": np.where(rng.random(count) < 0.2, UNLIMITED, w.requested_time // 60),
        "time_submit": w.submit + w.epoch,
        "time_eligible": w.submit + w.epoch,
        "time_start": start,
        "time_end": np.where(never, w.submit + w.epoch + 5, start + w.runtime),
        "time_suspended": zeros,
        "track_steps": zeros,
        "tres_alloc": pa.array(tres),
        "tres_req": pa.array(tres),
        "job_type": pa.array(np.full(count, "OTHER")),
    }
    return pa.table(columns)


def _series(out: Path, w: Workload, job: int, gpus: int, system: System, rng: np.random.Generator) -> list[Path]:
    """Write the series of one job: every 10 s of each node's CPUs, every second of each GPU."""
    nodes = [_name(int(place)) for place in nodes_of(w)[job]]
    begin, length = int(w.start[job] + w.epoch), min(int(w.runtime[job]), HOUR)
    number = int(w.id[job]) + 4_000_000
    part = system.partitions[1 if gpus else 0].node
    cores = part.cpus * (part.cores_per_cpu or 1)
    at = np.arange(int(rng.integers(0, 10)), length, 10)
    lengths = np.full(len(nodes), len(at))
    use = np.maximum(utilisation(rng, lengths, 0.05, 0.8), 0) * cores * 100
    both = {
        "Step": np.repeat([-1, 0], len(use)),
        "Node": pa.array(np.tile(np.repeat(nodes, len(at)), 2)),
        "Series": np.zeros(2 * len(use), dtype=np.int64),
        "ElapsedTime": np.tile(at, 2 * len(nodes)),
        "EpochTime": begin + np.tile(at, 2 * len(nodes)),
        "CPUFrequency": np.full(2 * len(use), 2_400_000),
        "CPUTime": np.tile(use / 10, 2),
        "CPUUtilization": np.concatenate([use, use * 0.9]).round(2),
        **{name: np.zeros(2 * len(use)) for name in ("RSS", "VMSize", "Pages", "ReadMB", "WriteMB")},
    }
    files = [write_csv(out / "cpu" / f"{number}-timeseries.csv", [pa.table(both)])]
    if gpus:
        at = np.arange(int(rng.integers(0, 30)), length)
        for node in nodes:
            busy = np.clip(utilisation(rng, np.full(gpus, len(at)), 0.1, 1.0), 0, 1)
            rows = len(busy)
            table = pa.table(
                {
                    "timestamp": np.tile(begin + at, gpus).astype(float),
                    "gpu_index": np.repeat(np.arange(gpus), len(at)),
                    "utilization_gpu_pct": np.rint(busy * 100),
                    "utilization_memory_pct": np.rint(busy * 40),
                    "memory_free_MiB": np.full(rows, 16_000.0),
                    "memory_used_MiB": np.full(rows, 16_000.0),
                    "temperature_gpu": np.full(rows, 50.0),
                    "temperature_memory": np.full(rows, 50.0),
                    "power_draw_W": np.rint(75 + 225 * busy),
                    "pcie_link_width_current": np.full(rows, 16.0),
                }
            )
            files.append(write_csv(out / "gpu" / f"{number}-{node}.csv", [table]))
    return files
