"""Frontier: names of nodes, profiles with gaps and late starts, and the log's dialect."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from unit.foreign_files import parquet, utc

from twin_gym import datasets
from twin_gym.datasets._lookalike_frontier import xnames
from twin_gym.datasets.frontier import place_of
from twin_gym.datasets.lookalike import fake
from twin_gym.errors import WorkloadError
from twin_gym.system import System
from twin_gym.workload import UNKNOWN, Status, Workload


def jobs(**changes: Any) -> dict[str, Any]:
    """Job 1 stands twice; job 3 has no node names; job 4 no end."""
    columns: dict[str, Any] = {
        "job_id": ["1", "1", "2", "3", "4"],
        "allocation_id": [1, 1, 2, 3, 4],
        "account": ["A", "A", "B", "B", "C"],
        "node_count": [2, 2, 1, 1, 1],
        "state_current": ["RUNNING", "COMPLETED", "TIMEOUT", "FAILED", "RUNNING"],
        "time_submission": utc(*["2024-02-01 00:00:00"] * 3, "2024-02-01 00:00:07", "2024-02-01 00:00:08"),
        "time_start": utc(*["2024-02-01 00:01:00"] * 5),
        "time_end": utc(None, "2024-02-01 00:02:30", "2024-02-01 00:02:00", "2024-02-01 00:03:00", None),
        "time_limit": [600, 600, 60, 600, 600],
        "xnames": [["x2000c0s0b0"], ["x2000c0s0b0", "x2611c7s7b1"], ["x2000c0s0b1"], [""], []],
    }
    return columns | changes


def profiles(**changes: Any) -> dict[str, Any]:
    """Job 1 begins 20 s late and lacks a sample; job 2 has one from before its start; 99 is nobody's."""
    at = ["00:01:20", "00:02:05", "00:01:35", "00:00:59", "00:01:00", "00:01:00"]
    columns: dict[str, Any] = {
        "timestamp": utc(*(f"2024-02-01 {time}" for time in at)),
        "allocation_id": [1, 1, 1, 2, 2, 99],
        "sum_cpu0_power": [370.0, 180.0, 560.0, 100.0, 185.0, 1.0],
        "sum_gpu_power": [1648.0, 704.0, 9999.0, 100.0, 352.0, 1.0],
        "mean_node_power": [1500.0, 700.0, 3000.0, 100.0, 800.0, 1.0],
    }
    return columns | changes


def load(tmp_path: Path, first: Any = None, second: Any = None, **options: Any) -> Workload:
    parquet(tmp_path / "joblive/part-0.parquet", first or jobs())
    parquet(tmp_path / "jobprofile/part-0.parquet", second or profiles())
    return datasets.load("frontier", tmp_path, **options)


def test_columns(tmp_path: Path) -> None:
    w = load(tmp_path)
    assert w.id.tolist() == [1, 2, 3]
    assert w.status.tolist() == [Status.COMPLETED, Status.TIMEOUT, Status.FAILED]  # of two rows the last counts
    assert (w.submit.tolist(), w.start.tolist(), w.runtime.tolist()) == ([0, 0, 7], [60, 60, 60], [90, 60, 120])
    assert w.requested_time.tolist() == [600, 60, 600]
    assert w.node_ids is not None
    assert w.node_ids.values.tolist() == [0, 74 * 128 + 127, 1]
    assert w.node_ids.lengths.tolist() == [2, 1, 0]
    assert w.report.counts() == {
        "repeated_row": 1, "clipped": 1, "gap": 1, "no_samples": 1, "sample_outside": 1, "never_ran": 1,
    }  # fmt: skip


def test_power_by_hand(tmp_path: Path) -> None:
    w = load(tmp_path)
    cpu, gpu, power = (w.traces[name] for name in ("cpu", "gpu", "node_power"))
    # two nodes: 370 W of CPUs are 185 W each, half of 90 to 280 W; 560 W is all; the missing sample is the one before
    assert cpu[0] == pytest.approx([0.5, 1, 1, 0])
    # 1648 W are 824 W a node: 4 x (88 + u x 472), u = 0.25; 9999 W is more than there can be
    assert gpu[0] == pytest.approx([0.25, 1, 1, 0])
    assert power[0] == pytest.approx([1500, 3000, 3000, 700])  # of one node already
    assert cpu.start.tolist() == [20, 0, 0]
    assert cpu.quantum.tolist() == [15, 15, 15]
    assert cpu[1] == pytest.approx([0.5])  # what was sampled before the start is not the job's
    assert gpu[1] == [0]
    assert len(cpu[2]) == 0


def test_samples_without_a_number_are_missing(tmp_path: Path) -> None:
    second = profiles(sum_gpu_power=pa.array([1648, 704, None, 100, 352, 1], pa.int64()))
    second["mean_node_power"][1] = -5.0
    w = load(tmp_path, None, second)
    assert w.traces["gpu"][0] == pytest.approx([0.25, 0.25, 0.25, 0])
    assert w.traces["node_power"][0] == pytest.approx([1500, 1500, 1500, 0])
    assert w.report.count("negative_counter") == 1


def test_names_of_nodes() -> None:
    system = System.load("frontier")
    spelled = xnames(system.places)
    assert spelled[0] == "x2000c0s0b0"
    assert spelled[-1] == "x2611c7s7b1"
    assert np.array_equal(place_of(pa.array(spelled))[:-1], system.places)
    assert place_of(pa.array(["x2000c0s0", "login1", ""])).tolist() == [-1, -1, -2, -1]


