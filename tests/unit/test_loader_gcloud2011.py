"""Google 2011: tasks side by side, machines of the commonest kind, times in microseconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from twin_gym import datasets
from twin_gym.datasets.lookalike import fake
from twin_gym.errors import WorkloadError
from twin_gym.workload import Status, Workload

M = 1_000_000
JOBS = [
    (700 * M, "", 11, 0, "u", 2, "n", "l"), (710 * M, "", 11, 1, "u", 2, "n", "l"),
    (2100 * M, "", 11, 4, "u", 2, "n", "l"), (800 * M, "", 12, 0, "v", 0, "n", "l"),
    (800 * M, "", 13, 0, "v", 0, "n", "l"),
]  # fmt: skip
# job 11: two tasks of 0.6 CPU; one is evicted and submitted again; job 12 never ends; job 13 has no task
TASKS = [
    (700 * M, "", 11, 0, "", 0, "u", 2, 9, 0.6, 0.1, 0, 0), (700 * M, "", 11, 1, "", 0, "u", 2, 4, 0.6, 0.1, 0, 0),
    (710 * M, "", 11, 0, 5, 1, "u", 2, 9, 0.6, 0.1, 0, 0), (900 * M, "", 11, 1, 6, 1, "u", 2, 4, 0.6, 0.1, 0, 0),
    (950 * M, "", 11, 1, 6, 2, "u", 2, 4, 0.6, 0.1, 0, 0), (950 * M, "", 11, 1, "", 0, "u", 2, 4, 0.6, 0.1, 0, 0),
    (2110 * M, "", 11, 0, 5, 4, "u", 2, 9, 0.6, 0.1, 0, 0), (2000 * M, "", 11, 1, 6, 4, "u", 2, 4, 0.6, 0.1, 0, 0),
    (800 * M, "", 12, 0, "", 0, "v", 0, 0, 0.1, 0.1, 0, 0), (810 * M, "", 12, 0, 7, 1, "v", 0, 0, 0.1, 0.1, 0, 0),
    (2**63 - 1, "", 12, 0, 7, 4, "v", 0, 0, 0.1, 0.1, 0, 0), (1, "", 99, 0, "", 0, "v", 0, 0, 0.1, 0.1, 0, 0),
]  # fmt: skip
MACHINES = [(0, 1, 0, "p", 0.5, 0.25), (0, 2, 0, "p", 0.5, 0.25), (0, 3, 0, "p", 1, 1), (9, 1, 1, "p", 0.5, 0.25)]


def usage(*rows: tuple[int, int, int, int, float]) -> list[tuple[Any, ...]]:
    return [(a * M, b * M, job, task, 5, rate, *[0] * 14) for a, b, job, task, rate in rows]


def write(tmp_path: Path, **parts: list[tuple[Any, ...]]) -> Path:
    usual = usage((600, 900, 11, 0, 0.3), (600, 900, 11, 1, 0.6), (1200, 1500, 11, 0, 0.3), (300, 600, 11, 0, 0.9))
    tables = {"job_events": JOBS, "task_events": TASKS, "machine_events": MACHINES, "task_usage": usual} | parts
    for name, rows in tables.items():
        (tmp_path / name).mkdir(exist_ok=True)
        text = "".join(",".join(map(str, row)) + "\n" for row in rows)
        (tmp_path / name / "part-00000-of-00500.csv").write_text(text)
    return tmp_path


def load(tmp_path: Path, **parts: list[tuple[Any, ...]]) -> Workload:
    return datasets.load("gcloud2011", write(tmp_path, **parts))


def test_columns(tmp_path: Path) -> None:
    w = load(tmp_path)
    assert w.id.tolist() == [11]
    # machines have 0.5 CPUs mostly: two tasks of 0.6, each counted once, ask for 2.4 of them
    assert w.nodes.tolist() == [3]
    assert w.epoch == 1_304_290_200 + 700
    assert (w.submit.tolist(), w.start.tolist(), w.runtime.tolist()) == ([0], [10], [1400])
    assert w.requested_time.tolist() == [1400]  # nobody asks for time there; it is not 0
    assert w.status.tolist() == [Status.COMPLETED]
    assert w.priority.tolist() == [9]
    assert (w.extra["tasks"].tolist(), w.extra["scheduling_class"].tolist()) == ([2], [2])
    assert w.capacity == 3
    assert w.users == ("u",)
    assert w.report.count("unfinished") == 1
    assert w.report.count("never_ran") == 1
    assert w.report.count("orphan") == 1


def test_use_by_hand(tmp_path: Path) -> None:
    w = load(tmp_path)
    cpu = w.traces["cpu"]
    # tasks run side by side: 0.3 + 0.6 of three machines of 0.5; then a gap; then 0.3; the rest as the last
    assert cpu[0] == pytest.approx([0.6, 0.6, 0.2, 0.2, 0.2, 0.2])
    assert cpu.quantum.tolist() == [300]
    assert cpu.start.tolist() == [600 - 710]  # bins are those of the trace, which began at 600 s
    assert w.report.count("sample_outside") == 1


def test_memory_may_be_what_is_asked_for(tmp_path: Path) -> None:
    tasks = [(*row[:10], 0.9, *row[11:]) for row in TASKS]
    assert load(tmp_path, task_events=tasks).nodes.tolist() == [8]


def test_windows_and_messages(tmp_path: Path) -> None:
    for name in ("machine_events", "task_usage"):
        write(tmp_path)
        (tmp_path / name / "part-00000-of-00500.csv").unlink()
        with pytest.raises(WorkloadError, match=f"{name} holds no part"):
            datasets.load("gcloud2011", tmp_path)
    assert not datasets.load("gcloud2011", tmp_path, with_traces=False).traces
    with pytest.raises(WorkloadError, match="submits no job"):
        load(tmp_path, job_events=JOBS[1:3])
    with pytest.raises(WorkloadError, match="no machine with CPU"):
        load(tmp_path, machine_events=[(0, 1, 1, "p", 0.5, 0.25)])
    with pytest.raises(WorkloadError, match="'x' is not a number"):
        load(tmp_path, job_events=[("x", *JOBS[0][1:])])
    other = tmp_path / "fake"
    fake("gcloud2011", jobs=500, out=other, seed=1)
    whole = datasets.load("gcloud2011", other)
    begin = whole.epoch + 30
    part = datasets.load("gcloud2011", other, window=(begin, begin + 60))
    assert part.fingerprint() == whole.window(30, 60).fingerprint()
    assert len(whole) + whole.report.dropped == 500
