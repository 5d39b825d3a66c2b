"""LAST: three files joined, energies and CPU time by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from unit.foreign_files import csv

from twin_gym import datasets
from twin_gym.datasets.lookalike import fake
from twin_gym.errors import WorkloadError
from twin_gym.workload import Status, Workload

ALLOCATIONS = "final_csm_allocation_history_hashed.csv"
NODES = "final_csm_allocation_node_history.csv"
STEPS = "final_csm_step_history.csv"


def allocations(**changes: Any) -> dict[str, Any]:
    columns: dict[str, Any] = {
        "": [0, 1, 2],
        "allocation_id": [100, 101, 102],
        "primary_job_id": [9, 8, 7],
        "num_nodes": [2, 1, 1],
        "num_gpus": [0, 0, 0],
        "hashed_user_id": ["a", "b", "a"],
        "hashed_user_group_id": ["g", "g", "h"],
        "job_submit_time": ["2020-01-01 00:00:00", "2020-01-01 00:00:01.999999", "2020-01-01 00:00:02"],
        "begin_time": ["2020-01-01 00:00:10.75", "2020-01-01 00:00:20", "2020-01-01 00:00:30"],
        "end_time": ["2020-01-01 00:01:50.25", "2020-01-01 00:00:30", "2020-01-01 00:00:29"],
        "exit_status": [0, 1, 0],
        "queue": ["pbatch", "pdebug", "pbatch"],
        "time_limit": [120, 2147483647, 60],
        "smt_mode": [4, 1, 4],
    }
    return columns | changes


def nodes(**changes: Any) -> dict[str, Any]:
    columns: dict[str, Any] = {
        "allocation_id": [101, 100, 100, 999],
        "node_name": ["lassen792", "lassen1", "lassen18", "lassen5"],
        "energy": [6000, 90_000, 110_000, 1],
        "gpu_energy": [-5, 30_000, 75_000, 1],
        "cpu_usage": [220e9, 8800e9, 0, 1],
        "ib_tx": [0, 1000, 3000, 1],
        "ib_rx": [25, 500, 500, 1],
    }
    return columns | changes


def folder(tmp_path: Path, first: dict[str, Any] | None = None, second: dict[str, Any] | None = None) -> Path:
    csv(tmp_path / ALLOCATIONS, first or allocations())
    csv(tmp_path / NODES, second or nodes())
    csv(tmp_path / STEPS, {"allocation_id": [100, 100, 999], "num_gpus": [4, 8, 2], "step_id": [1, 2, 1]})
    return tmp_path


def load(*parts: Any, **options: Any) -> Workload:
    return datasets.load("last", folder(*parts), **options)


def test_columns(tmp_path: Path) -> None:
    w = load(tmp_path)
    assert w.id.tolist() == [100, 101]
    assert w.epoch == pd.Timestamp("2020-01-01", tz="America/Los_Angeles").timestamp()
    # dates are cut to whole seconds
    assert (w.submit.tolist(), w.start.tolist(), w.runtime.tolist()) == ([0, 1], [10, 20], [100, 10])
    assert w.requested_time.tolist() == [120, 10]  # no limit: the runtime, and it is counted
    assert w.status.tolist() == [Status.COMPLETED, Status.FAILED]
    assert (w.users, w.accounts, w.partitions) == (("a", "b"), ("g",), ("pbatch", "pdebug"))
    assert w.extra["primary_job_id"].tolist() == [9, 8]
    assert (w.extra["steps"].tolist(), w.extra["gpus"].tolist()) == ([2, 0], [8, 0])
    assert w.node_ids is not None
    assert w.node_ids.values.tolist() == [0, 17, 791]  # lassen1 is the first
    assert w.report.counts() == {
        "negative_counter": 1, "clipped": 1, "orphan": 1, "never_ran": 1, "no_requested_time": 1, "no_samples": 1,
    }  # fmt: skip


def test_power_by_hand(tmp_path: Path) -> None:
    w = load(tmp_path)
    # allocation 100: two nodes, 100 s. Energy 200,000 J: 1000 W a node. GPUs 105,000 J: 525 W a node; four GPUs draw
    # 300 W idle and 1200 W full: a quarter
    assert w.traces["node_power"][0] == [1000]
    assert w.traces["gpu"][0] == pytest.approx([0.25])
    # CPUs: 8.8e12 ns = 8800 s of threads in two nodes with 2 x 22 cores x 4 threads for 100 s = 35,200: a quarter
    assert w.traces["cpu"][0] == pytest.approx([0.25])
    # 4000 and 1000 words of 4 bytes in two nodes and 100 s
    assert w.traces["network_tx"][0] == [80]
    assert w.traces["network_rx"][0] == [20]
    # allocation 101: one thread a core: 220 s of 44 x 10 s; the negative energy of GPUs is 0
    assert w.traces["cpu"][1] == pytest.approx([0.5])
    assert w.traces["gpu"][1] == [0]
    assert w.traces["network_rx"][1] == [10]
    assert w.traces["node_power"][1] == [600]


def test_a_node_without_a_record(tmp_path: Path) -> None:
    some = {name: column[:2] for name, column in nodes().items()}
    w = load(tmp_path, None, some)
    assert w.traces["node_power"][0] == [900]  # the mean of those that have one, not of all
    assert w.report.count("few_nodes") == 1
    assert w.report.count("node_list") == 1
    assert w.node_ids is not None
    assert w.node_ids.lengths.tolist() == [0, 1]


@pytest.mark.parametrize("name", ["lassen793", "lassen0", "login", ""])
def test_nodes_that_are_none(tmp_path: Path, name: str) -> None:
    w = load(tmp_path, None, nodes(node_name=[name, "lassen1", "lassen2", "lassen3"]))
    assert w.node_ids is not None
    assert w.node_ids.lengths.tolist() == [2, 0]
    assert w.report.count("node_list") == 1


def test_numbers_with_gaps(tmp_path: Path) -> None:
    w = load(tmp_path, None, nodes(energy=[None, 90_000, None, 1]))
    assert w.traces["node_power"][0] == [900]
    assert len(w.traces["node_power"][1]) == 0


def test_without_the_file_of_steps(tmp_path: Path) -> None:
    folder(tmp_path)
    (tmp_path / STEPS).unlink()
    assert set(datasets.load("last", tmp_path).extra) == {"primary_job_id"}
    (tmp_path / NODES).unlink()
    with pytest.raises(WorkloadError, match=f"holds no {NODES}"):
        datasets.load("last", tmp_path)
    assert datasets.load("last", tmp_path, with_traces=False).node_ids is None


def test_clocks_set_back(tmp_path: Path) -> None:
    # 2020-11-01 01:30 happens twice in California: the first is taken
    dates = {
        "job_submit_time": ["2020-11-01 00:59:00"] * 3,
        "begin_time": ["2020-11-01 01:30:00"] * 3,
        "end_time": ["2020-11-01 02:30:00"] * 3,
    }
    w = load(tmp_path, allocations(**dates))
    assert w.runtime.tolist() == [7200] * 3
    assert load(tmp_path, allocations(**dates), time_zone="UTC").runtime.tolist() == [3600] * 3


def test_a_window_is_the_window_of_the_whole(tmp_path: Path) -> None:
    fake("last", jobs=2000, out=tmp_path, seed=3)
    whole = datasets.load("last", tmp_path)
    begin = whole.epoch + 20_000
    part = datasets.load("last", tmp_path, window=(begin, begin + 7200))
    assert part.fingerprint() == whole.window(20_000, 7200).fingerprint()
    assert part.report.count("orphan") == 0


def test_compressed(tmp_path: Path) -> None:
    folder(tmp_path)
    before = datasets.load("last", tmp_path)
    for name in (ALLOCATIONS, NODES, STEPS):
        pd.read_csv(tmp_path / name).to_csv(tmp_path / f"{name}.gz", index=False)
        (tmp_path / name).unlink()
    assert datasets.load("last", tmp_path).fingerprint() == before.fingerprint()


def test_messages(tmp_path: Path) -> None:
    without = {name: column for name, column in allocations().items() if name != "num_nodes"}
    with pytest.raises(WorkloadError, match="no column 'num_nodes', which LAST has"):
        load(tmp_path, without)
    with pytest.raises(WorkloadError, match=r"column 'energy'.*'much' is not a number"):
        load(tmp_path, None, nodes(energy=[1, "much", 2, 3]))
    with pytest.raises(WorkloadError, match=r"holds no final_csm_allocation_history"):
        datasets.load("last", tmp_path / "nowhere")
    (tmp_path / ALLOCATIONS).write_text("")
    with pytest.raises(WorkloadError, match="is empty"):
        datasets.load("last", tmp_path)
    (tmp_path / ALLOCATIONS).write_text(",".join(allocations()) + "\n")
    with pytest.raises(WorkloadError, match="holds no allocation"):
        datasets.load("last", tmp_path)
    with pytest.raises(WorkloadError, match="in the window"):
        load(tmp_path, window=("2021-01-01", "2021-01-02"))


def test_what_was_drawn_comes_back(tmp_path: Path) -> None:
    fake("last", jobs=3000, out=tmp_path, seed=2)
    w = datasets.load("last", tmp_path)
    assert w.report.read == 3000
    assert len(w) + w.report.count("never_ran") == 3000
    assert w.node_ids is not None
    listed = w.node_ids.lengths > 0
    assert np.mean(listed) > 0.98
    assert np.array_equal(w.node_ids.lengths[listed], w.nodes[listed])
