"""Adastra: what arrays and limits mean is found out; units by hand for each meaning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from unit.foreign_files import parquet, utc

from twin_gym import datasets
from twin_gym.datasets.lookalike import fake
from twin_gym.errors import OptionError, WorkloadError
from twin_gym.workload import Status, Workload

LISTS = pa.list_(pa.int64())
# what two nodes draw all together: CPUs 2 x 185 = 370 W, GPUs 2 x 8 x 92.5 = 1480 W, memory 76 W, NICs 2 x 4 x 20 W
CPU, GPU, MEMORY, NICS = 370, 1480, 76, 160
WHOLE = CPU + GPU + MEMORY + NICS
BUSY_CPU = (185 - 90) / (280 - 90)  # one CPU: 0.5
BUSY_GPU = (92.5 - 44) / (238 - 44)  # a die: 0.25


def rows(factor: int = 100, count: int = 1, **changes: Any) -> dict[str, Any]:
    """Two jobs of 100 s on two nodes; arrays hold `count` times the watts times `factor`."""
    columns: dict[str, Any] = {
        "job_id": [1, 2],
        "user_id": [5, 6],
        "num_nodes_alloc": [2, 2],
        "nodes": pa.array([[0, 355], [2, 3]], LISTS),
        "partition": ["mi250", "mi250"],
        "priority": [10, 20],
        "job_state": ["COMPLETED", "FAILED"],
        "submit_time": utc("2024-09-02 00:00:00", "2024-09-02 00:01:00"),
        "start_time": utc("2024-09-02 00:00:10", "2024-09-02 00:01:00"),
        "end_time": utc("2024-09-02 00:01:50", "2024-09-02 00:02:40"),
        "run_time": [100, 100],
        "time_limit": [600, 1200],
    }
    for name, watts in (("node", WHOLE), ("cpu", CPU), ("mem", MEMORY)):
        columns[f"{name}_power_consumption"] = pa.array([[watts * factor] * count] * 2, LISTS)
    return columns | changes


def load(tmp_path: Path, columns: dict[str, Any], **options: Any) -> Workload:
    return datasets.load("adastra", parquet(tmp_path / "jobs.parquet", columns), **options)


@pytest.mark.parametrize(
    ("factor", "count", "meaning", "quantum"),
    [
        (100, 1, "J", 0),  # one number: the energy of 100 s
        (20, 5, "J", 0),  # five numbers that add up to it
        (1, 100, "W", 1),  # watts each second
        (1, 5, "W", 20),  # watts every 20 s
        (1, 1, "W", 100),  # the mean
    ],
)
def test_power_by_hand(tmp_path: Path, factor: int, count: int, meaning: str, quantum: int) -> None:
    w = load(tmp_path, rows(factor, count))
    samples = count if meaning == "W" else 1
    assert w.header["arrays"] == meaning
    for trace, value in (("cpu", BUSY_CPU), ("gpu", BUSY_GPU), ("node_power", WHOLE / 2)):
        assert w.traces[trace][0] == pytest.approx([value] * samples, rel=1e-6)
        assert w.traces[trace].quantum.tolist() == [quantum, quantum]
        assert w.traces[trace].start.tolist() == [0, 0]


def test_the_meaning_can_be_told(tmp_path: Path) -> None:
    w = load(tmp_path, rows(1, 5), arrays="J")
    assert w.traces["node_power"][0] == pytest.approx([WHOLE / 2 * 5 / 100])
    with pytest.raises(OptionError, match="arrays='kW'"):
        load(tmp_path, rows(), arrays="kW")
    with pytest.raises(WorkloadError, match="say which it is with arrays=W or arrays=J"):
        load(tmp_path, rows(10_000, 1))


def test_limits(tmp_path: Path) -> None:
    w = load(tmp_path, rows())
    assert w.requested_time.tolist() == [600, 1200]
    assert w.header["time_limit"] == "s"
    start = int(pd.Timestamp("2024-09-02 00:00:10", tz="UTC").timestamp())
    w = load(tmp_path, rows(time_limit=[start + 600, start + 50 + 1200]))
    assert w.requested_time.tolist() == [600, 1200]
    assert w.header["time_limit"] == "deadline, Unix s"


def test_columns(tmp_path: Path) -> None:
    w = load(tmp_path, rows())
    assert (w.submit.tolist(), w.start.tolist(), w.runtime.tolist()) == ([0, 60], [10, 60], [100, 100])
    assert w.status.tolist() == [Status.COMPLETED, Status.FAILED]
    assert w.priority.tolist() == [10, 20]
    assert w.node_ids is not None
    assert w.node_ids.values.tolist() == [0, 355, 2, 3]
    assert w.capacity == 356
    assert w.report.counts() == {}


def test_a_faulty_meter(tmp_path: Path) -> None:
    nothing = pa.array([[(CPU + MEMORY) * 100], [WHOLE * 100]], LISTS)
    w = load(tmp_path, rows(node_power_consumption=nothing), arrays="J")
    assert w.traces["gpu"][0] == [0]
    assert w.report.count("clipped") == 1


def test_arrays_that_are_missing(tmp_path: Path) -> None:
    w = load(tmp_path, rows(node_power_consumption=pa.array([None, [WHOLE * 100]], LISTS)))
    assert [len(w.traces["cpu"][row]) for row in range(2)] == [0, 1]
    assert w.report.counts() == {"unequal_arrays": 1, "no_samples": 1}


def test_what_was_drawn_comes_back(tmp_path: Path) -> None:
    (path,) = fake("adastra", jobs=2000, out=tmp_path, seed=4)
    w = datasets.load("adastra", path)
    never = pq.read_table(path)["start_time"].null_count
    assert len(w) == 2000 - never
    assert (w.header["arrays"], w.header["time_limit"]) == ("J", "deadline, Unix s")
    assert w.node_ids is not None
    assert np.array_equal(w.node_ids.lengths, w.nodes)
    begin = w.epoch + 30_000
    part = datasets.load("adastra", path, window=(begin, begin + 20_000))
    assert part.fingerprint() == w.window(30_000, 20_000).fingerprint()
