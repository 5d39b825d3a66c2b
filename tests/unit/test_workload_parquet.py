"""Workloads as Parquet files: exact, told by their metadata, and clear when something is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from unit.workload_strategies import workloads

from twin_gym.errors import WorkloadError
from twin_gym.workload import COLUMNS, Workload


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(workload=workloads())
def test_round_trip_is_exact(workload: Workload, tmp_path: Path) -> None:
    workload.save(tmp_path / "w.parquet")
    again = Workload.load(tmp_path / "w.parquet")
    assert again.fingerprint() == workload.fingerprint()
    for name, dtype in COLUMNS.items():
        assert getattr(again, name).dtype == dtype
        assert getattr(again, name).tobytes() == getattr(workload, name).tobytes()
    for name in ("users", "accounts", "partitions", "report", "header", "name", "origin", "epoch", "capacity", "unit"):
        assert getattr(again, name) == getattr(workload, name), name
    assert {name: column.dtype for name, column in again.extra.items()} == {
        name: column.dtype for name, column in workload.extra.items()
    }


def small() -> Workload:
    return Workload.build(submit=[0, 5], runtime=[1, 2], nodes=[1, 2], user=["b", "a"], unit="processor", epoch=99)


def test_numpy_integers_in_what_is_no_column(tmp_path: Path) -> None:
    workload = Workload.build(submit=[0], runtime=[1], nodes=[1], epoch=np.int64(7), capacity=np.int32(8))  # type: ignore[typeddict-item]
    workload.save(tmp_path / "w.parquet")
    again = Workload.load(tmp_path / "w.parquet")
    assert (again.epoch, again.capacity, again.fingerprint()) == (7, 8, workload.fingerprint())


def test_many_row_groups_keep_the_codes(tmp_path: Path) -> None:
    workload = Workload.build(
        submit=range(3000), runtime=[1] * 3000, nodes=[1] * 3000, user=[f"u{(7 * j) % 2500}" for j in range(3000)]
    )
    workload.save(tmp_path / "w.parquet")
    table = pq.read_table(tmp_path / "w.parquet")
    pq.write_table(table, tmp_path / "w.parquet", row_group_size=100)
    assert Workload.load(tmp_path / "w.parquet").fingerprint() == workload.fingerprint()


def test_others_can_read_it_with_names_and_units(tmp_path: Path) -> None:
    small().save(tmp_path / "w.parquet")
    table = pd.read_parquet(tmp_path / "w.parquet")
    assert table["user"].tolist() == ["b", "a"]
    assert table["start"].isna().all()
    schema = pq.read_schema(tmp_path / "w.parquet")
    assert schema.field("runtime").metadata[b"unit"] == b"s"
    assert schema.field("nodes").metadata[b"unit"] == b"processor"
    assert json.loads(schema.metadata[b"twin_gym"])["epoch"] == 99


def test_saving_replaces_and_leaves_nothing_behind(tmp_path: Path) -> None:
    target = tmp_path / "w.parquet"
    target.write_text("old")
    small().save(target)
    assert Workload.load(target).fingerprint() == small().fingerprint()
    assert [path.name for path in tmp_path.iterdir()] == ["w.parquet"]


def test_places_that_can_not_be_written(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match=r"nowhere/w\.parquet can't be written: No such file or directory"):
        small().save(tmp_path / "nowhere" / "w.parquet")
    (tmp_path / "folder").mkdir()
    with pytest.raises(WorkloadError, match="folder can't be written: Is a directory"):
        small().save(tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_disk_that_takes_no_more_leaves_the_old_file(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    target = tmp_path / "w.parquet"
    small().save(target)
    large = Workload.build(
        submit=np.random.default_rng(0).integers(0, 10**9, 100_000), runtime=[1] * 100_000, nodes=[1] * 100_000
    )
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(WorkloadError, match=r"w\.parquet can't be written: File too large"):
            large.save(target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert Workload.load(target).fingerprint() == small().fingerprint()
    assert [path.name for path in tmp_path.iterdir()] == ["w.parquet"]


def test_what_is_no_workload(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match=r"missing\.parquet does not exist"):
        Workload.load(tmp_path / "missing.parquet")
    (tmp_path / "text.parquet").write_text("hello")
    with pytest.raises(WorkloadError, match="is no Parquet file or is damaged"):
        Workload.load(tmp_path / "text.parquet")
    pd.DataFrame({"submit": [1]}).to_parquet(tmp_path / "other.parquet")
    with pytest.raises(WorkloadError, match="was not written by twin_gym; read it with pandas"):
        Workload.load(tmp_path / "other.parquet")
    small().save(tmp_path / "w.parquet")
    data = (tmp_path / "w.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(data[: len(data) // 2])
    with pytest.raises(WorkloadError, match="is no Parquet file or is damaged"):
        Workload.load(tmp_path / "cut.parquet")


def test_a_later_format_is_refused(tmp_path: Path) -> None:
    small().save(tmp_path / "w.parquet")
    table = pq.read_table(tmp_path / "w.parquet")
    about = json.loads(table.schema.metadata[b"twin_gym"]) | {"version": 99}
    pq.write_table(table.replace_schema_metadata({b"twin_gym": json.dumps(about)}), tmp_path / "w.parquet")
    with pytest.raises(WorkloadError, match="has format version 99"):
        Workload.load(tmp_path / "w.parquet")


def test_priorities_that_are_no_numbers_survive(tmp_path: Path) -> None:
    workload = Workload.build(submit=[0, 1], runtime=[1, 1], nodes=[1, 1], priority=[np.nan, -0.0])
    workload.save(tmp_path / "w.parquet")
    assert Workload.load(tmp_path / "w.parquet").priority.tobytes() == workload.priority.tobytes()
