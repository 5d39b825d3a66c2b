"""Reads the schedules that CQSim computed, the jobs as it saw them, and the logs from which it read them."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

import twin_gym as tg

Ints = npt.NDArray[np.int64]

# machine, log, and how many of its job lines CQSim was given (None: all)
TRACES = {
    "theta2022_4k": (4360, "ALCF-Theta-2022-cqsimplus.swf.gz", 4_000),
    "theta2022_full": (4360, "ALCF-Theta-2022-cqsimplus.swf.gz", None),
    "kth_5k": (100, "KTH-SP2-1996-2.1-cln.swf.gz", 5_000),
    "kth_full": (100, "KTH-SP2-1996-2.1-cln.swf.gz", None),
    "lanl_8k": (1024, "LANL-CM5-1994-4.1-cln.swf.gz", 8_000),
    "lanl_30k": (1024, "LANL-CM5-1994-4.1-cln.swf.gz", 30_000),
    "sdsc_6k": (128, "SDSC-SP2-1998-4.2-cln.swf.gz", 6_000),
    "sdsc_full": (128, "SDSC-SP2-1998-4.2-cln.swf.gz", None),
}
POLICY = {"ljf": "longest", "spf": "smallest", "lpf": "largest"}
BACKFILL = {"none": "none", "easy": "easy", "cons": "conservative"}
ESTIMATES = {"native": "hybrid", "req": "requested", "perfect": "perfect"}


def golden(shared: Path, trace: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read the jobs as CQSim saw them, and their waits, one column for each combination."""
    folder = shared / "oracle" / "cqsim"
    jobs, waits = (pd.read_csv(folder / f"{trace}.{what}.csv.gz") for what in ("jobs", "waits"))
    return jobs, waits.set_index("id")


def as_seen(shared: Path, trace: str) -> tg.Workload:
    """Make a workload of the jobs as CQSim saw them after its filter."""
    jobs, _ = golden(shared, trace)
    names = {"run": "runtime", "req_time": "requested_time", "req_procs": "nodes"}
    return tg.Workload.from_frame(jobs.rename(columns=names), strict=True)


def from_log(shared: Path, trace: str) -> tg.Workload:
    """Read the log itself, cut after as many job lines as CQSim was given."""
    _, name, lines = TRACES[trace]
    path = shared / "data" / "swf" / name
    if lines is None:
        return tg.datasets.load("swf", path, missing_requests="drop")
    taken = []
    with gzip.open(path, "rt", encoding="latin-1") as file:
        for line in file:
            if not line.startswith(";"):
                lines -= 1
                if lines < 0:
                    break
            taken.append(line)
    return tg.datasets.load("swf", io.BytesIO("".join(taken).encode("latin-1")), missing_requests="drop")


def run_column(system: tg.System, workload: tg.Workload, column: str) -> tg.Result:
    """Run what a golden column stands for: ``policy.backfill.durations[.w3]``."""
    policy, backfill, durations, *window = column.split(".")
    return tg.simulate(
        system,
        workload,
        POLICY.get(policy, policy),
        BACKFILL[backfill],
        estimates=ESTIMATES[durations],
        semantics="cqsim",
        window=3 if window else 0,
    )


def waits_of(result: tg.Result) -> Ints:
    """Return every job's wait, s; all jobs must have started."""
    return result.jobs["wait"].to_numpy(np.int64)
