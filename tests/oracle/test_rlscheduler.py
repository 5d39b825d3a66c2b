"""RLScheduler's own results on its own log: means of 200 windows of 256 jobs, drawn as its authors' code draws them.

The figures were measured by running that simulator, without and with its backfilling. Its wfp3 and unicep are left out:
they rank far behind fcfs there, where the published formulas rank far ahead of it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import twin_gym as tg
from twin_gym.envs.core import TwinVectorEnv

WINDOWS, JOBS = 200, 256
MEANS = {
    "none": {"fcfs": 2070.0, "sjf": 338.2, "f1": 323.4, "f2": 317.4, "f3": 366.4, "f4": 372.5},
    "ending_before": {"fcfs": 115.8, "sjf": 73.6, "f1": 65.2, "f2": 65.9, "f3": 63.5, "f4": 65.4},
}


@pytest.fixture(scope="module")
def log(shared_dir: Path) -> tg.Workload:
    return tg.datasets.load("swf", shared_dir / "data" / "swf" / "lublin_256.swf.gz")


@pytest.mark.parametrize("backfill", MEANS)
@pytest.mark.parametrize("policy", MEANS["none"])
def test_mean_bounded_slowdowns_are_those_of_rlscheduler(backfill, policy, log):
    windows = np.random.RandomState(11).randint(JOBS, len(log) - JOBS - 1, WINDOWS)
    env = TwinVectorEnv(
        WINDOWS, autoreset_mode="SameStep", copy=False, workload=log, system=256, episode_jobs=JOBS, policy=policy,
        pick="block", backfill=backfill, origin="log", layout="rlscheduler",
    )  # fmt: skip
    env.reset(seed=0, options={"first": windows})
    slowdown = np.full(WINDOWS, np.nan)
    first = np.zeros(WINDOWS, np.int64)
    while np.isnan(slowdown).any():
        _, _, over, _, info = env.step(first)
        if over.any():
            new = over & np.isnan(slowdown)
            slowdown[new] = info["final_info"]["objective/bounded_slowdown"][new]
    assert slowdown.mean() == pytest.approx(MEANS[backfill][policy], rel=0.005)
