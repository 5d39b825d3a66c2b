"""Look-alike of Frontier's two traces: jobs and power profiles as Parquet sets, and the public log in its SWF dialect.

The Parquet sets (``joblive/``, ``jobprofile/``; 15 s) aren't public; their columns are those of the public reader. The
log has 21 fields, of which the node counts of two are unreliable and the last, ``frontier:excl:NxM``, tells the nodes.
Assumed: sizes of a leadership machine, log-uniform runtimes to 24 h. Oddities: rows that stand twice (the later one
counts), jobs without a start, an end, node names or samples, profiles that begin late or have gaps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from twin_gym.system import System
from twin_gym.workload import Status, Workload

from ._distributions import Discrete, LogUniform, Mixture
from ._draft_columns import SLURM_STATES, UTC_US, dates, named
from ._draft_jobs import Profile, draft, nodes_of
from ._draft_traces import positions, utilisation
from ._population import Population

PROFILE = Profile(
    system="frontier",
    sizes=Discrete(
        (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 5645, 9216),
        (0.42, 0.1, 0.1, 0.1, 0.08, 0.06, 0.05, 0.04, 0.02, 0.012, 0.01, 0.005, 0.002, 0.001),
    ),
    runtimes=Mixture((LogUniform(20, 3600), LogUniform(3600, 86_400)), (0.8, 0.2)),
    epoch=int(datetime(2024, 1, 16, 5, tzinfo=UTC).timestamp()),  # midnight in Tennessee
    population=Population(users=400, accounts=120),
)
QUANTUM = 15
ROWS = 8192
SWF_STATES = {Status.COMPLETED: 1, Status.CANCELLED: 5}


def write(out: Path, jobs: int, seed: int, progress: Callable[[int, int], None]) -> list[Path]:
    """Write ``joblive/part-0.parquet``, ``jobprofile/part-0.parquet`` and ``frontier-2024.swf``."""
    workload = draft(PROFILE, jobs, seed)
    rng = np.random.default_rng([seed, 2])
    live, profile, log = out / "joblive/part-0.parquet", out / "jobprofile/part-0.parquet", out / "frontier-2024.swf"
    for path in (live, profile):
        path.parent.mkdir(exist_ok=True)
    pq.write_table(_jobs(workload, rng), live, row_group_size=ROWS)
    with pq.ParquetWriter(profile, PROFILE_SCHEMA) as file:
        for table in _profiles(workload, rng, progress):
            file.write_table(table)
    _write_log(log, workload, rng)
    return [live, profile, log]


def xnames(places: np.ndarray) -> np.ndarray:
    """Name places in the racks: cabinet ``x2RCC`` (row, column; row 6 begins at column 9), chassis, slot, board."""
    rack, within = np.divmod(places.astype(np.int64), 128)
    row, column = np.divmod(rack, 12)
    column = np.where(row == 6, column + 9, column)
    chassis, rest = np.divmod(within, 16)
    slot, board = np.divmod(rest, 2)
    text = np.char.mod("x2%d", row)
    for form, number in (("%02d", column), ("c%d", chassis), ("s%d", slot), ("b%d", board)):
        text = np.char.add(text, np.char.mod(form, number))
    return text


def _jobs(workload: Workload, rng: np.random.Generator) -> pa.Table:
    w = workload
    count = len(w)
    status, nodes = w.status, w.nodes.astype(np.int64)
    never = (status == Status.CANCELLED) & (rng.random(count) < 0.05)
    endless = rng.random(count) < 0.002
    nameless = rng.random(count) < 0.005
    places = nodes_of(w).values[~np.repeat(never | nameless, nodes)]
    lengths = np.where(never | nameless, 0, nodes)
    names = pa.ListArray.from_arrays(
        pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32()), pa.array(xnames(places))
    )
    columns: dict[str, Any] = {
        "job_id": pa.array(np.char.mod("%d", w.id + 1_500_000)),
        "allocation_id": w.id + 1_500_000,
        "account": pa.array(np.char.mod("PRJ%03d", w.account)),
        "node_count": nodes,
        "state_current": named(status, SLURM_STATES),
        "name": pa.array(np.char.mod("run%d", w.id % 50)),
        "time_submission": dates(w.submit + w.epoch),
        "time_limit": w.requested_time,
        "time_start": dates(w.start + w.epoch, never),
        "time_end": dates(w.start + w.runtime + w.epoch, never | endless),
        "xnames": names,
    }
    table = pa.table(columns)
    twice = np.flatnonzero(rng.random(count) < 0.002)
    early = table.take(twice).set_column(
        table.schema.get_field_index("state_current"), "state_current", pa.array(np.full(len(twice), "RUNNING"))
    )
    return pa.concat_tables([early, table])


def _profiles(workload: Workload, rng: np.random.Generator, progress: Callable[[int, int], None]) -> Iterator[pa.Table]:
    """Yield the samples of some thousand jobs at a time, in the order of time within each."""
    node = System.load(PROFILE.system).partitions[0].node
    for first in range(0, len(workload), ROWS):
        some = slice(first, min(first + ROWS, len(workload)))
        runtime, nodes = workload.runtime[some], workload.nodes[some].astype(np.int64)
        late = rng.integers(0, 45, len(runtime))
        samples = np.maximum((runtime - late) // QUANTUM, 0)
        samples[rng.random(len(samples)) < 0.01] = 0
        cpu = node.cpus * (node.cpu_idle_w + (node.cpu_max_w - node.cpu_idle_w) * utilisation(rng, samples, 0.05, 0.5))
        gpu = node.gpus * (node.gpu_idle_w + (node.gpu_max_w - node.gpu_idle_w) * utilisation(rng, samples, 0.0, 1.0))
        whole = cpu + gpu + node.memory_w + node.nics * node.nic_idle_w + node.nvme_w
        each = np.repeat(nodes, samples)
        time = np.repeat(workload.start[some] + workload.epoch + late, samples) + positions(samples) * QUANTUM
        table = pa.table(
            {
                "timestamp": dates(time),
                "allocation_id": np.repeat(workload.id[some] + 1_500_000, samples),
                "sum_cpu0_power": np.rint(cpu * each).astype(np.float64),
                "sum_gpu_power": np.rint(gpu * each).astype(np.float64),
                "mean_node_power": np.rint(whole).astype(np.float64),
            },
            schema=PROFILE_SCHEMA,
        )
        yield table.filter(pa.array(rng.random(len(time)) >= 0.002))
        progress(some.stop, len(workload))


def _write_log(path: Path, workload: Workload, rng: np.random.Generator) -> None:
    """Write the SWF dialect; fields 4 and 7 hold cores for some of the jobs."""
    w = workload
    nodes = w.nodes.astype(np.int64)
    odd = np.where(rng.random(len(w)) < 0.6, nodes * 64, nodes)
    unknown = np.full(len(w), -1, dtype=np.int64)
    limit = np.where(rng.random(len(w)) < 0.002, -1, w.requested_time)
    states = np.array([SWF_STATES.get(Status(code), 0) for code in range(max(Status) + 1)])
    fields = [
        w.id, w.submit, w.start - w.submit, w.runtime, odd, unknown, unknown, odd, limit, unknown, states[w.status],
        w.user + 1, w.account + 1, unknown, w.partition + 1, unknown, unknown, unknown, nodes * 8, unknown,
    ]  # fmt: skip
    text = fields[0].astype(str)
    for field in fields[1:]:
        text = np.char.add(np.char.add(text, " "), field.astype(str))
    text = np.char.add(text, np.char.mod(" frontier:excl:%dx112", nodes))
    with open(path, "w", encoding="ascii", newline="\n") as file:
        file.write(f"; Version: 2.2\n; Computer: Frontier\n; UnixStartTime: {w.epoch}\n; TimeZoneString: US/Eastern\n")
        file.write("\n".join(text.tolist()) + "\n")


PROFILE_SCHEMA = pa.schema(
    [
        ("timestamp", UTC_US),
        ("allocation_id", pa.int64()),
        *((name, pa.float64()) for name in ("sum_cpu0_power", "sum_gpu_power", "mean_node_power")),
    ]
)
