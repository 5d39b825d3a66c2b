"""Philly: attempts, machines with a stale label, series by the minute in Pacific time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from twin_gym import datasets
from twin_gym.datasets.lookalike import fake
from twin_gym.errors import WorkloadError
from twin_gym.workload import Status, Workload


def attempt(start: str | None, end: str | None, *hosts: tuple[str, int]) -> dict[str, Any]:
    detail = [{"ip": name, "gpus": [f"gpu{k}" for k in range(gpus)]} for name, gpus in hosts]
    return {"start_time": start, "end_time": end, "detail": detail}


LOG = [
    {
        "status": "Pass",
        "vc": "v1",
        "jobid": "application_1_1",
        "submitted_time": "2017-10-07 01:00:00",
        "user": "a",
        "attempts": [
            attempt("2017-10-07 01:00:30", "2017-10-07 01:02:00", ("m1", 2)),
            attempt("2017-10-07 01:02:30", "2017-10-07 01:05:30", ("m1", 2), ("m2", 8)),
        ],
    },
    {
        "status": "Killed",
        "vc": "v1",
        "jobid": "b",
        "submitted_time": "2017-10-07 01:00:10",
        "user": "b",
        "attempts": [],
    },
    {
        "status": "Failed",
        "vc": "v2",
        "jobid": "c",
        "submitted_time": "2017-10-07 01:00:20",
        "user": "b",
        "attempts": [attempt("2017-10-07 01:01:00", "None", ("m3", 1))],
    },
]
LIST = "machineId, number of GPUs, single GPU mem\nm1, 2, 12GB\nm2, 2, 24GB\nm3, 8, 24GB\n"
CPU = """time,machine_id,cpu_util
2017-10-07 01:01:00 PDT,m1,50
2017-10-07 01:03:00 PDT,m1,20
2017-10-07 01:03:00 PDT,m2,60
2017-10-07 01:05:00 PDT,m2,NA
2017-10-07 01:05:00 PDT,m1,10
2017-10-07 00:04:00 PST,m1,99
2017-10-07 01:05:00 PDT,stranger,10
"""


def gpu_rows() -> str:
    rows = [("01:03:00", "m1", [100, 100]), ("01:03:00", "m2", [25] * 8), ("01:04:00", "m1", [100, 0])]
    lines = [
        f"2017-10-07 {time} PDT,{name}," + ",".join(map(str, [*use, *["NA"] * (8 - len(use))]))
        for time, name, use in rows
    ]
    return "time,machine_id," + ",".join(f"gpu{k}_util" for k in range(8)) + "\n" + "\n".join(lines) + "\n"


def load(tmp_path: Path, log: Any = None, machines: str = LIST, **options: Any) -> Workload:
    (tmp_path / "cluster_job_log").write_text(json.dumps(LOG if log is None else log))
    (tmp_path / "cluster_machine_list").write_text(machines)
    return datasets.load("philly", tmp_path, **options)


def series(tmp_path: Path) -> None:
    (tmp_path / "cluster_cpu_util").write_text(CPU)
    (tmp_path / "cluster_gpu_util").write_text(gpu_rows())


def test_attempts(tmp_path: Path) -> None:
    w = load(tmp_path)
    assert w.epoch == pd.Timestamp("2017-10-07 01:00", tz="America/Los_Angeles").timestamp()
    assert w.submit.tolist() == [0, 120]  # the second attempt waits from the end of the first
    assert (w.start.tolist(), w.runtime.tolist()) == ([30, 150], [90, 180])
    assert w.requested_time.tolist() == [90, 180]  # seconds, no date
    assert w.nodes.tolist() == [1, 2]
    assert w.status.tolist() == [Status.FAILED, Status.COMPLETED]
    assert w.extra["gpus"].tolist() == [2, 10]
    assert w.extra["attempt"].tolist() == [1, 2]
    assert w.node_ids is not None
    assert w.node_ids.values.tolist() == [0, 0, 1]
    assert w.capacity == 3
    assert w.report.counts() == {"no_attempt": 1, "never_ran": 1, "no_requested_time": 2}
    assert w.report.read == 4


def test_series_by_hand(tmp_path: Path) -> None:
    series(tmp_path)
    w = load(tmp_path)
    cpu, gpu = w.traces["cpu"], w.traces["gpu"]
    # the first attempt runs from 01:00:30 to 01:02:00; its first full minute is 01:01
    assert cpu[0] == pytest.approx([0.5])
    assert cpu.start.tolist() == [30, 30]
    # the second: 01:03 both machines, (20 + 60) / 2; 01:04 only m1 is known, by a clock an hour behind; 01:05 only m1
    assert cpu[1] == pytest.approx([0.4, 0.99, 0.1], abs=1e-3)
    # its GPUs: two of m1, eight of m2, whose label says two but of which more are used; all in all ten
    # 01:03: 2 x 100 % and 8 x 25 % of ten: 0.4; 01:04: only m1's are known, half of them busy
    assert gpu[1] == pytest.approx([0.4, 0.5], abs=1e-3)
    assert len(gpu[0]) == 0
    assert w.report.count("orphan") == 1
    assert cpu.quantum.tolist() == [60, 60]


def test_pacific_standard_time(tmp_path: Path) -> None:
    log = [dict(LOG[0], submitted_time="2017-12-01 01:00:00", attempts=[])]
    log[0]["attempts"] = [attempt("2017-12-01 01:00:00", "2017-12-01 01:02:00", ("m1", 1))]
    (tmp_path / "cluster_cpu_util").write_text("2017-12-01 01:01:00 PST,m1,30\n")  # no titles
    w = load(tmp_path, log)
    assert w.epoch == pd.Timestamp("2017-12-01 09:00", tz="UTC").timestamp()
    assert w.traces["cpu"][0] == pytest.approx([0.3], abs=1e-3)
    assert w.traces["cpu"].start.tolist() == [60]


def test_messages(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match="cluster_job_log does not exist"):
        datasets.load("philly", tmp_path)
    with pytest.raises(WorkloadError, match="must hold a list of jobs"):
        load(tmp_path, {})
    with pytest.raises(WorkloadError, match="another form"):
        load(tmp_path, [{"attempts": "many"}])
    with pytest.raises(WorkloadError, match="line 2"):
        load(tmp_path, machines="machineId, number of GPUs\nm1, two\n")
    with pytest.raises(WorkloadError, match="lists no machine"):
        load(tmp_path, machines="")
    (tmp_path / "cluster_job_log").write_text("{")
    with pytest.raises(WorkloadError, match="no JSON"):
        datasets.load("philly", tmp_path)


def test_a_window_is_the_window_of_the_whole(tmp_path: Path) -> None:
    fake("philly", jobs=150, out=tmp_path, seed=1)
    whole = datasets.load("philly", tmp_path)
    begin = whole.epoch + 1800
    part = datasets.load("philly", tmp_path, window=(begin, begin + 3600))
    assert part.fingerprint() == whole.window(1800, 3600).fingerprint()
    assert np.all(whole.traces["gpu"].values <= 1)