def test_a_rack_that_is_missing_is_kept_as_recorded_but_does_not_fit(tmp_path: Path) -> None:
    w = load(tmp_path, jobs(xnames=[["a"], ["x2000c0s0b0", "x2700c0s0b0"], ["x2000c0s0b1"], [], []]))
    assert w.report.count("node_list") == 1


def test_jobs_alone_and_profiles_elsewhere(tmp_path: Path) -> None:
    whole = load(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    moved = (tmp_path / "jobprofile/part-0.parquet").rename(other / "profiles.parquet")
    (tmp_path / "jobprofile").rmdir()
    path = tmp_path / "joblive/part-0.parquet"
    assert not datasets.load("frontier", path).traces
    assert datasets.load("frontier", path, profiles=moved).fingerprint() == whole.fingerprint()
    assert not datasets.load("frontier", path, profiles=moved, with_traces=False).traces


def test_a_window_is_the_window_of_the_whole(tmp_path: Path) -> None:
    fake("frontier", jobs=1500, out=tmp_path, seed=3)
    whole = datasets.load("frontier", tmp_path)
    begin = whole.epoch + 20_000
    part = datasets.load("frontier", tmp_path, window=(begin, begin + 7200))
    assert part.fingerprint() == whole.window(20_000, 7200).fingerprint()
    log = tmp_path / "frontier-2024.swf"
    whole = datasets.load("frontier", log)
    part = datasets.load("frontier", log, window=(begin, begin + 7200))
    assert part.fingerprint() == whole.window(begin - whole.epoch, 7200).fingerprint()


HEAD = "; Computer: Frontier\n; UnixStartTime: 1704067200\n"
LINE = "{id} {submit} 10 100 589824 -1 -1 589824 {limit} -1 1 3 4 -1 1 -1 -1 -1 20000 -1 {descriptor}\n"


def log(path: Path, *lines: dict[str, Any], head: str = HEAD) -> Path:
    usual = {"id": 1, "submit": 0, "limit": 3600, "descriptor": "frontier:excl:2500x112"}
    path.write_text(head + "".join(LINE.format(**(usual | line)) for line in lines))
    return path


def test_the_log(tmp_path: Path) -> None:
    path = log(tmp_path / "frontier-2024.swf", {}, {"id": 2, "submit": 5, "limit": -1, "descriptor": "frontier:x"})
    w = datasets.load("frontier", path)
    assert w.nodes.tolist() == [2500, 589824]  # told by the descriptor, not by the fields before
    assert w.report.counts() == {"no_descriptor": 1, "no_requested_time": 1, "over_capacity": 1}
    assert w.epoch == 1704067200
    assert w.start.tolist() == [10, 15]
    assert w.requested_time.tolist() == [3600, 100]
    assert (w.users, w.accounts) == (("3",), ("4",))


def test_two_logs_on_one_calendar(tmp_path: Path) -> None:
    first = log(tmp_path / "frontier-2024.swf", {})
    second = log(tmp_path / "frontier-2025.swf", {}, head="; UnixStartTime: 1735689600\n")
    w = datasets.load("frontier", [first, second])
    assert w.submit.tolist() == [0, 1735689600 - 1704067200]
    assert w.report.counts() == {"duplicate_id": 1}
    assert datasets.load("frontier", tmp_path).fingerprint() == w.fingerprint()
    packed = tmp_path / "packed.swf.gz"
    packed.write_bytes(gzip.compress(first.read_bytes()))
    assert len(datasets.load("frontier", packed)) == 1


def test_messages(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match="UnixStartTime"):
        datasets.load("frontier", log(tmp_path / "a.swf", {}, head=""))
    with pytest.raises(WorkloadError, match="does not exist"):
        datasets.load("frontier", tmp_path / "b.swf")
    with pytest.raises(WorkloadError, match="'x' is not a number"):
        datasets.load("frontier", log(tmp_path / "c.swf", {"submit": "x"}))
    with pytest.raises(WorkloadError, match="malformed"):
        datasets.load("frontier", log(tmp_path / "d.swf", {"descriptor": "a b c"}))
    with pytest.raises(WorkloadError, match=r"malformed.*line 4"):
        datasets.load("frontier", log(tmp_path / "d.swf", {}, {"descriptor": "a b c"}))
    with pytest.raises(WorkloadError, match="holds no job"):
        datasets.load("frontier", log(tmp_path / "e.swf"))
    without = {name: column for name, column in profiles().items() if name != "sum_gpu_power"}
    with pytest.raises(WorkloadError, match="no column 'sum_gpu_power', which Frontier's job profiles has"):
        load(tmp_path, None, without)


def test_what_was_drawn_comes_back(tmp_path: Path) -> None:
    fake("frontier", jobs=1500, out=tmp_path, seed=2)
    w = datasets.load("frontier", tmp_path)
    assert w.report.kept == len(w)
    assert w.report.read == len(w) + w.report.count("never_ran") + w.report.count("repeated_row")
    assert np.all(w.start != UNKNOWN)
    late = w.traces["cpu"].start[w.traces["cpu"].lengths > 0]
    assert late.max() > 15
    assert pd.Series(late).between(0, 75).mean() > 0.95
    public = datasets.load("frontier", tmp_path / "frontier-2024.swf")
    assert len(public) == 1500
