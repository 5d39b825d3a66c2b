"""MIT SuperCloud: Slurm's numbers, shared nodes, series of CPUs and GPUs by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from unit.foreign_files import csv

from twin_gym import datasets
from twin_gym.datasets.lookalike import fake
from twin_gym.errors import OptionError, WorkloadError
from twin_gym.workload import Status, Workload

EPOCH = 1_620_000_000


def log(**changes: Any) -> dict[str, Any]:
    columns: dict[str, Any] = {
        "id_job": [1, 2, 3],
        "id_user": [50, 51, 50],
        "nodes_alloc": [2, 1, 0],
        "nodelist": ["['n2', 'n1']", "['g1']", "[]"],
        "cpus_req": [40, 20, 1],
        "partition": ["normal"] * 3,
        "priority": [9, 8, 7],
        "state": [3, 6, 4],
        "timelimit": [60, 4294967295, 10],
        "time_submit": [EPOCH, EPOCH + 5, EPOCH + 6],
        "time_start": [EPOCH + 10, EPOCH + 20, 0],
        "time_end": [EPOCH + 70, EPOCH + 60, EPOCH + 8],
        "tres_alloc": ["1=40,2=100,4=2", "1=20,4=1,1002=2", "1=1"],
        "gres_used": ["", "gpu:volta:2", ""],
    }
    return columns | changes


def load(tmp_path: Path, columns: dict[str, Any] | None = None, **options: Any) -> Workload:
    csv(tmp_path / "202201/slurm-log.csv", columns or log())
    return datasets.load("supercloud", tmp_path, **options)


def series(tmp_path: Path) -> None:
    at = [EPOCH + 8, EPOCH + 25, EPOCH + 25, EPOCH + 41, EPOCH + 25, EPOCH + 70]
    columns = {
        "Step": [-1, -1, 0, -1, -1, -1],
        "Node": ["n1", "n1", "n1", "n1", "n2", "n1"],
        "Series": [0] * 6,
        "EpochTime": at,
        "CPUUtilization": [4800, 2400, 1200, 480, 0, 4800],
    }
    csv(tmp_path / "202201/cpu/0001/1-timeseries.csv", columns)
    columns = {
        "timestamp": [EPOCH + 31.2, EPOCH + 31.7, EPOCH + 33.0, EPOCH + 45.0],
        "gpu_index": [0, 0, 1, 0],
        "utilization_gpu_pct": [100, 50, 25, 100],
    }
    csv(tmp_path / "202201/gpu/0001/2-g1.csv", columns)


def test_columns(tmp_path: Path) -> None:
    w = load(tmp_path)
    assert w.id.tolist() == [1, 2]
    assert (w.epoch, w.submit.tolist(), w.start.tolist()) == (EPOCH, [0, 5], [10, 20])
    assert w.runtime.tolist() == [60, 40]
    assert w.requested_time.tolist() == [3600, 40]  # minutes; unlimited: nothing was asked for
    assert w.status.tolist() == [Status.COMPLETED, Status.TIMEOUT]
    assert w.extra["gpus"].tolist() == [0, 2]  # resource 1002
    assert w.node_ids is not None
    assert w.node_ids.values.tolist() == [1, 0, 480]  # nodes with GPUs follow the 480 without
    assert w.capacity == 704
    assert w.report.counts() == {"never_ran": 1, "no_requested_time": 1}


def test_series_by_hand(tmp_path: Path) -> None:
    series(tmp_path)
    w = load(tmp_path)
    cpu, gpu = w.traces["cpu"], w.traces["gpu"]
    # bins of 10 s from the start at +10: samples at +25 and +41 are in the second and the fourth; 48 cores a node.
    # +25: n1's busiest step has 24 cores of 48, n2 none: a quarter of both; the third is missing; +41: 4.8 of 48 on n1
    assert cpu[0] == pytest.approx([0.25, 0.25, 0.1])
    assert cpu.start.tolist() == [10, 0]
    assert cpu.quantum.tolist() == [10, 10]
    assert len(cpu[1]) == 0
    # two GPUs: the mean of 100 and 50 % and 25 % are half of both; then 100 % of one of two
    assert gpu[1] == pytest.approx([0.5, 0.5])
    assert gpu.start.tolist() == [0, 10]
    assert w.report.count("sample_outside") == 2
    assert w.report.count("gap") == 1


def test_partitions(tmp_path: Path) -> None:
    w = load(tmp_path, partition="gpu")
    assert (w.id.tolist(), w.capacity) == ([2], 224)
    assert w.report.count("left_out") == 2
    assert load(tmp_path, partition="cpu").id.tolist() == [1]
    with pytest.raises(OptionError, match="partition='gpus' is unknown"):
        load(tmp_path, partition="gpus")


def test_more_nodes_than_there_are(tmp_path: Path) -> None:
    names = str([f"n{k:03d}" for k in range(481)])
    w = load(tmp_path, log(nodelist=[names, "['g1']", "[]"], nodes_alloc=[481, 1, 0]))
    assert w.report.count("node_list") == 1


def test_windows_and_messages(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match=r"holds no slurm-log\.csv"):
        datasets.load("supercloud", tmp_path)
    with pytest.raises(WorkloadError, match="no column 'timelimit'"):
        load(tmp_path, {name: column for name, column in log().items() if name != "timelimit"})
    other = tmp_path / "fake"
    fake("supercloud", jobs=300, out=other, seed=1)
    whole = datasets.load("supercloud", other)
    begin = whole.epoch + 1000
    part = datasets.load("supercloud", other, window=(begin, begin + 600))
    assert part.fingerprint() == whole.window(1000, 600).fingerprint()
    assert whole.report.read == 300
    assert np.all(whole.traces["gpu"].values <= 1)
