"""Look-alike of Blue Waters: Torque's accounting (a file for each day) and the traffic of some nodes in the first day.

Assumed: sizes mostly powers of two, runtimes log-uniform to 24 h. The sampler's excerpt has four columns and, so that
files stay small, no more than 256 nodes. Oddities: other events than ends, jobs that stand twice, jobs deleted before
they ran (no start), counters that begin anew, no samples for some minutes.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa

from twin_gym.workload import Status, Workload

from ._distributions import Discrete, LogUniform, Mixture
from ._draft_columns import write_csv
from ._draft_jobs import Profile, draft, nodes_of
from ._population import Population

PROFILE = Profile(
    system="bluewaters",
    sizes=Discrete(
        (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096),
        (0.45, 0.1, 0.1, 0.08, 0.08, 0.07, 0.05, 0.03, 0.02, 0.01, 0.006, 0.003, 0.001),
    ),
    runtimes=Mixture((LogUniform(30, 3600), LogUniform(3600, 86_400)), (0.65, 0.35)),
    epoch=int(datetime(2017, 3, 28, 5, tzinfo=UTC).timestamp()),  # midnight in Illinois
    population=Population(users=300, accounts=100),
)
DAY = 86_400
ZONE = 5 * 3600
"""Clocks in Illinois are behind UTC by so much in summer, s."""
NODES = 256
EXITS = {Status.COMPLETED: 0, Status.FAILED: 1, Status.CANCELLED: 271, Status.TIMEOUT: -11, Status.NODE_FAIL: -9}


def write(out: Path, jobs: int, seed: int, progress: Callable[[int, int], None]) -> list[Path]:
    """Write ``torque_logs/YYYYMMDD`` and ``cray_system_sampler/YYYYMMDD``."""
    workload = draft(PROFILE, jobs, seed)
    rng = np.random.default_rng([seed, 2])
    logs, sampler = out / "torque_logs", out / "cray_system_sampler"
    for folder in (logs, sampler):
        folder.mkdir(exist_ok=True)
    lines, ends = _lines(workload, rng)
    day = (ends - ZONE) // DAY
    files = []
    for each in np.unique(day):
        path = logs / _name(int(each))
        path.write_text("".join(np.array(lines, dtype=object)[day == each]), encoding="ascii")
        files.append(path)
        progress(int(np.count_nonzero(day <= each)), jobs)
    first = int((workload.epoch - ZONE) // DAY)
    return [*files, write_csv(sampler / _name(first), [_samples(workload, rng)], header=False)]


def _name(day: int) -> str:
    return np.datetime_as_string(np.datetime64(day, "D")).replace("-", "")


def _lines(workload: Workload, rng: np.random.Generator) -> tuple[list[str], np.ndarray]:
    """Return lines and the instants of their events, in the order of the jobs' ends."""
    w, ids = workload, nodes_of(workload)
    never = (w.status == Status.CANCELLED) & (rng.random(len(w)) < 0.05)
    twice = rng.random(len(w)) < 0.002
    ends = w.start + w.runtime + w.epoch
    lines, instants = [], []
    for job in np.argsort(ends, kind="stable"):
        number, end = f"{6_300_000 + w.id[job]}.bw", int(ends[job])
        clock = datetime.fromtimestamp(end - ZONE, UTC).strftime("%m/%d/%Y %H:%M:%S")
        size, limit = int(w.nodes[job]), int(w.requested_time[job])
        hosts = "+".join(f"{node}/0-31" for node in ids[job])
        begin = w.submit[job] + w.epoch
        head = (
            f"user=USER{w.user[job]}U group=GRP{w.account[job]}G account=A{w.account[job]}A jobname=run{job % 50} "
            f"queue={w.partitions[w.partition[job]]} ctime={begin} qtime={begin} etime={begin} "
        )
        ran = f"start={w.start[job] + w.epoch} owner=USER{w.user[job]}U@h2ologin2 exec_host={hosts} "
        tail = (
            f"Resource_List.neednodes={size}:ppn=32 Resource_List.nodect={size} Resource_List.nodes={size}:ppn=32 "
            f"Resource_List.walltime={limit // 3600:02d}:{limit // 60 % 60:02d}:{limit % 60:02d} session=1 "
            f"unique_node_count={size} end={end} Exit_status={EXITS[Status(int(w.status[job]))]} "
            f"resources_used.walltime=00:00:00\n"
        )
        event = "D" if never[job] else "E"
        lines.append(f"{clock};{event};{number};{head}{'' if never[job] else ran}{tail}")
        instants.append(end)
        if twice[job]:
            lines.append(lines[-1])
            instants.append(end)
    return lines, np.array(instants)


def _samples(workload: Workload, rng: np.random.Generator) -> pa.Table:
    """Return the growing counters of the first nodes, every minute of the first day."""
    nodes = np.arange(min(NODES, int(nodes_of(workload).values.max()) + 1))
    span = min(DAY, int((workload.start + workload.runtime).max()) + 60)
    minutes = np.arange(0, span, 60) + workload.epoch
    growth = rng.lognormal(15.0, 2.0, (2, len(nodes), len(minutes))).astype(np.int64)
    counters = np.cumsum(growth, axis=2)
    restart = rng.integers(0, len(nodes), max(len(nodes) // 50, 1))
    counters[:, restart, len(minutes) // 2 :] -= counters[:, restart, len(minutes) // 2, None]
    table = pa.table(
        {
            "ts": np.tile(minutes, len(nodes)),
            "nid": np.repeat(nodes, len(minutes)),
            "tx": counters[0].ravel(),
            "rx": counters[1].ravel(),
        }
    )
    return table.filter(pa.array(rng.random(len(table)) > 0.002))
