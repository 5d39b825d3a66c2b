"""Results: what follows from the engine's arrays, and what a run directory keeps of it."""

from __future__ import annotations

import json
import logging
import os
import resource
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from twin_gym.config import Multifactor, RunConfig
from twin_gym.errors import ResultError
from twin_gym.ragged import Ragged
from twin_gym.result import Result
from twin_gym.states import JobState
from twin_gym.system import System
from twin_gym.workload import UNKNOWN, Workload

PENDING, QUEUED, RUNNING, COMPLETED, TIMEOUT, FAILED, REFUSED = JobState
NEVER = UNKNOWN


def run(
    jobs: list[tuple[int, int, int, int, int, JobState]],
    nodes: int = 10,
    attempts: list[tuple[int, int, int]] = [],  # noqa: B006 (never changed)
    placement: Ragged | None = None,
    clock: int | None = None,
    initial: list[int] = [],  # noqa: B006
    **about: Any,
) -> Result:
    """A result from rows of submit, runtime, nodes, start, end, state; rows in `initial` ran from the beginning."""
    submit, runtime, size, start, end, state = (list(column) for column in zip(*jobs, strict=True))
    flags = np.isin(np.arange(len(jobs)), initial)
    workload = Workload.build(
        submit=submit,
        runtime=runtime,
        nodes=size,
        requested_time=[2 * r for r in runtime],
        start=[s if flag else NEVER for s, flag in zip(start, flags, strict=True)],
        initial=flags if initial or min(submit) < 0 else None,
        user=about.pop("user", None),
        **about,
    )
    assert len(workload) == len(jobs)
    return Result.build(
        workload=workload,
        system=System.uniform(nodes),
        config=RunConfig(policy="sjf", backfill="easy", multifactor=Multifactor(queue_factors={"debug": 0.5})),
        start=np.array(start, np.int64),
        end=np.array(end, np.int64),
        state=np.array(state, np.int8),
        attempts=pd.DataFrame(attempts, columns=["job", "start", "end"]) if attempts else None,
        placement=placement,
        counters={"passes": 7},
        clock=max(end) if clock is None else clock,
    )


#  nodes
#  10 |aaaaaaaaaabbbbb        a: 10 nodes, 0-100; b: 6 nodes, 100-150; c: 4 nodes, 100-120 (at its request);
#   4 |aaaaaaaaaacc           d is too large
#      0        100  150 s
SMALL = [
    (0, 100, 10, 0, 100, COMPLETED),
    (10, 50, 6, 100, 150, COMPLETED),
    (20, 30, 4, 100, 120, TIMEOUT),
    (30, 10, 11, NEVER, NEVER, REFUSED),
]


@pytest.fixture
def small() -> Result:
    return run(SMALL, user=["ann", "bob", "ann", None], epoch=1_000_000_000)


# ---------------------------------------------------------------------------------------------------- tables


def test_the_job_table_by_hand(small: Result) -> None:
    jobs = small.jobs
    assert jobs["id"].tolist() == [1, 2, 3, 4]
    assert jobs["wait"].tolist() == [0, 90, 80, pd.NA]
    assert jobs["runtime"].tolist() == [100, 50, 20, pd.NA]
    assert jobs["turnaround"].tolist() == [100, 140, 100, pd.NA]
    assert jobs["slowdown"].tolist()[:3] == [1.0, 2.8, 5.0]
    assert jobs["bounded_slowdown"].tolist()[:3] == [1.0, 2.8, 5.0]
    assert jobs["slowdown"].isna().tolist() == jobs["bounded_slowdown"].isna().tolist() == [False, False, False, True]
    assert jobs["state"].tolist() == ["COMPLETED", "COMPLETED", "TIMEOUT", "REFUSED"]
    assert jobs["user"].tolist()[:3] == ["ann", "bob", "ann"]
    assert pd.isna(jobs["user"][3])
    assert {str(jobs[name].dtype) for name in ("start", "end", "wait", "runtime", "turnaround")} == {"Int64"}
    assert "sjf" in repr(small)


