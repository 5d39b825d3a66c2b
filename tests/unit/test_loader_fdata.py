"""F-Data: several months, local dates, counters by hand."""

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
from twin_gym.errors import OptionError, WorkloadError
from twin_gym.workload import UNKNOWN, Status


def naive(*texts: str | None) -> pa.Array:
    return pa.array([None if text is None else pd.Timestamp(text) for text in texts], pa.timestamp("us"))


def rows(**changes: Any) -> dict[str, Any]:
    columns: dict[str, Any] = {
        "jid": ["901", "902", "903"],
        "usr": ["u1", "u2", None],
        "adt": naive("2023-03-01 00:00:00", "2023-03-01 00:00:10", "2023-03-01 00:00:20"),
        "sdt": naive("2023-03-01 00:00:30", "2023-03-01 00:00:31", "2023-03-01 00:00:32"),
        "edt": naive("2023-03-01 00:10:30", "2023-03-01 00:20:31", "2023-03-01 00:00:30"),
        "elpl": [3600.0, 7200.0, 60.0],
        "nnumr": [384, 1, 2],
        "nnuma": [384, 1, 2],
        "pri": [127, 126, 125],
        "exit state": ["completed", "failed", "completed"],
        "perf1": [3e12, 0.0, 1.0],
        "perf6": [1e12, 0.0, 1.0],
        "avgpcon": [95.5, np.nan, 40.0],
        "pclass": ["memory-bound", "compute-bound", None],
        "embedding": pa.array([[0.5], [0.5], [0.5]]),
    }
    return columns | changes


def load(tmp_path: Path, columns: dict[str, Any] | None = None, **options: Any) -> Any:
    return datasets.load("fdata", parquet(tmp_path / "23_03.parquet", columns or rows()), **options)


def test_columns(tmp_path: Path) -> None:
    w = load(tmp_path)
    assert w.id.tolist() == [901, 902]
    assert w.epoch == pd.Timestamp("2023-02-28 15:00", tz="UTC").timestamp()  # midnight in Japan
    assert (w.submit.tolist(), w.start.tolist(), w.runtime.tolist()) == ([0, 10], [30, 31], [600, 1200])
    assert w.requested_time.tolist() == [3600, 7200]
    assert w.status.tolist() == [Status.COMPLETED, Status.FAILED]
    assert w.extra["performance_class"].tolist() == [0, 1]
    assert w.capacity == 158_976
    assert w.report.counts() == {"no_samples": 1, "never_ran": 1}  # the third ended before it started


def test_power_and_utilisation_by_hand(tmp_path: Path) -> None:
    w = load(tmp_path)
    assert w.traces["cpu"][0] == [0.75]  # 3e12 cycles awake of 4e12
    assert w.traces["node_power"][0] == [95.5]  # W of one node, not of all 384
    assert len(w.traces["cpu"][1]) == len(w.traces["node_power"][1]) == 0  # no cycles, no power: nothing is made up
    assert np.all(w.traces["cpu"].quantum == 0)


def test_other_zones(tmp_path: Path) -> None:
    assert load(tmp_path, time_zone="UTC").epoch == pd.Timestamp("2023-03-01", tz="UTC").timestamp()
    zoned = ["2023-03-01 00:00:00+09:00", "2023-03-01 00:00:10+09:00", "2023-03-01 00:00:20+09:00"]
    assert load(tmp_path, rows(adt=zoned), time_zone="Asia/Tokyo").epoch == load(tmp_path).epoch
    with pytest.raises(OptionError, match="IANA"):
        load(tmp_path, time_zone="Mars/Olympus")


def test_dates_as_text(tmp_path: Path) -> None:
    text = ["2023-03-01 00:00:00", "2023-03-01T00:00:10.25", "2023-13-41 99:00:00"]
    w = load(tmp_path, rows(adt=text))
    assert w.submit.tolist() == [0, 10]
    assert w.report.counts()["no_date"] == 1
    assert "job 903 (row 3)" in str(w.report)
    assert w.report.count("no_submit") == 1


def test_job_numbers_that_are_none(tmp_path: Path) -> None:
    w = load(tmp_path, rows(jid=["901.x", "902.x", "903.x"]))
    assert w.extra["jid"].tolist() == ["901.x", "902.x"]
    assert len(set(w.id.tolist())) == 2


def test_negative_counters(tmp_path: Path) -> None:
    w = load(tmp_path, rows(perf1=[-1.0, 1.0, 1.0], perf6=[1.0, 1.0, 1.0]))
    assert len(w.traces["cpu"][0]) == 0
    assert w.report.count("negative_counter") == 1


def test_several_months(tmp_path: Path) -> None:
    march = parquet(tmp_path / "23_03.parquet", rows())
    month = pd.Timedelta(days=31)
    later = {name: naive(*(str(t + month) for t in rows()[name].to_pandas())) for name in ("adt", "sdt", "edt")}
    april = parquet(tmp_path / "23_04.parquet", rows(jid=["911", "912", "913"], **later))
    for path in (tmp_path, [march, april], str(tmp_path / "23_*.parquet")):
        w = datasets.load("fdata", path)
        assert w.id.tolist() == [901, 902, 911, 912]
        assert w.submit.tolist() == [0, 10, 31 * 86400, 31 * 86400 + 10]
    one = datasets.load("fdata", tmp_path, window=("2023-03-31T14:00", "2023-04-01T14:00"))
    assert one.id.tolist() == [911, 912]
    assert one.report.read == 3  # the other file wasn't read


def test_messages(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match="no column 'adt', which F-Data has"):
        load(tmp_path, {name: column for name, column in rows().items() if name != "adt"})
    with pytest.raises(WorkloadError, match="column 'nnumr', row 2: 'two' is not a number"):
        load(tmp_path, rows(nnumr=["384", "two", "2"]))
    with pytest.raises(WorkloadError, match="No file matches"):
        datasets.load("fdata", str(tmp_path / "99_*.parquet"))
    (tmp_path / "text.parquet").write_text("no Parquet")
    with pytest.raises(WorkloadError, match="is no Parquet file"):
        datasets.load("fdata", tmp_path / "text.parquet")


def test_what_was_drawn_comes_back(tmp_path: Path) -> None:
    fake("fdata", jobs=3000, out=tmp_path, seed=2)
    w = datasets.load("fdata", tmp_path)
    assert w.report.read == 3000
    assert len(w) + w.report.count("never_ran") == 3000
    assert np.all(w.start != UNKNOWN)
    assert np.all((w.traces["cpu"].values > 0) & (w.traces["cpu"].values < 1))
