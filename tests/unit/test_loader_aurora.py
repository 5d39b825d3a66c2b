"""Aurora: the whole log, its numbers and its nodes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from unit.foreign_files import csv

from twin_gym import datasets
from twin_gym.datasets.lookalike import fake


def test_columns(tmp_path: Path) -> None:
    columns = {
        "JOB_NAME": ["1001.aurora-pbs-0001", "1002[7].aurora-pbs-0001"],
        "COBALT_JOBID": [0, 0],
        "MACHINE_NAME": ["aurora", "aurora"],
        "QUEUED_TIMESTAMP": ["2025-02-01 00:00:00", "2025-02-01 00:00:09.5"],
        "START_TIMESTAMP": ["2025-02-01 00:01:00", "2025-02-01 00:02:00"],
        "END_TIMESTAMP": ["2025-02-01 01:01:00", "2025-02-01 00:03:00"],
        "USERNAME_GENID": [7, 8],
        "PROJECT_NAME_GENID": [1, 1],
        "QUEUE_NAME": ["prod", "debug"],
        "WALLTIME_SECONDS": [7200.0, 600.0],
        "RUNTIME_SECONDS": [3600.0, 60.0],
        "NODES_USED": [2.0, 1.0],
        "NODES_REQUESTED": [2.0, 1.0],
        "LOCATION": ["x4000c0s0b0n0,x4000c0s1b0n0", "x4000c0s0b0n0"],
        "EXIT_STATUS": [0.0, 1.0],
    }
    w = datasets.load("aurora", csv(tmp_path / "log.csv", columns))
    assert w.id[0] == 1001
    assert w.epoch == 1738368000  # UTC
    assert (w.start.tolist(), w.runtime.tolist()) == ([60, 120], [3600, 60])
    assert w.requested_time.tolist() == [7200, 600]
    assert w.capacity == 10_624
    assert w.name == "Aurora"
    assert not w.traces  # nothing was recorded: no trace of zeros


def test_more_than_a_thousand_rows(tmp_path: Path) -> None:
    (path,) = fake("aurora", jobs=2500, out=tmp_path, seed=1)
    w = datasets.load("aurora", path)
    assert w.report.read == 2500
    assert len(w) + w.report.dropped == 2500
    begin = w.epoch + 20_000
    part = datasets.load("aurora", path, window=(begin, begin + 7200), with_nodes=False)
    whole = datasets.load("aurora", path, with_nodes=False).window(20_000, 7200)
    # tasks of arrays get new numbers, by the rows that were read
    assert np.array_equal(part.start, whole.start)
    assert np.array_equal(part.nodes, whole.nodes)