def test_the_timeline_by_hand(small: Result) -> None:
    assert small.timeline.to_dict("list") == {
        "time": [0, 10, 20, 100, 120, 150],
        "busy_nodes": [10, 10, 10, 10, 6, 0],
        "free_nodes": [0, 0, 0, 0, 4, 10],
        "utilization": [1.0, 1.0, 1.0, 1.0, 0.6, 0.0],
        "queued": [0, 1, 2, 0, 0, 0],
        "running": [1, 1, 1, 2, 1, 0],
    }


def test_the_summary_by_hand(small: Result) -> None:
    s = small.summary
    assert (s["policy"], s["backfill"], s["passes"]) == ("sjf", "easy", 7)
    assert (s["jobs"], s["jobs_finished"], s["jobs_completed"], s["jobs_timeout"], s["jobs_refused"]) == (4, 3, 2, 1, 1)
    assert (s["wait_mean"], s["wait_median"], s["wait_max"]) == (pytest.approx(170 / 3), 80.0, 90.0)
    assert s["bounded_slowdown_mean"] == pytest.approx((1 + 2.8 + 5) / 3)
    assert s["makespan"] == 150
    assert s["utilization"] == pytest.approx((1000 + 300 + 80) / 1500)
    assert s["node_hours"] == pytest.approx(1380 / 3600)
    assert s["throughput"] == pytest.approx(3 / 150 * 3600)
    assert s["queued_mean"] == pytest.approx(170 / 150)
    assert s["running_mean"] == pytest.approx(170 / 150)
    assert s["awrt"] == pytest.approx((1000 * 100 + 300 * 140 + 80 * 100) / 1380)
    # ann's jobs are slowed down by (1 + 5) / 2, bob's by 2.8
    assert s["fairness"] == pytest.approx((3 + 2.8) ** 2 / (2 * (9 + 2.8**2)))
    sizes = {name: n for name, n in s.items() if name.startswith("size_")}
    assert sizes == {"size_1": 0, "size_2": 0, "size_3_4": 1, "size_5_8": 1, "size_9_16": 1}


def test_the_summary_is_json_without_nan_even_if_nothing_ran() -> None:
    result = run([(0, 10, 99, NEVER, NEVER, REFUSED)], clock=0)
    text = json.dumps(result.summary, allow_nan=False)
    assert json.loads(text)["wait_mean"] is None
    assert result.summary["utilization"] is None
    assert len(result.timeline) == 1


def test_neither_failed_nor_initial_jobs_count_in_means_but_their_nodes_were_busy() -> None:
    result = run(
        [
            (-100, 80, 4, -30, 50, COMPLETED),  # was running when the window began
            (0, 10, 2, 0, 10, COMPLETED),
            (5, 100, 5, 25, 65, FAILED),
        ],
        initial=[0],
    )
    s = result.summary
    assert (result.begin, result.finish) == (0, 65)
    assert (s["jobs_initial"], s["jobs_failed"], s["jobs_finished"]) == (1, 1, 2)
    assert (s["wait_mean"], s["wait_max"]) == (0.0, 0.0)
    assert s["utilization"] == pytest.approx((4 * 50 + 2 * 10 + 5 * 40) / 650)
    assert s["lost_node_hours"] == pytest.approx(5 * 40 / 3600)
    assert s["queued_mean"] == pytest.approx(20 / 65)


def test_an_initial_job_without_room_is_one_that_this_run_has_scheduled() -> None:
    jobs = [(-100, 80, 4, -30, 50, COMPLETED), (0, 10, 2, 0, 10, COMPLETED)]
    kept, displaced = run(jobs, initial=[0]), run(jobs, initial=[0])
    moved = Result.build(
        displaced.workload, System.uniform(10), displaced.config, np.array([7, 0]), np.array([87, 10]),
        np.array([3, 3], np.int8), None, None, {}, 87,
    )  # fmt: skip
    assert kept.summary["jobs_initial"] == 1
    assert moved.summary["jobs_initial"] == 0
    assert moved.summary["wait_max"] == 107


