"""Replaying a sample draws what its jobs are recorded to have drawn, and idle: by the formulas, at every instant."""

from __future__ import annotations

import numpy as np
import pytest

import twin_gym as tg
from twin_gym.power import PowerModel, power_history

SAMPLES = ("adastra", "aurora", "bluewaters", "fdata", "frontier", "kestrel", "last", "pm100", "supercloud")
SYSTEMS = {"fdata": "fugaku", "last": "lassen", "pm100": "marconi100", "supercloud": "mit_supercloud"}


def held(trace, job: int, elapsed: np.ndarray, missing: float) -> np.ndarray:
    """What a trace holds so many seconds after its job's start."""
    values = trace.values[trace.offsets[job] : trace.offsets[job + 1]].astype(np.float64) if trace is not None else []
    if not len(values):
        return np.full(len(elapsed), missing)
    if trace.quantum[job] == 0:
        return np.full(len(elapsed), values[0])
    due = (elapsed - trace.start[job]) // trace.quantum[job]
    return np.where(due < 0, 0.0, values[np.clip(due, 0, len(values) - 1)])


@pytest.mark.parametrize("name", SAMPLES)
def test_the_system_draws_the_sum_of_its_jobs_and_idle(name):
    system = tg.System.load(SYSTEMS.get(name, name))
    log = tg.datasets.load("sample", name)
    result = tg.simulate(system, log, "replay")
    assert result.jobs["start"].tolist() == log.start.tolist()
    history = power_history(result, system)
    model = PowerModel(system)
    time = history.time[:-1]
    drawn = np.full(len(time), model.idle)
    start, end = (result.jobs[key].to_numpy(np.int64) for key in ("start", "end"))
    for job in range(len(log)):
        # as its first node's: a job that the log lets run across partitions has one kind of node all the same
        first = 0 if result.placement is None else model.partition_of[result.placement[job][0]]
        node, conversion = system.partitions[first].node, system.partitions[first].conversion
        inside = (time >= start[job]) & (time < end[job])
        elapsed = time[inside] - start[job]
        metered = held(log.traces.get("node_power"), job, elapsed, np.nan)
        cpu, gpu = (held(log.traces.get(kind), job, elapsed, 0.7) for kind in ("cpu", "gpu"))
        busy = node.cpus * cpu * (node.cpu_max_w - node.cpu_idle_w) + node.gpus * gpu * (
            node.gpu_max_w - node.gpu_idle_w
        )
        watts = np.where(np.isnan(metered), busy, metered - node.idle_w)
        drawn[inside] += log.nodes[job] * watts / conversion.sivoc_efficiency / conversion.rectifier_efficiency
    np.testing.assert_allclose(history.total[:-1], drawn, rtol=1e-9)
