"""Look-alike of Philly: its log of jobs (JSON), list of machines, and series of CPU and GPU use.

Assumed: nine in ten jobs on one machine, runtimes log-uniform to four days (series cover the first six hours).
Oddities: several attempts, times written ``None``, jobs without an attempt, a stale number of GPUs in the list,
blanks after its commas, PST and PDT, values that are missing.
"""

from __future__ import annotations

import json
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
from ._draft_traces import utilisation
from ._population import Population

MACHINES, SMALL = 552, 83
"""Machines, and how many of them have two GPUs."""
PROFILE = Profile(
    system="philly",
    nodes=MACHINES,
    sizes=Discrete((1, 2, 4, 8, 16), (0.9, 0.05, 0.03, 0.015, 0.005)),
    runtimes=Mixture((LogUniform(60, 3600), LogUniform(3600, 345_600)), (0.6, 0.4)),
    epoch=int(datetime(2017, 10, 3, 7, tzinfo=UTC).timestamp()),  # midnight in Washington, in summer time
    max_request=345_600,
    population=Population(users=300, accounts=14),
    outcomes={Status.COMPLETED: 0.69, Status.CANCELLED: 0.14, Status.FAILED: 0.17},
)
LOCAL = -7 * 3600
STATES = {Status.COMPLETED: "Pass", Status.CANCELLED: "Killed", Status.FAILED: "Failed"}
HOURS = 6


def write(out: Path, jobs: int, seed: int, progress: Callable[[int, int], None]) -> list[Path]:
    """Write the four files."""
    workload = draft(PROFILE, jobs, seed)
    rng = np.random.default_rng([seed, 2])
    log = out / "cluster_job_log"
    log.write_text(json.dumps(_log(workload, rng)), encoding="utf-8")
    machines = out / "cluster_machine_list"
    rows = [f"m{k}, {_label(k)}, {'12GB' if k < SMALL else '24GB'}\n" for k in range(MACHINES)]
    machines.write_text("machineId, number of GPUs, single GPU mem\n" + "".join(rows), encoding="utf-8")
    progress(jobs // 2, jobs)
    used = min(MACHINES, int(nodes_of(workload).values.max()) + 1)
    files = [log, machines]
    for name, columns in (("cpu", ["cpu_util"]), ("gpu", [f"gpu{k}_util" for k in range(8)])):
        files.append(write_csv(out / f"cluster_{name}_util", [_series(workload, used, columns, rng)]))
    progress(jobs, jobs)
    return files


def _label(machine: int) -> int:
    """Return the number of GPUs that the list tells: too few for some of the large machines."""
    return 2 if machine < SMALL or machine % 7 == 0 else 8


def _log(w: Workload, rng: np.random.Generator) -> list[dict[str, Any]]:
    clock = text_dates
    submit, start = (clock(times + w.epoch + LOCAL).to_pylist() for times in (w.submit, w.start))
    end = clock(w.start + w.runtime + w.epoch + LOCAL).to_pylist()
    tried_twice = (rng.random(len(w)) < 0.08) & (w.runtime > 120)
    cut = w.start + w.runtime // 2
    middle, again = (clock(cut + pause + w.epoch + LOCAL).to_pylist() for pause in (0, 30))
    untried, endless = rng.random(len(w)) < 0.005, rng.random(len(w)) < 0.005
    ids = nodes_of(w)
    log = []
    for job in range(len(w)):
        detail = [{"ip": f"m{place}", "gpus": _cards(int(place), rng)} for place in ids[job]]
        times = [(start[job], middle[job]), (again[job], end[job])] if tried_twice[job] else [(start[job], end[job])]
        if endless[job]:
            times[-1] = (times[-1][0], None)
        attempts = [{"start_time": a, "end_time": b, "detail": detail} for a, b in times]
        log.append(
            {
                "status": STATES[Status(int(w.status[job]))],
                "vc": f"{w.account[job] * 7919 % 2**24:06x}",
                "jobid": f"application_1506638472019_{10_000 + job}",
                "attempts": [] if untried[job] else attempts,
                "submitted_time": submit[job],
                "user": f"{w.user[job] * 104_729 % 2**24:06x}",
            }
        )
    return log


def _cards(machine: int, rng: np.random.Generator) -> list[str]:
    many = 2 if machine < SMALL else 8
    return [f"gpu{k}" for k in range(int(rng.integers(1, many + 1)))]


def _series(w: Workload, machines: int, columns: list[str], rng: np.random.Generator) -> pa.Table:
    """Return percent of each machine's devices every minute; devices that a machine hasn't are missing."""
    minutes = np.arange(HOURS * 60) * 60 + w.epoch + LOCAL
    time = np.char.add(text_dates(minutes).to_pandas().to_numpy().astype(str), " PDT")
    lengths = np.full(machines, len(minutes))
    table: dict[str, Any] = {
        "time": pa.array(np.tile(time, machines)),
        "machine_id": pa.array(np.char.mod("m%d", np.repeat(np.arange(machines), len(minutes)))),
    }
    for k, name in enumerate(columns):
        use = np.clip(utilisation(rng, lengths, 0.1, 0.9), 0, 1).round(3) * 100
        absent = np.repeat((np.arange(machines) < SMALL) & (k >= 2), len(minutes)) | (rng.random(len(use)) < 0.01)
        table[name] = pa.array(use.astype(np.float64).round(1), mask=absent)
    return pa.table(table)