def test_a_run_that_was_stopped_counts_up_to_its_clock() -> None:
    result = run(
        [
            (0, 100, 4, 0, 123, RUNNING),  # an engine may know an end that has not come
            (10, 20, 4, 10, 30, COMPLETED),
            (20, 50, 4, NEVER, NEVER, QUEUED),
            (90, 50, 4, NEVER, NEVER, PENDING),
        ],
        clock=60,
    )
    s = result.summary
    assert result.finish == 60
    assert (s["jobs_running"], s["jobs_queued"], s["jobs_pending"]) == (1, 1, 1)
    assert s["utilization"] == pytest.approx((4 * 60 + 4 * 20) / 600)
    assert s["queued_mean"] == pytest.approx(40 / 60)
    assert result.jobs["end"].tolist() == [pd.NA, 30, pd.NA, pd.NA]
    assert result.jobs["wait"].tolist() == [0, 0, pd.NA, pd.NA]
    assert result.timeline["time"].tolist() == [0, 10, 20, 30, 60]
    assert result.timeline["queued"].tolist() == [0, 0, 1, 1, 1]
    assert result.timeline["busy_nodes"].tolist() == [4, 8, 8, 4, 4]


def test_a_restarted_job_waited_whenever_it_did_not_run() -> None:
    result = run([(0, 50, 4, 70, 120, COMPLETED)], attempts=[(0, 10, 40)])
    assert result.timeline[["time", "busy_nodes", "queued", "running"]].values.tolist() == [
        [0, 0, 1, 0],
        [10, 4, 0, 1],
        [40, 0, 1, 0],
        [70, 4, 0, 1],
        [120, 0, 0, 0],
    ]
    s = result.summary
    assert result.jobs["restarts"].tolist() == [1]
    assert (s["restarts"], s["lost_node_hours"]) == (1, pytest.approx(120 / 3600))
    assert s["utilization"] == pytest.approx(4 * 80 / 1200)
    assert s["queued_mean"] == pytest.approx(40 / 120)
    assert s["running_mean"] == pytest.approx(80 / 120)
    assert s["wait_max"] == 70


def test_what_validation_dropped_is_counted() -> None:
    workload = Workload.build(submit=[0, 1], runtime=[5, 0], nodes=[1, 1])
    result = Result.build(
        workload,
        System.uniform(2),
        RunConfig(),
        np.array([0]),
        np.array([5]),
        np.array([3], np.int8),
        None,
        None,
        {},
        5,
    )
    assert result.summary["jobs_dropped"] == 1
    assert result.scenario.defects["never_ran"] == 1


@st.composite
def schedules(draw: st.DrawFn) -> Result:
    """Any mixture of states, attempts among them (times are consistent; nodes need not suffice)."""
    small = st.integers(0, 40)
    jobs, attempts = [], []
    clock = draw(st.integers(0, 60))
    submits = sorted(draw(st.lists(st.integers(0, 60), min_size=1, max_size=12)))
    for row, submit in enumerate(submits):
        nodes = draw(st.integers(1, 5))
        if submit > clock:
            jobs.append((submit, 1, nodes, NEVER, NEVER, PENDING))
            continue
        moment = submit
        for _ in range(draw(st.integers(0, 2))):
            first = moment + draw(small)
            moment = first + draw(small)
            if moment > clock:
                break
            attempts.append((row, first, moment))
        queued = max((last for job, _, last in attempts if job == row), default=submit)
        start = queued + draw(small)
        end = start + draw(small)
        state = draw(st.sampled_from([COMPLETED, TIMEOUT, FAILED]))
        if draw(st.integers(0, 5)) == 0:
            attempts = [attempt for attempt in attempts if attempt[0] != row]
            jobs.append((submit, 1, nodes, NEVER, NEVER, REFUSED))
        elif start > clock:
            jobs.append((submit, 1, nodes, NEVER, NEVER, QUEUED))
        else:
            jobs.append((submit, 1, nodes, start, end, RUNNING if end > clock else state))
    return run(jobs, nodes=60, attempts=attempts, clock=clock)


