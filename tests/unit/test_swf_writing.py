"""Writing logs: what SWF can hold comes back, and files appear whole or not at all."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.workload_strategies import workloads

from twin_gym.datasets import swf
from twin_gym.errors import WorkloadError
from twin_gym.workload import Status, Workload

HELD = ("id", "submit", "runtime", "requested_time", "nodes", "start")
LABELS = {"user": "users", "account": "accounts", "partition": "partitions"}


def written(workload: Workload) -> str:
    buffer = io.StringIO()
    swf.save(workload, buffer)
    return buffer.getvalue()


def again(workload: Workload) -> Workload:
    return swf.load(io.StringIO(written(workload)))


def named(workload: Workload, name: str) -> list[str | None]:
    names = getattr(workload, LABELS[name])
    return [None if code < 0 else names[code] for code in getattr(workload, name)]


@given(workloads(rich=False))
def test_round_trip_of_any_workload(workload: Workload) -> None:
    back = again(workload)
    for name in HELD:
        np.testing.assert_array_equal(getattr(back, name), getattr(workload, name), err_msg=name)
    np.testing.assert_array_equal(back.status, np.where(workload.status > Status.CANCELLED, 0, workload.status))
    for name in LABELS:
        assert named(back, name) == named(workload, name), name
    assert (back.capacity, back.unit) == (workload.capacity, workload.unit)
    assert (back.epoch, back.epoch_known) == (workload.epoch, workload.epoch_known)
    assert written(back) == written(workload)


@st.composite
def lines(draw: st.DrawFn) -> str:
    """Draw a log of all 18 fields, sorted by submit, in which every job ran and requested something."""
    jobs = draw(st.integers(1, 6))
    number = st.integers(-1, 10**6)
    submits = sorted(draw(st.lists(st.integers(0, 10**8), min_size=jobs, max_size=jobs)))
    text = "; MaxProcs: 64\n; Queue: 1 short\n; Queue: 2 long\n; Partition: 1 short\n"
    for row, submit in enumerate(submits, 1):
        wait, used, memory, group, executable, partition, before, think = draw(st.tuples(*[number] * 8))
        cpu = draw(st.one_of(st.just(-1), st.floats(0, 1e6).map(lambda x: round(x, 2))))
        run, procs, limit = draw(st.tuples(*[st.integers(1, 10**6)] * 3))
        status, user, queue = draw(st.integers(-1, 5)), draw(st.integers(-1, 300)), draw(st.integers(-1, 3))
        fields = (row, submit, wait, run, used, cpu, memory, procs, limit, memory, status)
        fields += (user, group, executable, queue, partition, before, think)
        text += " ".join(map(str, fields)) + "\n"
    return text


@given(lines())
def test_round_trip_of_any_log(text: str) -> None:
    log = swf.load(io.StringIO(text))
    back = again(log)
    assert back.fingerprint() == log.fingerprint()
    assert back.header == log.header
    assert [line.split()[:5] for line in written(log).splitlines() if line[0] != ";"] == [
        line.split()[:5] for line in text.splitlines() if line[0] != ";"
    ]


def test_every_field_of_a_line_comes_back() -> None:
    line = "7 0 5 100 4 90.5 2048 8 200 4096 1 12 3 7 3 2 6 60"
    assert written(swf.load(io.StringIO(line))).splitlines() == [line]


def test_names_stand_in_the_header() -> None:
    workload = Workload.build(
        submit=[0, 1], runtime=[1, 1], nodes=[1, 1], user=["bob", "ann"], account=[7, 9], partition=["q", None]
    )  # fmt: skip
    assert written(workload).splitlines() == [
        "; Unit: node",
        "; User: 1 ann",
        "; User: 2 bob",
        "; Queue: 1 q",
        "1 0 -1 1 -1 -1 -1 1 1 -1 -1 2 7 -1 1 -1 -1 -1",
        "2 1 -1 1 -1 -1 -1 1 1 -1 -1 1 9 -1 -1 -1 -1 -1",
    ]


def test_joined_logs_do_not_mix_their_queues() -> None:
    one = swf.load(io.StringIO("; Queue: 1 short\n1 0 0 10 1 -1 -1 1 10 -1 1 -1 -1 -1 1 -1 -1 -1\n"))
    two = swf.load(io.StringIO("; Queue: 1 long\n1 0 0 10 1 -1 -1 1 10 -1 1 -1 -1 -1 1 -1 -1 -1\n"))
    assert named(again(Workload.concat([one, two])), "partition") == ["short", "long"]
    renamed = again(again(Workload.concat([two, one])))
    assert named(renamed, "partition") == ["long", "short"]


def test_a_window_begins_with_its_first_submit() -> None:
    log = Workload.build(submit=[10, 50], start=[20, 60], runtime=[500, 5], nodes=[1, 1], epoch=1000)
    back = again(log.window(40))
    assert (back.epoch, back.submit.tolist(), back.start.tolist()) == (1010, [0, 40], [10, 50])


def test_submits_that_look_like_a_calendar_move_to_the_epoch() -> None:
    log = Workload.build(submit=[600_000_000, 600_000_005], runtime=[5, 5], nodes=[1, 1], epoch=1_000_000_000)
    back = again(log)
    assert (back.epoch, back.submit.tolist()) == (1_600_000_000, [0, 5])


def test_paths_plain_and_compressed(tmp_path: Path) -> None:
    log = Workload.build(submit=[0], runtime=[5], nodes=[1])
    swf.save(log, tmp_path / "a.swf")
    swf.save(log, str(tmp_path / "b.swf.gz"))
    assert gzip.decompress((tmp_path / "b.swf.gz").read_bytes()) == (tmp_path / "a.swf").read_bytes()
    assert swf.load(tmp_path / "b.swf.gz").fingerprint() == log.fingerprint()
    first = (tmp_path / "b.swf.gz").read_bytes()
    swf.save(log, tmp_path / "b.swf.gz")
    assert (tmp_path / "b.swf.gz").read_bytes() == first, "equal logs are equal files"
    buffer = io.BytesIO()
    swf.save(log, buffer)
    assert buffer.getvalue() == (tmp_path / "a.swf").read_bytes()


def test_places_that_can_not_be_written(tmp_path: Path) -> None:
    log = Workload.build(submit=[0], runtime=[5], nodes=[1])
    with pytest.raises(WorkloadError, match=r"none/a\.swf can't be written: No such file or directory\."):
        swf.save(log, tmp_path / "none" / "a.swf")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_one_sentence() -> None:
    log = Workload.build(submit=[0], runtime=[5], nodes=[1])
    with (
        open("/dev/full", "wb", buffering=0) as full,
        pytest.raises(WorkloadError, match=r"^/dev/full can't be written: No space left on device\.$"),
    ):
        swf.save(log, full)


def test_many_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Workload.build(submit=range(100), runtime=range(1, 101), nodes=[1] * 100)
    whole = written(log)
    monkeypatch.setattr("twin_gym.datasets._swf_write.LINES", 7)
    assert written(log) == whole
