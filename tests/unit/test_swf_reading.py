"""Reading logs in the Standard Workload Format and its dialects."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import numpy as np
import pytest

from twin_gym import datasets
from twin_gym.datasets import swf
from twin_gym.errors import OptionError
from twin_gym.workload import UNKNOWN, Status, Workload

HEADER = """\
; Version: 2.2
; Computer: IBM SP2
; Copyright: All rights
;   see: http://example.org
; UnixStartTime: 893466664
; TimeZoneString: US/Pacific
; MaxNodes: 338 (batch partition; 512 total)
; MaxProcs: 1352 (four per node)
; Queue:  0  interactive
; Queue:  3  normal
;
"""
ONE = "1 0 5 100 4 90.50 2048 8 200 4096 1 12 3 7 3 2 -1 -1\n"
TWO = "2 10 -1 50 4 -1 -1 -1 -1 -1 5 13 -1 -1 0 -1 1 60\n"


def read(text: str, **options: object) -> Workload:
    return swf.load(io.StringIO(text), **options)  # type: ignore[arg-type]


def test_all_eighteen_fields() -> None:
    log = read(HEADER + ONE + TWO)
    assert log.id.tolist() == [1, 2]
    assert log.submit.tolist() == [0, 10]
    assert log.start.tolist() == [5, UNKNOWN]
    assert log.runtime.tolist() == [100, 50]
    assert log.nodes.tolist() == [8, 4]
    assert log.requested_time.tolist() == [200, 50]
    assert log.status.tolist() == [Status.COMPLETED, Status.CANCELLED]
    assert [log.users[code] for code in log.user] == ["12", "13"]
    assert (log.accounts, log.account.tolist()) == (("3",), [0, -1])
    assert [log.partitions[code] for code in log.partition] == ["normal", "interactive"]
    assert {name: column.tolist() for name, column in log.extra.items()} == {
        "used_procs": [4, 4],
        "cpu_time": [90.5, -1.0],
        "memory": [2048, -1],
        "requested_memory": [4096, -1],
        "executable": [7, -1],
        "queue_number": [3, 0],
        "partition_number": [2, -1],
        "preceding_job": [-1, 1],
        "think_time": [-1, 60],
    }
    assert log.report.counts() == {"no_requested_nodes": 1, "no_requested_time": 1}


def test_the_header_is_kept() -> None:
    log = read(HEADER + ONE + "; Computer: not this one\n" + TWO)
    assert log.header == {
        "Version": "2.2",
        "Computer": "IBM SP2",
        "Copyright": "All rights\nsee: http://example.org",
        "UnixStartTime": "893466664",
        "TimeZoneString": "US/Pacific",
        "MaxNodes": "338 (batch partition; 512 total)",
        "MaxProcs": "1352 (four per node)",
        "Queue": "0  interactive\n3  normal",
    }
    assert (log.epoch, log.epoch_known, log.capacity, log.unit) == (893466664, True, 1352, "processor")


@pytest.mark.parametrize(
    ("header", "capacity", "unit"),
    [
        ("; MaxNodes: 256\n", 256, "node"),
        ("; MaxNodes: 128\n; MaxProcs: 128\n", 128, "node"),
        ("; MaxProcs: 128\n", 128, "processor"),
        (";MaxProcs:128\n;MaxNodes: -1\n", 128, "processor"),
        ("; MaxProcs: unknown\n", None, "processor"),
        ("", None, "processor"),
    ],
)
def test_size_and_unit_of_the_machine(header: str, capacity: int | None, unit: str) -> None:
    log = read(header + ONE)
    assert (log.capacity, log.unit, log.epoch_known) == (capacity, unit, False)
    given = read(header + ONE, capacity=77, unit="processor")
    assert (given.capacity, given.unit) == (77, "processor")


@pytest.mark.parametrize(
    "text",
    [
        "1 0 -1 10 2\n2 5 -1 10 2\n",
        "\n\n1\t0\t-1  10\t2\n \t \n  2   5 -1 10 2",
        "; c\r\n1 0 -1 10 2\r\n\r\n2 5 -1 10 2\r\n",
        "1 0 -1 10 2 ; the first\n;\n  ; a comment, indented\n2 5 -1 10 2;end\n",
        "\ufeff; c\n1 0 -1 10 2\n2 5 -1 10 2 -1 -1 2 10 -1 1 -1 -1\n",
        "1 0 -1 10 2 -1 -1 2 10 -1 1 -1 -1 -1 -1 -1 -1 -1 {7,7} q_1d 1:ppn=2\n2 5 -1 10 2 -1 -1 2 10\n",
        "1 0 -1 1e1 2.0\n2 5.0 -1 +10 2\n",
        "2 5 -1 10 2\n1 0 -1 10 2\n",
    ],
    ids=["short", "blanks", "windows", "comments", "byte-order", "alea", "floats", "unsorted"],
)
def test_dialects(text: str) -> None:
    log = read(text)
    assert log.id.tolist() == [1, 2]
    assert log.submit.tolist() == [0, 5]
    assert log.runtime.tolist() == [10, 10]
    assert log.nodes.tolist() == [2, 2]
    assert log.requested_time.tolist() == [10, 10]
    assert (log.user == -1).all()


def test_fractions_of_a_second_are_rounded_and_counted() -> None:
    log = read("1 0.6 -1 10 2\n2 5 -1 10.4 2\n")
    assert (log.submit.tolist(), log.runtime.tolist()) == ([1, 5], [10, 10])
    assert log.report.count("rounded") == 2


def test_unix_submit_times_keep_the_calendar() -> None:
    log = read("; UnixStartTime: 0\n5 1641022430 10 60 1\n6 1641021254 0 60 1\n7 -1 0 60 1\n")
    assert log.epoch == 1641021254
    assert log.submit.tolist() == [0, 1176]
    assert log.start.tolist() == [0, 1186]
    assert log.report.count("no_submit") == 1


def test_jobs_without_a_request_may_be_dropped() -> None:
    requests = [(10, 4, 20), (10, -1, 20), (10, 4, -1), (0, 4, 20), (10, 4, 20)]
    lines = "".join(f"{j} {j} 0 {run} 4 -1 -1 {procs} {time}\n" for j, (run, procs, time) in enumerate(requests, 1))
    dropped = read(lines, missing_requests="drop")
    assert dropped.id.tolist() == [1, 5]
    assert dropped.report.counts() == {"never_ran": 1, "missing_request": 2}
    kept = read(lines)
    assert kept.id.tolist() == [1, 2, 3, 5]
    assert kept.report.counts() == {"never_ran": 1, "no_requested_nodes": 1, "no_requested_time": 1}


def test_the_table_with_titles() -> None:
    log = read(
        "; extract\nJob_name Submit Runtime Nodes Comment Perc\n77 1546326862 30 512 1 50\n78 1546326906 40 1024 0 10\n"
    )
    assert log.id.tolist() == [77, 78]
    assert (log.epoch, log.submit.tolist()) == (1546326862, [0, 44])
    assert (log.unit, log.nodes.tolist()) == ("node", [512, 1024])
    assert log.report.counts() == {"no_requested_time": 2}
    assert {name: column.tolist() for name, column in log.extra.items()} == {"comment": [1, 0], "perc": [50, 10]}
    more = read("id submit wait runtime procs walltime user\n1 0 5 10 2 20 9\n")
    assert (more.start.tolist(), more.requested_time.tolist(), more.users) == ([5], [20], ("9",))


@pytest.mark.parametrize("opened", ["path", "str", "binary", "text", "gz path", "gz file", "gz misnamed", "unseekable"])
def test_every_kind_of_source(opened: str, tmp_path: Path) -> None:
    text = HEADER + ONE + TWO
    plain, packed, misnamed = tmp_path / "log.swf", tmp_path / "log.swf.gz", tmp_path / "log.txt"
    plain.write_text(text)
    packed.write_bytes(gzip.compress(text.encode()))
    misnamed.write_bytes(packed.read_bytes())
    source = {
        "path": lambda: plain,
        "str": lambda: str(plain),
        "binary": lambda: plain.open("rb"),
        "text": lambda: plain.open(),
        "gz path": lambda: packed,
        "gz file": lambda: io.BytesIO(packed.read_bytes()),
        "gz misnamed": lambda: misnamed,
        "unseekable": lambda: io.BufferedReader(Unseekable(text.encode())),
    }[opened]()
    log = swf.load(source)
    assert log.fingerprint() == read(text).fingerprint()
    if hasattr(source, "close"):
        assert not source.closed, "the caller's file stays open"
        source.close()
    assert log.name in ("log", "the file object")


class Unseekable(io.RawIOBase):
    def __init__(self, data: bytes) -> None:
        self.data = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        return self.data.readinto(memoryview(buffer)[:7])


def test_characters_of_several_bytes_in_a_text_file() -> None:
    note = "; Note: " + "ünïcödé" * 300_000 + "\n"
    assert read(note + ONE + TWO).header["Note"].startswith("ünïcödé")


def test_progress_reaches_the_end(tmp_path: Path) -> None:
    path = tmp_path / "log.swf.gz"
    path.write_bytes(gzip.compress((ONE * 3).encode()))
    seen: list[tuple[int, int]] = []
    swf.load(path, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (path.stat().st_size, path.stat().st_size)
    swf.load(io.StringIO(ONE), progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (len(ONE), 0)


def test_lines_across_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    jobs = [f"{j + 1} {j} -1 {rng.integers(1, 10 ** rng.integers(1, 9))} 1 {rng.random():.3f}\n" for j in range(500)]
    text = HEADER + "".join(jobs)
    whole = read(text)
    for size in (1, 7, 64, 1000):
        monkeypatch.setattr("twin_gym.datasets._text.BLOCK", size)
        assert read(text).fingerprint() == whole.fingerprint()
        assert read(text).header == whole.header


def test_the_registry_knows_the_loader(tmp_path: Path) -> None:
    assert "swf" in datasets.names()
    assert not [name for name in datasets.names() if name.startswith("_")]
    path = tmp_path / "log.swf"
    path.write_text(ONE)
    assert len(datasets.load("swf", path, capacity=9)) == 1
    with pytest.raises(OptionError, match=r"no loader 'swfx'\. Did you mean 'swf'"):
        datasets.load("swfx", path)
    with pytest.raises(OptionError, match=r"'swf' has no option 'capacty'\. Did you mean 'capacity'"):
        datasets.load("swf", path, capacty=9)


@pytest.mark.slow
def test_a_million_lines_in_seconds() -> None:
    from time import perf_counter

    block = "".join(
        f"{j} {10 * j} 3 {j % 5000 + 1} 16 12.50 -1 16 7200 -1 1 {j % 300} 5 -1 2 -1 -1 -1\n" for j in range(100_000)
    )
    text = io.BytesIO(block.encode() * 10)
    begin = perf_counter()
    log = swf.load(text)
    assert perf_counter() - begin < 30, "a Python loop would take about a minute"
    assert len(log) == 1_000_000
