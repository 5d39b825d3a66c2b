"""Look-alike of F-Data (Fugaku at RIKEN, 2021 to 2024): one Parquet file for each month, ``YY_MM.parquet``.

Schema: Zenodo 11467483. Assumed: about 21,000 jobs a day as in the original (24 million in 38 months); sizes from one
node to a sixth of the machine, most of them small; runtimes log-uniform. Of its oddities: ``exit state`` with a blank,
a few dates that are no dates, jobs that end before they start, walltime limits as floats, no node numbers. The
embedding of the job's script has 24 numbers here and 384 there.
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
from ._draft_columns import NAIVE_US, dates, lists, named, write_parquet
from ._draft_jobs import Profile, draft
from ._population import Population

PROFILE = Profile(
    system="fugaku",
    sizes=Discrete(
        (1, 2, 4, 12, 48, 96, 192, 384, 1152, 4608, 13_824, 27_648),
        (0.58, 0.06, 0.09, 0.1, 0.08, 0.03, 0.02, 0.02, 0.014, 0.004, 0.0015, 0.0005),
    ),
    runtimes=Mixture((LogUniform(10, 3600), LogUniform(3600, 86_400)), (0.8, 0.2)),
    epoch=int(datetime(2023, 2, 28, 15, tzinfo=UTC).timestamp()),  # midnight in Japan
    population=Population(users=1000, accounts=200),
    outcomes={Status.COMPLETED: 0.88, Status.FAILED: 0.12},
    load=0.75,
    placed=False,
)
JAPAN = 9 * 3600
"""Dates are local and carry no zone."""
ROWS = 65_536
CORES = 48
CLOCKS_MHZ = (2000, 2200)


def write(out: Path, jobs: int, seed: int, progress: Callable[[int, int], None]) -> list[Path]:
    """Write a file for each month in which jobs were submitted."""
    workload = draft(PROFILE, jobs, seed)
    rng = np.random.default_rng([seed, 2])
    local = (workload.submit + workload.epoch + JAPAN).astype("datetime64[s]").astype("datetime64[M]")
    months, firsts = np.unique(local, return_index=True)
    bounds = [*map(int, firsts), jobs]
    files = []
    for k, month in enumerate(months):
        first, count = bounds[k], bounds[k + 1] - bounds[k]

        def table(some: slice, first: int = first) -> pa.Table:
            return _table(workload, slice(first + some.start, first + some.stop), rng)

        def told(done: int, total: int, first: int = first) -> None:
            progress(first + done, jobs)

        name = str(month)[2:].replace("-", "_")
        files.append(write_parquet(out / f"{name}.parquet", SCHEMA, count, ROWS, table, told))
    return files


def _table(workload: Workload, some: slice, rng: np.random.Generator) -> pa.Table:
    w = workload
    nodes, runtime, status = w.nodes[some].astype(np.int64), w.runtime[some], w.status[some]
    count = len(nodes)
    submit = w.submit[some] + w.epoch + JAPAN
    start = w.start[some] + w.epoch + JAPAN
    backwards = rng.random(count) < 0.001
    dateless = rng.random(count) < 0.001
    end = np.where(backwards, start - 5, start + runtime)
    clock = rng.choice(np.array(CLOCKS_MHZ), count)
    asleep = rng.beta(1.2, 3.0, count)
    cycles = runtime * clock * 1e6 * nodes * CORES
    watts = _watts(rng, 1 - asleep)
    flops = rng.lognormal(24.0, 2.0, count)
    bandwidth = rng.lognormal(22.0, 2.0, count)
    columns: dict[str, Any] = {
        "jid": pa.array(np.char.mod("%d", w.id[some] + 20_000_000)),
        "usr": pa.array(np.char.mod("usr%04d", w.user[some])),
        "jnam": pa.array(np.char.mod("jnam%05d", rng.zipf(1.6, count) % 100_000)),
        "cnumr": nodes * CORES,
        "cnumat": nodes * CORES,
        "cnumut": nodes * CORES,
        "nnumr": nodes,
        "adt": dates(submit, kind=NAIVE_US),
        "qdt": dates(submit, kind=NAIVE_US),
        "schedsdt": dates(start, kind=NAIVE_US),
        "deldt": pa.nulls(count, NAIVE_US),
        "ec": np.where(status == Status.FAILED, 1, 0),
        "elpl": w.requested_time[some].astype(float),
        "sdt": dates(start, dateless, NAIVE_US),
        "edt": dates(end, kind=NAIVE_US),
        "nnuma": nodes,
        "idle_time_ave": runtime * asleep,
        "nnumu": nodes,
        "perf1": cycles * (1 - asleep),
        "perf2": flops * runtime * nodes * 0.5,
        "perf3": flops * runtime * nodes * 0.1,
        "perf4": bandwidth * runtime * nodes * 0.6 / 256,
        "perf5": bandwidth * runtime * nodes * 0.4 / 256,
        "perf6": cycles * asleep,
        "mszl": np.full(count, 28.0 * 2**30),
        "pri": pa.array(np.full(count, 127)),
        "econ": watts * nodes * runtime / 3600,
        "avgpcon": watts,
        "minpcon": watts * 0.8,
        "maxpcon": watts * 1.2,
        "msza": np.full(count, 28.0 * 2**30),
        "mmszu": rng.uniform(1, 28, count) * 2**30,
        "uctmut": runtime * nodes * CORES * (1 - asleep) * 1e3,
        "sctmut": runtime * nodes * 10.0,
        "usctmut": runtime * nodes * CORES * (1 - asleep) * 1e3,
        "jobenv_req": pa.array(np.full(count, "jobenv1")),
        "freq_req": clock,
        "freq_alloc": clock,
        "flops": flops,
        "mbwidth": bandwidth,
        "opint": flops / bandwidth,
        "pclass": pa.array(np.where(flops / bandwidth > 3.3, "compute-bound", "memory-bound")),
        "embedding": lists(rng.standard_normal(count * 24, dtype=np.float32), np.full(count, 24)),
        "exit state": named(status, {Status.COMPLETED: "completed", Status.FAILED: "failed"}),
        "duration": np.where(backwards, -5, runtime).astype(float),
    }
    return pa.table({name: columns[name] for name in SCHEMA.names}, schema=SCHEMA)


def _watts(rng: np.random.Generator, busy: np.ndarray) -> np.ndarray:
    """Return mean watts of one node, in proportion to how busy it is and with as much spread between codes."""
    node = System.load(PROFILE.system).partitions[0].node
    idle, full = node.idle_w, node.full_w
    return np.asarray(idle + (full - idle) * busy * rng.uniform(0.4, 1.0, len(busy)))


def _schema() -> pa.Schema:
    kinds: dict[pa.DataType, str] = {
        pa.string(): "jid usr jnam jobenv_req pclass",
        pa.int64(): "cnumr cnumat cnumut nnumr ec nnuma nnumu pri freq_req freq_alloc",
        NAIVE_US: "adt qdt schedsdt deldt sdt edt",
        pa.list_(pa.float32()): "embedding",
    }
    names = (
        "jid usr jnam cnumr cnumat cnumut nnumr adt qdt schedsdt deldt ec elpl sdt edt nnuma idle_time_ave nnumu perf1 "
        "perf2 perf3 perf4 perf5 perf6 mszl pri econ avgpcon minpcon maxpcon msza mmszu uctmut sctmut usctmut "
        "jobenv_req freq_req freq_alloc flops mbwidth opint pclass embedding"
    )
    order = names.split()
    types = {name: kind for kind, those in kinds.items() for name in those.split()}
    fields = [(name, types.get(name, pa.float64())) for name in order]
    return pa.schema([*fields, ("exit state", pa.string()), ("duration", pa.float64())])


SCHEMA = _schema()