@given(schedules())
def test_the_timeline_is_what_a_second_by_second_count_gives(result: Result) -> None:
    o, lost = result.outcome, result.attempts
    last = result.finish
    spans = [(a, b, n) for a, b, n in zip(lost.start, lost.end, o.nodes[lost.job], strict=True)]
    waits = []
    for row, state in enumerate(o.state):
        if o.start[row] != UNKNOWN:
            spans.append((o.start[row], o.end[row] if o.end[row] != UNKNOWN else last + 1, o.nodes[row]))
        if state in (PENDING, REFUSED):
            continue
        moment = o.submit[row]
        for a, b in sorted((a, b) for job, a, b in zip(lost.job, lost.start, lost.end, strict=True) if job == row):
            waits.append((moment, a))
            moment = b
        waits.append((moment, o.start[row] if o.start[row] != UNKNOWN else last + 1))
    timeline = result.timeline
    time = timeline["time"].to_numpy()
    assert time[0] == result.begin
    assert time[-1] == result.finish
    for second in range(result.begin, last + 1):
        row = timeline.iloc[np.searchsorted(time, second, side="right") - 1]
        assert row["busy_nodes"] == sum(n for a, b, n in spans if a <= second < b)
        assert row["running"] == sum(1 for a, b, _ in spans if a <= second < b)
        assert row["queued"] == sum(1 for a, b in waits if a <= second < b)
        assert row["free_nodes"] == 60 - row["busy_nodes"]


@given(schedules())
def test_the_summary_is_what_the_timeline_integrates_to(result: Result) -> None:
    timeline, s = result.timeline, result.summary
    length = np.diff(timeline["time"])
    if s["makespan"] == 0:
        assert s["utilization"] is s["queued_mean"] is s["running_mean"] is None
        return
    for name, column in (("utilization", "utilization"), ("queued_mean", "queued"), ("running_mean", "running")):
        assert s[name] == pytest.approx(np.dot(length, timeline[column].to_numpy()[:-1]) / s["makespan"])
    assert s["jobs"] == sum(n for name, n in s.items() if name.startswith("jobs_") and name not in
                            ("jobs_finished", "jobs_initial", "jobs_dropped"))  # fmt: skip


# ---------------------------------------------------------------------------------------------------- directories


def assert_same(one: Result, other: Result) -> None:
    pd.testing.assert_frame_equal(one.jobs, other.jobs)
    pd.testing.assert_frame_equal(one.timeline, other.timeline)
    assert one.summary == other.summary
    assert (one.config, one.clock, one.label) == (other.config, other.clock, other.label)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_run_comes_back_as_it_was(small: Result, tmp_path: Path) -> None:
    assert small.save(tmp_path / "deep" / "run", csv=True, figures=False) == tmp_path / "deep" / "run"
    again = Result.load(tmp_path / "deep" / "run")
    assert_same(small, again)
    assert again.workload is None
    assert small.workload is not None
    assert again.scenario.fingerprint == small.workload.fingerprint()
    assert again.scenario.epoch == 1_000_000_000
    # and once more, from what was loaded
    again.save(tmp_path / "copy", csv=True, figures=False)
    assert contents(tmp_path / "copy") == contents(tmp_path / "deep" / "run")


