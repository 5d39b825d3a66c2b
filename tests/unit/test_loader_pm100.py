"""PM100: units worked out by hand, the oddities of the table, windows, and messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from unit.foreign_files import parquet, utc

from twin_gym import datasets
from twin_gym.datasets.lookalike import fake
from twin_gym.errors import OptionError, WorkloadError
from twin_gym.workload import UNKNOWN, Status, Workload


def rows(**changes: Any) -> dict[str, Any]:
    """Three jobs: two nodes for a minute, one node waiting for them, and one that was cancelled before it started."""
    columns: dict[str, Any] = {
        "job_id": [11, 12, 13],
        "user_id": [7, 8, 7],
        "group_id": [1, 1, 2],
        "partition": ["0", "1", "1"],
        "priority": [100, 200, 300],
        "job_state": ["COMPLETED", "TIMEOUT", "CANCELLED"],
        "shared": ["0", "0", "0"],
        "submit_time": utc("2020-06-01 00:00:00", "2020-06-01 00:00:10", "2020-06-01 00:00:20"),
        "start_time": utc("2020-06-01 00:00:05", "2020-06-01 00:01:05", None),
        "end_time": utc("2020-06-01 00:01:05", "2020-06-01 00:01:45", "2020-06-01 00:00:40"),
        "run_time": [60, 40, 0],
        "time_limit": [2, 1, 5],
        "num_nodes_alloc": [2, 1, 1],
        "nodes": pa.array([[3, 979], [3], []], pa.list_(pa.int64())),
        "node_power_consumption": pa.array([[1972, 862, 3730], [700, 700], []], pa.list_(pa.int64())),
        "cpu_power_consumption": pa.array([[598, 189, 1008], [100, 100], []], pa.list_(pa.int64())),
        "mem_power_consumption": pa.array([[150, 148, 148], [50], []], pa.list_(pa.int64())),
    }
    return columns | changes


def load(tmp_path: Path, columns: dict[str, Any] | None = None, **options: Any) -> Workload:
    return datasets.load("pm100", parquet(tmp_path / "job_table.parquet", columns or rows()), **options)


def test_power_by_hand(tmp_path: Path) -> None:
    w = load(tmp_path)
    # job 11, two nodes; CPUs idle at 2 x 2 x 47.25 = 189 W and full at 2 x 2 x 252 = 1008 W, all nodes together
    assert w.traces["cpu"][0] == pytest.approx([(598 - 189) / 819, 0.0, 1.0], abs=1e-6)
    # GPUs: what is left of the nodes after CPUs, memory, two NICs of 21 W and 45 W of storage in each node
    # 1972 - 598 - 150 - 2 x 42 - 2 x 45 = 1050 W; idle 2 x 4 x 75 = 600 W, full 2400 W: a quarter
    # 862 - 189 - 148 - 174 = 351 W is below idle: cut to 0; 3730 - 1008 - 148 - 174 = 2400 W is all
    assert w.traces["gpu"][0] == pytest.approx([0.25, 0.0, 1.0], abs=1e-6)
    assert w.traces["node_power"][0] == pytest.approx([986, 431, 1865])
    # job 12: cut to the one sample that all three arrays have
    assert w.traces["cpu"][1] == pytest.approx([(100 - 94.5) / 409.5], abs=1e-6)
    assert w.traces["gpu"][1] == pytest.approx([(700 - 100 - 50 - 87 - 300) / 900], abs=1e-6)
    assert [trace.unit for trace in w.traces.values()] == ["1", "W", "1"]
    assert all(np.all(trace.quantum == 20) and np.all(trace.start == 0) for trace in w.traces.values())


def test_columns(tmp_path: Path) -> None:
    w = load(tmp_path)
    assert w.id.tolist() == [11, 12]  # the last row is read, too: it is left out because it never ran
    assert w.epoch == 1590969600
    assert w.submit.tolist() == [0, 10]
    assert w.start.tolist() == [5, 65]
    assert w.runtime.tolist() == [60, 40]
    assert w.requested_time.tolist() == [120, 60]  # minutes
    assert w.nodes.tolist() == [2, 1]
    assert w.capacity == 980
    assert w.status.tolist() == [Status.COMPLETED, Status.TIMEOUT]
    assert (w.users, w.accounts, w.partitions) == (("7", "8"), ("1",), ("0", "1"))
    assert w.priority.tolist() == [100, 200]
    assert w.node_ids is not None
    assert [list(row) for row in map(w.node_ids.__getitem__, range(2))] == [[3, 979], [3]]
    assert w.report.counts() == {"unequal_arrays": 1, "clipped": 1, "never_ran": 1}
    assert not w.extra


def test_the_last_job_is_no_longer_forgotten(tmp_path: Path) -> None:
    table = pa.table(rows())
    w = load(tmp_path, dict(zip(table.column_names, table.slice(0, 2).columns, strict=True)))
    assert w.id.tolist() == [11, 12]


def test_shared_nodes_are_left_out_and_counted(tmp_path: Path) -> None:
    w = load(tmp_path, rows(shared=["0", "1", None]))
    assert w.id.tolist() == [11]
    assert w.report.count("shared_nodes") == 1
    assert "job 12 (row 2)" in str(w.report)
    assert w.report.read == 3
    assert len(load(tmp_path, rows(shared=["0", "1", None]), keep_shared=True)) == 2


def test_end_minus_start_counts(tmp_path: Path) -> None:
    w = load(tmp_path, rows(run_time=[60, 99, 0]))
    assert w.runtime.tolist() == [60, 40]
    assert w.report.count("runtime_differs") == 1


@pytest.mark.parametrize(
    ("nodes", "forgotten"),
    [
        ([[3], [3], []], 1),  # one name for two nodes
        ([[3, 980], [3], []], 1),  # no such place
        ([[3, 3], [3], []], 1),  # twice the same
        ([[3, 4], [-1], []], 1),
        ([[], None, []], 0),  # nothing recorded is no defect
    ],
)
def test_node_lists_that_cannot_be(tmp_path: Path, nodes: list[list[int]], forgotten: int) -> None:
    w = load(tmp_path, rows(nodes=pa.array(nodes, pa.list_(pa.int64()))))
    assert w.report.counts().get("node_list", 0) == forgotten


def test_node_lists_as_text(tmp_path: Path) -> None:
    w = load(tmp_path, rows(nodes=["[3, 979]", "3", ""]))
    assert w.node_ids is not None
    assert w.node_ids.values.tolist() == [3, 979, 3]


def test_missing_samples_are_the_ones_before(tmp_path: Path) -> None:
    holes = pa.array([[598, None, 1008], [None, 100], []], pa.list_(pa.int64()))
    w = load(tmp_path, rows(cpu_power_consumption=holes))
    assert w.traces["cpu"][0] == pytest.approx([409 / 819, 409 / 819, 1.0], abs=1e-6)
    assert w.traces["cpu"][1] == [0.0]
    assert w.report.count("gap") == 2


def test_a_window_is_the_window_of_the_whole(tmp_path: Path) -> None:
    (path,) = fake("pm100", jobs=2000, out=tmp_path, seed=3)
    whole = datasets.load("pm100", path)
    begin, length = whole.epoch + 20_000, 30_000
    part = datasets.load("pm100", path, window=(begin, begin + length))
    assert part.fingerprint() == whole.window(20_000, length).fingerprint()
    assert part.epoch == begin
    text = [str(np.datetime64(second, "s")) for second in (begin, begin + length)]
    assert datasets.load("pm100", path, window=text).fingerprint() == part.fingerprint()


def test_row_groups_outside_a_window_are_not_read(tmp_path: Path) -> None:
    (path,) = fake("pm100", jobs=2000, out=tmp_path, seed=3)
    small = tmp_path / "small.parquet"
    pq.write_table(pq.read_table(path), small, row_group_size=50)
    seen: list[int] = []
    whole = datasets.load("pm100", small)
    begin = whole.epoch + 20_000
    part = datasets.load("pm100", small, window=(begin, begin + 3600), progress=lambda done, total: seen.append(total))
    assert part.report.read < 1000
    assert set(seen) == {len(part)}
    assert part.fingerprint() == whole.window(20_000, 3600).fingerprint()


def test_what_was_drawn_comes_back(tmp_path: Path) -> None:
    (path,) = fake("pm100", jobs=3000, out=tmp_path, seed=5)
    table = pq.read_table(path)
    w = datasets.load("pm100", path, keep_shared=True)
    never = table["start_time"].null_count
    assert len(w) == 3000 - never
    assert w.report.count("never_ran") == never
    assert np.all(w.start != UNKNOWN)
    assert w.node_ids is not None
    assert np.array_equal(w.node_ids.lengths, w.nodes)
    assert 0 < w.report.count("unequal_arrays") < 600


def test_rows_in_any_order(tmp_path: Path) -> None:
    (path,) = fake("pm100", jobs=1000, out=tmp_path, seed=5)
    table = pq.read_table(path)
    shuffled = tmp_path / "shuffled.parquet"
    order = np.random.default_rng(1).permutation(len(table))
    pq.write_table(table.take(pa.array(order)), shuffled, row_group_size=100)
    a, b = datasets.load("pm100", path), datasets.load("pm100", shuffled)
    first, second = np.argsort(a.id, kind="stable"), np.argsort(b.id, kind="stable")
    assert np.array_equal(a.start[first], b.start[second])
    for name in a.traces:
        assert np.array_equal(a.traces[name].take(first).values, b.traces[name].take(second).values)


def test_strict(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match="strict=True accepts none"):
        load(tmp_path, strict=True)


def test_bad_windows(tmp_path: Path) -> None:
    for window, text in (
        (("2020-06-02", "2020-06-01"), "is empty"),
        (("soon", None), "'soon' is no date"),
        ("2020-06-01", "must be a pair"),
    ):
        with pytest.raises(OptionError, match=text):
            load(tmp_path, window=window)
    with pytest.raises(WorkloadError, match="window"):
        load(tmp_path, window=("2021-06-01", "2021-06-02"))
