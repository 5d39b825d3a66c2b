"""Reads what a real Slurm 22.05 did with four small job mixes; states its priority formula. Times in ms.

What the columns mean is told by the README beside the record.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from twin_gym.outages import parse_nodes

NODES = 8
PERIOD = 60_000  # PriorityCalcPeriod
PHASE, FORCE = 18_200, 400  # priorities were recalculated at 18.2 s + 60 k, and in force 0.4 s later


def recalculated(time: int) -> int:
    """Return when the priorities in force at a time were calculated."""
    return max(0, PHASE + PERIOD * ((time - PHASE - FORCE) // PERIOD))


def slurm_priority(jobs: pd.DataFrame, time: int) -> pd.Series:
    """Slurm's own priority, rounded down: age at the last recalculation, a size term that grows at the first one."""
    then = recalculated(time)
    nodes = jobs["nodes"] / NODES
    size = np.where(jobs["submit"] <= then, nodes, (nodes + nodes / 4) / 2)
    age = np.minimum((then - jobs["submit"]).clip(lower=0) / 600_000, 1)
    return np.floor(1000 * age + 1000 * size)


@dataclass(frozen=True)
class Pass:
    """One scheduling pass of Slurm: when, the jobs tested in their order (main passes list none), the jobs started."""

    time: int
    kind: str
    queue: list[int]
    priorities: list[int]
    started: list[int]


@dataclass(frozen=True)
class Mix:
    """What Slurm did with one job mix; `jobs` by job number, with the columns of the record in ms and `ids` (nodes)."""

    jobs: pd.DataFrame
    passes: list[Pass]
    multifactor: bool = False

    @classmethod
    def read(cls, folder: Path, name: str) -> Mix:
        """Read the record of one mix."""
        jobs = pd.read_csv(folder / f"{name}.jobs.csv").set_index("job")
        for column in ("submit", "start", "end", "limit", "duration", "submit_intended"):
            jobs[column] = np.rint(jobs[f"{column}_s"] * 1000).astype(np.int64)
        jobs["ids"] = [parse_nodes(text.strip("n").strip("[]")) for text in jobs["nodelist"]]
        assert [len(ids) for ids in jobs["ids"]] == jobs["nodes"].tolist()
        passes = pd.read_csv(folder / f"{name}.passes.csv.gz", dtype=str, keep_default_na=False)
        lists = [[list(map(int, text.split())) for text in passes[c]] for c in ("queue", "priorities", "started")]
        times = np.rint(passes["time_s"].astype(float) * 1000).astype(int).tolist()
        rows = zip(times, passes["kind"], *lists, strict=True)
        return cls(jobs, [Pass(*row) for row in rows], name.startswith("multifactor"))

    def of_kind(self, kind: str) -> list[Pass]:
        """Backfill passes, or the main passes that started something."""
        return [it for it in self.passes if it.kind == kind and (it.started or kind == "backfill")]

    def running(self, at: Pass) -> pd.DataFrame:
        """Jobs that ran when a pass began, in the order of their starts."""
        jobs = self.jobs
        ran = (jobs["start"] < at.time) & (jobs["end"] > at.time) & ~jobs.index.isin(at.started)
        return jobs[ran].sort_values("start", kind="stable")

    def waiting(self, at: Pass) -> list[int]:
        """Jobs that waited when a pass began, by job number: the queue of a main pass, which isn't listed."""
        jobs = self.jobs
        late = (jobs["start"] >= at.time) | jobs.index.isin(at.started)
        return jobs.index[(jobs["submit"] < at.time) & late].tolist()

    def in_order_of_starts(self) -> list[int]:
        """Jobs in the order of their passes (of their starts, where the pass isn't listed) and of priority in each."""
        began = self.jobs["start"].to_dict() | {job: at.time for at in self.passes for job in at.started}

        def turn(job: int) -> tuple[int, float, int]:
            priority = slurm_priority(self.jobs.loc[[job]], began[job]).item() if self.multifactor else 0.0
            return began[job], -priority, job

        return sorted(self.jobs.index, key=turn)
