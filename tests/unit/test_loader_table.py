"""Anybody's table: units, zones and names by a mapping, by hand; windows; and what is said about bad tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

import twin_gym as tg
from twin_gym.datasets import load
from twin_gym.errors import OptionError, WorkloadError
from twin_gym.workload import Status

ROWS = """\
JobID;Submit;Start;End;N;Limit;User;State;Nodes;Power;Cpu;Colour
1;2024-03-31 01:30:00;2024-03-31 03:30:00;2024-03-31 04:30:00;2;90;ann;done;n[1-2];2.4;50;red
2;2024-03-31 01:40:00;2024-03-31 03:30:00;soon;2;90;bob;9;n1;1;120;red
3;2024-03-31 01:50:00;2024-03-31 04:30:00;2024-03-31 05:30:00;1;;bob;9;n10;1;120;blue
"""
MAPPING: dict[str, Any] = {
    "columns": {
        "id": "JobID", "submit": "Submit", "start": "Start", "end": "End", "nodes": "N", "requested_time": "Limit",
        "user": "User", "status": "State", "node_list": "Nodes", "node_power": "Power", "cpu": "Cpu",
    },
    "units": {"requested_time": "min", "node_power": "kW per job", "cpu": "%"},
    "time_zone": "Europe/Rome",
    "delimiter": ";",
    "states": {"done": "COMPLETED", 9: "TIMEOUT"},
    "keep": ["Colour"],
}  # fmt: skip


def table(folder: Path, text: str, name: str = "jobs.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_units_zone_names_and_states_by_hand(tmp_path: Path) -> None:
    (tmp_path / "map.yaml").write_text(yaml.safe_dump(MAPPING))
    jobs = load("table", table(tmp_path, ROWS), mapping=tmp_path / "map.yaml", capacity=16)
    assert jobs.epoch == 1_711_845_000  # 00:30 UTC; the clock is set forward half an hour later
    assert jobs.id.tolist() == [1, 3]
    assert jobs.submit.tolist() == [0, 1200]
    assert jobs.start.tolist() == [3600, 7200]
    assert jobs.runtime.tolist() == [3600, 3600]
    assert jobs.requested_time.tolist() == [5400, 3600]
    assert jobs.status.tolist() == [Status.COMPLETED, Status.TIMEOUT]
    assert jobs.extra["Colour"].tolist() == ["red", "blue"]
    assert list(jobs.extra) == ["Colour"]
    assert jobs.capacity == 16
    power, cpu = jobs.traces["node_power"], jobs.traces["cpu"]
    assert (power.unit, power.values.tolist()) == ("W", [1200.0, 1000.0])
    assert (cpu.unit, cpu.values.tolist(), cpu.quantum.tolist()) == ("1", [0.5, 1.0], [0, 0])
    assert jobs.header["nodes"] == "n1,n2,n10"
    assert jobs.node_ids is not None
    assert jobs.node_ids.values.tolist() == [0, 1, 2]
    assert jobs.report.counts() == {"no_date": 1, "clipped": 1, "never_ran": 1, "no_requested_time": 1}


@pytest.mark.parametrize(
    ("columns", "units", "header", "row", "expected"),
    [
        ({"runtime": "R"}, {"runtime": "h"}, "S,R,N", "5,1.5,2", {"runtime": 5400}),
        ({"runtime": "R"}, {"submit": "ms", "runtime": "ms"}, "S,R,N", "5000,7000,2", {"submit": 5, "runtime": 7}),
        ({"runtime": "R"}, {}, "S,R,N", "5,1-02:03:04,2", {"runtime": 93_784}),
        ({"runtime": "R", "wait": "W"}, {"wait": "min"}, "S,R,N,W", "5,10,2,3", {"start": 185}),
        ({"start": "A", "end": "B"}, {}, "S,A,B,N", "5,7,17,2", {"start": 7, "runtime": 10}),
    ],
)
def test_times_as_numbers(
    tmp_path: Path, columns: dict[str, str], units: dict[str, str], header: str, row: str, expected: dict[str, int]
) -> None:
    mapping = {"columns": {"submit": "S", "nodes": "N", **columns}, "units": units}
    jobs = load("table", table(tmp_path, f"{header}\n{row}\n"), mapping=mapping)
    assert not jobs.epoch_known
    for name, value in expected.items():
        assert getattr(jobs, name).tolist() == [value], name


def test_epochs(tmp_path: Path) -> None:
    path = table(tmp_path, "submit,runtime,nodes\n1704067200,10,1\n1704067260,10,1\n")
    names = {"submit": "submit", "runtime": "runtime", "nodes": "nodes"}
    unix = load("table", path, mapping={"columns": names, "epoch": "unix"})
    assert (unix.epoch, unix.submit.tolist()) == (1_704_067_200, [0, 60])
    dated = load("table", path, mapping={"columns": names, "epoch": "1970-01-02"})
    assert (dated.epoch, dated.submit[0]) == (86_400, 1_704_067_200)


def test_energy_becomes_power_of_a_node(tmp_path: Path) -> None:
    path = table(tmp_path, "submit,runtime,nodes,e\n0,3600,4,2\n5,60,1,\n")
    names = {"submit": "submit", "runtime": "runtime", "nodes": "nodes", "energy": "e"}
    mapping = {"columns": names, "units": {"energy": "kWh"}}
    power = load("table", path, mapping=mapping).traces["node_power"]
    assert power[0].tolist() == [500.0]  # 2 kWh in 1 h on 4 nodes
    assert power[1].size == 0


def test_parquet_with_a_mapping_and_our_own(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"when": pd.to_datetime(["2024-01-01", "2024-01-02"]), "secs": [10, 20], "n": [1, 2], "other": ["x", "y"]}
    )
    frame.to_parquet(tmp_path / "foreign.parquet")
    mapping = {"columns": {"submit": "when", "runtime": "secs", "nodes": "n"}, "time_zone": "Asia/Tokyo"}
    jobs = load("table", tmp_path / "foreign.parquet", mapping=mapping)
    assert (jobs.epoch, jobs.submit.tolist()) == (1_704_067_200 - 9 * 3600, [0, 86_400])
    jobs.save(tmp_path / "ours.parquet")
    again = load("table", tmp_path / "ours.parquet")
    assert again.fingerprint() == jobs.fingerprint()
    assert load("table", tmp_path / "ours.parquet", capacity=7).capacity == 7
    late = load("table", tmp_path / "ours.parquet", window=("2024-01-01T15:00", None))
    assert late.id.tolist() == [2]


def test_a_table_with_our_names_needs_no_mapping(tmp_path: Path) -> None:
    path = table(tmp_path, "submit,runtime,nodes,user,mood\n0,10,1,ann,good\n5,20,2,,bad\n")
    jobs = load("table", path)
    assert (jobs.runtime.tolist(), jobs.users, jobs.extra["mood"].tolist()) == ([10, 20], ("ann",), ["good", "bad"])


def test_a_window_reads_what_the_whole_table_windowed_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from twin_gym.datasets import table as module

    monkeypatch.setattr(module, "CHUNK", 64)
    rng = np.random.default_rng(3)
    submit = np.sort(rng.integers(0, 50_000, 300))
    frame = pd.DataFrame({"submit": submit, "start": submit + rng.integers(0, 900, 300), "nodes": 1})
    frame["runtime"] = rng.integers(1, 9000, 300)
    frame.to_csv(tmp_path / "jobs.csv", index=False)
    seen: list[int] = []
    whole = load("table", tmp_path / "jobs.csv", progress=lambda done, total: seen.append(done))
    part = load("table", tmp_path / "jobs.csv", window=(20_000, 25_000))
    assert seen == [64, 128, 192, 256, 300]
    assert part.fingerprint() == whole.window(20_000, 5000).fingerprint()


# -------------------------------------------------------------------------------------------------------- bad tables


@pytest.mark.parametrize(
    ("change", "fragment"),
    [
        ({"columns": {"submit": "Submitted"}}, "no column 'Submitted', which the mapping calls submit; it has JobID"),
        ({"columns": {"sumbit": "Submit"}}, "Did you mean 'submit'?"),
        ({"colums": {}}, "Did you mean 'columns'?"),
        ({"units": {"requested_time": "minutes"}}, "requested_time='minutes' is unknown"),
        ({"units": {"user": "min"}}, "'user' has no unit"),
        ({"states": {"done": "FINISHED"}}, "'FINISHED' is unknown"),
        ({"time_zone": "Rome"}, "time_zone='Rome'"),
        ({"unit": "core"}, "unit='core'"),
        ({"keep": ["Color"]}, "no column 'Color'"),
        ({"columns": ["submit"]}, "must be a mapping"),
    ],
)
def test_wrong_mappings_are_refused_in_one_sentence(tmp_path: Path, change: dict[str, Any], fragment: str) -> None:
    mapping = MAPPING | change
    if isinstance(change.get("columns"), dict):
        mapping["columns"] = MAPPING["columns"] | change["columns"]
    with pytest.raises((OptionError, WorkloadError)) as caught:
        load("table", table(tmp_path, ROWS), mapping=mapping)
    assert fragment in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("", "header line"),
        ("submit,runtime,nodes\n", "no job"),
        ("submit,runtime\n1,2\n", "no column 'nodes'"),
        ("submit,runtime,nodes\n1,long,3\n", "'long' is not a number"),
        ("submit,runtime,nodes\n1,2,many\n", "'many' is not a number"),
        ("submit,start,end,nodes\n1,2024-01-01,2024-01-02,1\n", "dates"),
        ("submit,runtime,nodes\n1,2,3\n1,2,3,4,5\n", "can't be read as a table"),
    ],
)
def test_bad_tables_are_refused_in_one_sentence(tmp_path: Path, text: str, fragment: str) -> None:
    path = table(tmp_path, text)
    with pytest.raises(WorkloadError) as caught:
        load("table", path)
    assert fragment in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_defects_are_counted(tmp_path: Path) -> None:
    text = "id,submit,start,runtime,nodes\n1,0,5,10,1\n1,1,0,10,1\n2,,5,10,1\n3,9,9,0,1\n4,9,9,5,\n5,9,9,5,1.5\n"
    jobs = load("table", table(tmp_path, text))
    counts = jobs.report.counts()
    assert len(jobs) == 2
    for defect in ("duplicate_id", "start_before_submit", "no_submit", "never_ran", "no_nodes", "part_nodes"):
        assert counts[defect] == 1, defect
    with pytest.raises(WorkloadError, match="strict=True"):
        load("table", tmp_path / "jobs.csv", strict=True)


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match="does not exist"):
        load("table", tmp_path / "no.csv")
    with pytest.raises(OptionError, match="can't be read"):
        load("table", table(tmp_path, ROWS), mapping=tmp_path / "no.yaml")
    (tmp_path / "bad.yaml").write_text("a: [")
    with pytest.raises(OptionError, match="is no YAML"):
        load("table", table(tmp_path, ROWS), mapping=tmp_path / "bad.yaml")
    assert tg.datasets.options_of("table")["mapping"] is None
