"""Blue Waters: lines of Torque, and counters that only grow."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from twin_gym import datasets
from twin_gym.datasets.lookalike import fake
from twin_gym.errors import WorkloadError
from twin_gym.workload import Status

LINE = (
    "03/18/2017 00:01:15;E;6335144.bw;user=USER1U group=GRP1G account=A1A jobname=dm5-8506-M9 queue=normal "
    "ctime=1489668573 qtime=1489668573 etime=1489798453 start=1489799118 owner=USER1U@h2ologin2 "
    "exec_host=26742/0-31+7/0-31 login_node=nid27563 Resource_List.flags=commtolerant:commlocal "
    "Resource_List.neednodes=2:ppn=32 Resource_List.nodect=2 Resource_List.nodes=2:ppn=32 "
    "Resource_List.walltime=04:00:10 session=16472 total_execution_slots=64 unique_node_count=2 end=1489799418 "
    "Exit_status=0 resources_used.cput=28 resources_used.walltime=03:55:49\n"
)
SECOND = LINE.replace("6335144", "6335145").replace("qtime=1489668573", "qtime=1489668600").replace(
    "exec_host=26742/0-31+7/0-31", "exec_host=9/0-31+10/0-31"
).replace("Exit_status=0", "Exit_status=-11")  # fmt: skip
START = 1489799118


def folder(tmp_path: Path, log: str, samples: str | None = None) -> Path:
    (tmp_path / "torque_logs").mkdir(exist_ok=True)
    (tmp_path / "torque_logs/20170318").write_text(log)
    if samples is not None:
        (tmp_path / "cray_system_sampler").mkdir(exist_ok=True)
        (tmp_path / "cray_system_sampler/20170318").write_text(samples)
    return tmp_path


def test_a_line(tmp_path: Path) -> None:
    deleted = LINE.replace(";E;", ";D;").replace("6335144", "6335146")
    w = datasets.load("bluewaters", folder(tmp_path, LINE + SECOND + deleted + SECOND + "no line\n"))
    assert w.id.tolist() == [6335144, 6335145]
    assert w.epoch == 1489668573
    assert w.submit.tolist() == [0, 27]
    assert w.start.tolist() == [START - 1489668573] * 2
    assert w.runtime.tolist() == [300, 300]
    assert w.requested_time.tolist() == [4 * 3600 + 10] * 2  # what was asked for, not what was used
    assert w.nodes.tolist() == [2, 2]
    assert w.node_ids is not None
    assert w.node_ids.values.tolist() == [26742, 7, 9, 10]
    assert w.status.tolist() == [Status.COMPLETED, Status.TIMEOUT]
    assert (w.users, w.accounts, w.partitions) == (("USER1U",), ("A1A",), ("normal",))
    assert w.report.counts() == {"repeated_row": 1, "malformed_row": 1, "other_event": 1}
    assert "20170318: no line" in str(w.report)


def test_traffic_by_hand(tmp_path: Path) -> None:
    # node 7: 600 bytes in the first minute, 1200 in the second, then it restarts; node 26742: 1800 in the first
    # node 9 belongs to the other job; node 8 to none; a sample from before the start is not the job's
    rows = [
        (START - 60, 7, 0, 0), (START, 7, 5000, 0), (START + 60, 7, 5600, 60), (START + 120, 7, 6800, 120),
        (START + 180, 7, 10, 10), (START, 26742, 100, 0), (START + 60, 26742, 1900, 60), (START, 8, 0, 0),
        (START + 60, 8, 9999, 9999), (START + 60, 9, 0, 0), (START + 120, 9, 60, 0),
    ]  # fmt: skip
    shuffled = [rows[k] for k in np.random.default_rng(0).permutation(len(rows))]
    samples = "".join(", ".join(map(str, row)) + "\n" for row in shuffled)
    w = datasets.load("bluewaters", folder(tmp_path, LINE + SECOND, samples))
    sent, received = w.traces["network_tx"], w.traces["network_rx"]
    # (600 + 1800) bytes of two nodes in 60 s: 20 B/s for each; then 1200 bytes of the one that has samples
    assert sent[0] == pytest.approx([20, 20])
    assert received[0] == pytest.approx([1, 1])
    assert sent[1] == pytest.approx([1])
    assert sent.start.tolist() == [0, 60]
    assert sent.unit == "B/s"
    assert w.report.count("negative_counter") == 1
    assert not datasets.load("bluewaters", tmp_path, with_traces=False).traces


def test_samples_in_several_files_and_the_original_columns(tmp_path: Path) -> None:
    folder(tmp_path, LINE, "")
    for day, (time, count) in enumerate([(START, 5000), (START + 60, 5600)]):
        row = [str(time), "7", *["0"] * 13, str(count), "0", "1"]
        (tmp_path / f"cray_system_sampler/2017031{day}").write_text(",".join(row) + "\n")
    (tmp_path / "cray_system_sampler/20170318").unlink()
    w = datasets.load("bluewaters", tmp_path)
    assert w.traces["network_tx"][0] == pytest.approx([10])


def test_messages_and_windows(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match="does not exist"):
        datasets.load("bluewaters", tmp_path / "nowhere")
    with pytest.raises(WorkloadError, match="no line of a job's end"):
        datasets.load("bluewaters", folder(tmp_path, LINE.replace(";E;", ";S;")))
    with pytest.raises(WorkloadError, match="columns"):
        datasets.load("bluewaters", folder(tmp_path, LINE, "1,2,3\n"))
    fake("bluewaters", jobs=800, out=tmp_path / "fake", seed=1)
    whole = datasets.load("bluewaters", tmp_path / "fake")
    begin = whole.epoch + 4000
    part = datasets.load("bluewaters", tmp_path / "fake", window=(begin, begin + 3000))
    assert part.fingerprint() == whole.window(4000, 3000).fingerprint()
