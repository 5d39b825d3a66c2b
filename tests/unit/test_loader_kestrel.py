"""Kestrel: recorded times are kept, watts by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from unit.foreign_files import parquet

from twin_gym import datasets
from twin_gym.datasets.lookalike import fake
from twin_gym.errors import WorkloadError
from twin_gym.workload import Status, Workload


def naive(*texts: str | None) -> pa.Array:
    return pa.array([None if text is None else pd.Timestamp(text) for text in texts], pa.timestamp("us"))


def rows(**changes: Any) -> dict[str, Any]:
    columns: dict[str, Any] = {
        "job_id": [5, 6],
        "account": ["a", None],
        "nodes_required": [3, 1],
        "job_state": ["COMPLETED", "CANCELLED by 12"],
        "submit_time": naive("2024-12-01 00:00:00", "2024-12-01 00:00:30"),
        "start_time": naive("2024-12-01 00:01:00", "2024-12-01 00:02:00"),
        "end_time": naive("2024-12-01 00:02:00", "2024-12-01 00:02:40"),
        "wall_time": [3600, 7200],
        "power_per_node": [[530.0, 280.0, 1000.0], None],
    }
    return columns | changes


def load(tmp_path: Path, columns: dict[str, Any] | None = None, **options: Any) -> Workload:
    return datasets.load("kestrel", parquet(tmp_path / "jobs.parquet", columns or rows()), **options)


def test_times_and_power_by_hand(tmp_path: Path) -> None:
    w = load(tmp_path)
    assert w.id.tolist() == [5, 6]  # the last one, too
    assert w.epoch == pd.Timestamp("2024-12-01 07:00", tz="UTC").timestamp()
    # what was recorded, no random arrivals and no end at 0
    assert (w.submit.tolist(), w.start.tolist(), w.runtime.tolist()) == ([0, 30], [60, 120], [60, 40])
    assert w.requested_time.tolist() == [3600, 7200]
    assert w.status.tolist() == [Status.COMPLETED, Status.CANCELLED]
    assert w.accounts == ("a",)
    # a node: 60 W of memory, one NIC of 20 W, two CPUs of 100 to 350 W; watts are of one node, not of three
    assert w.traces["cpu"][0] == pytest.approx([(530 - 80 - 200) / 500, 0, 1])
    assert w.traces["node_power"][0] == pytest.approx([530, 280, 1000])
    assert w.report.counts() == {"clipped": 1, "no_samples": 1}
    assert w.traces["cpu"].quantum.tolist() == [20, 20]
    assert load(tmp_path, quantum=60).traces["cpu"].quantum.tolist() == [60, 60]


def test_windows_and_messages(tmp_path: Path) -> None:
    assert load(tmp_path, window=("2024-12-01T07:02", None)).id.tolist() == [6]
    with pytest.raises(WorkloadError, match="no column 'power_per_node'"):
        load(tmp_path, {name: column for name, column in rows().items() if name != "power_per_node"})
    fake("kestrel", jobs=500, out=tmp_path / "fake", seed=1)
    w = datasets.load("kestrel", tmp_path / "fake")
    assert w.report.read == 500
    assert np.all(w.traces["cpu"].values <= 1)