@given(result=schedules())
def test_any_run_comes_back_as_it_was(result: Result, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("run") / "run"
    result.save(folder, figures=False)
    assert_same(result, Result.load(folder))
    written = pd.read_parquet(folder / "job_history.parquet")
    for name, column in result.jobs.items():
        assert written[name].isna().tolist() == column.isna().tolist()
        assert written[name].dropna().tolist() == column.dropna().tolist()


def test_node_ids_come_back(tmp_path: Path) -> None:
    nodes = Ragged.from_rows([range(10), range(6), range(6, 10), []])
    run(SMALL, placement=nodes).save(tmp_path / "run", figures=False)
    again = Result.load(tmp_path / "run").placement
    assert again is not None
    assert [again[row].tolist() for row in range(4)] == [nodes[row].tolist() for row in range(4)]


def test_the_files_are_what_they_say(small: Result, tmp_path: Path) -> None:
    small.save(tmp_path / "run", csv=True)
    names = set(contents(tmp_path / "run"))
    assert names == {
        "config.yaml", "job_history.parquet", "job_history.csv", "queue_history.parquet", "running_history.parquet",
        "util.parquet", "stats.json", "figures/utilization.png", "figures/queue.png", "figures/gantt.png",
    }  # fmt: skip
    config = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())
    assert (config["run"]["policy"], config["run"]["seed"], config["scenario"]["nodes"]) == ("sjf", 0, 10)
    assert json.loads((tmp_path / "run" / "stats.json").read_text())["summary"] == small.summary
    frame = pd.read_parquet(tmp_path / "run" / "job_history.parquet")
    assert frame.columns.tolist() == small.jobs.columns.tolist()
    assert frame["wait"].tolist()[:3] == [0, 90, 80]
    assert pd.read_csv(tmp_path / "run" / "job_history.csv")["state"].tolist() == small.jobs["state"].tolist()
    schema = pq.read_schema(tmp_path / "run" / "job_history.parquet")
    assert schema.field("wait").metadata[b"unit"] == b"s"
    assert pd.read_parquet(tmp_path / "run" / "queue_history.parquet").to_dict("list") == {
        "time": [0, 10, 20, 100],
        "queued": [0, 1, 2, 0],
    }
    util = pd.read_parquet(tmp_path / "run" / "util.parquet")
    assert util[["time", "busy_nodes"]].to_numpy().tolist() == [[0, 10], [120, 6], [150, 0]]


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        run(SMALL).save(tmp_path / name, csv=True)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_large_tables_are_written_in_pieces(small: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = Ragged.from_rows([range(10), range(6), range(6, 10), []])
    monkeypatch.setattr("twin_gym.run_directory._CHUNK", 3)
    result = run(SMALL, placement=nodes)
    result.save(tmp_path / "run", csv=True, figures=False)
    assert pq.ParquetFile(tmp_path / "run" / "job_history.parquet").num_row_groups == 2
    again = Result.load(tmp_path / "run")
    assert_same(result, again)
    assert again.placement is not None
    assert again.placement[2].tolist() == [6, 7, 8, 9]
    assert len(pd.read_csv(tmp_path / "run" / "job_history.csv")) == 4


def test_a_run_is_never_overwritten_without_saying_so(
    small: Result, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    target = tmp_path / "run"
    target.mkdir()
    small.save(target, figures=False)  # an empty directory is free to take
    before = contents(target)
    with pytest.raises(ResultError, match=r"holds a run already.*overwrite"):
        run(SMALL[:1]).save(target, figures=False)
    assert contents(target) == before
    with caplog.at_level(logging.WARNING, "twin_gym"):
        run(SMALL[:1]).save(target, figures=False, overwrite=True)
    assert "has been replaced" in caplog.text
    assert len(Result.load(target).jobs) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_what_is_no_run_is_never_touched(small: Result, tmp_path: Path, overwrite: bool) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("years of work")
    with pytest.raises(ResultError, match="something else than a run"):
        small.save(tmp_path / "thesis", figures=False, overwrite=overwrite)
    with pytest.raises(ResultError, match="is a file"):
        small.save(tmp_path / "thesis" / "chapter.tex", figures=False, overwrite=overwrite)
    assert contents(tmp_path) == {"thesis/chapter.tex": b"years of work"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_unwritable_directory_is_one_sentence(small: Result, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(ResultError, match=r"can't be written to .*run: Permission denied; choose another directory\."):
        small.save(tmp_path / "run")


def test_a_directory_below_a_file_is_one_sentence(small: Result, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultError, match=r"can't be written to .*: .*; choose another directory\."):
        small.save(tmp_path / "file" / "run")


def test_a_full_disk_is_one_sentence_and_leaves_nothing(small: Result, tmp_path: Path) -> None:
    # a limit on file sizes fails in the same call and the same way as a full disk
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (900, hard))
    try:
        with pytest.raises(
            ResultError, match=r"can't be written to .*; free some space or choose another directory"
        ) as e:
            small.save(tmp_path / "run")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "\n" not in str(e.value)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_replacement_keeps_the_old_run(
    small: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small.save(tmp_path / "run", figures=False)
    before = contents(tmp_path)

    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("twin_gym.run_directory.json.dumps", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run(SMALL[:1]).save(tmp_path / "run", figures=False, overwrite=True)
    assert contents(tmp_path) == before


def damage_config(folder: Path) -> None:
    (folder / "config.yaml").write_text("run: {policy: [sjf")


def damage_choice(folder: Path) -> None:
    text = (folder / "config.yaml").read_text()
    (folder / "config.yaml").write_text(text.replace("backfill: easy", "backfill: eesy"))


def damage_version(folder: Path) -> None:
    text = (folder / "config.yaml").read_text()
    (folder / "config.yaml").write_text(text.replace("seed: 0", "sead: 0"))


def damage_stats(folder: Path) -> None:
    (folder / "stats.json").write_text("{}")


def damage_jobs(folder: Path) -> None:
    data = (folder / "job_history.parquet").read_bytes()
    (folder / "job_history.parquet").write_bytes(data[: len(data) // 2])


def damage_column(folder: Path) -> None:
    path = folder / "job_history.parquet"
    pq.write_table(pq.read_table(path).drop_columns(["start"]), path)


def remove_jobs(folder: Path) -> None:
    (folder / "job_history.parquet").unlink()


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (damage_config, r"config.yaml is damaged"),
        (damage_choice, r"config.yaml can't be used: backfill='eesy' is unknown. Did you mean 'easy'\?"),
        (damage_version, r"config.yaml is damaged or of another version.*sead"),
        (damage_stats, r"stats.json is damaged.*clock"),
        (damage_jobs, r"job_history.parquet"),
        (damage_column, r"job_history.parquet is damaged.*start"),
        (remove_jobs, r"is no run: job_history.parquet is missing"),
    ],
)
def test_a_damaged_run_is_one_sentence(small: Result, tmp_path: Path, damage: Any, says: str) -> None:
    small.save(tmp_path / "run", figures=False)
    damage(tmp_path / "run")
    with pytest.raises(ResultError, match=says) as error:
        Result.load(tmp_path / "run")
    assert "\n" not in str(error.value)


def test_what_is_no_directory_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="is no directory"):
        Result.load(tmp_path / "nowhere")


# ---------------------------------------------------------------------------------------------------- size


@pytest.mark.slow
def test_a_million_jobs_take_seconds() -> None:
    import time

    jobs = 1_000_000
    rng = np.random.default_rng(1)
    submit = np.sort(rng.integers(0, 10**8, jobs))
    runtime = rng.integers(1, 50_000, jobs)
    workload = Workload.build(submit=submit, runtime=runtime, nodes=rng.integers(1, 500, jobs))
    start = submit + rng.integers(0, 10**5, jobs)
    state = np.full(jobs, COMPLETED, np.int8)
    began = time.perf_counter()
    result = Result.build(
        workload, System.uniform(10**6), RunConfig(), start, start + runtime, state, None, None, {}, 2 * 10**8
    )
    assert result.summary["wait_mean"] == pytest.approx((start - submit).mean())
    assert result.timeline["busy_nodes"].iloc[-1] == 0
    assert time.perf_counter() - began < 20
