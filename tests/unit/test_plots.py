"""Figures: they say what they show, are written as PNG, and lose no peak."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twin_gym import drawing, plots
from twin_gym.config import RunConfig
from twin_gym.errors import OptionError
from twin_gym.ragged import Ragged
from twin_gym.result import Result
from twin_gym.system import System
from twin_gym.workload import UNKNOWN, Workload

NODES = 16


def run(
    jobs: int = 30,
    policy: str = "wfp3",
    backfill: str = "easy",
    *,
    lost: bool = False,
    nodes: bool = False,
    **about: Any,
) -> Result:
    """Jobs one after the other on a machine of 16 nodes, some of them never started."""
    rng = np.random.default_rng(jobs)
    runtime = rng.integers(100, 5000, jobs)
    size = rng.integers(1, NODES + 1, jobs)
    workload = Workload.build(submit=np.arange(jobs) * 600, runtime=runtime, nodes=size, name="night shift", **about)
    start = np.cumsum(np.r_[0, runtime[:-1]])
    start = np.maximum(start, workload.submit.max()) if jobs > 1000 else np.maximum(start, np.arange(jobs) * 5000)
    end = start + runtime
    state = np.full(jobs, 3, np.int8)
    if jobs > 2:
        state[-1] = 6
    return Result.build(
        workload=workload,
        system=System.uniform(NODES),
        config=RunConfig(policy=policy, backfill=backfill),
        start=start,
        end=end,
        state=state,
        attempts=pd.DataFrame({"job": [1], "start": [700], "end": [900]}) if lost else None,
        placement=Ragged.from_rows([range(n) for n in size]) if nodes else None,
        counters={},
        clock=int(end.max()),
    )


def texts(figure: Any) -> str:
    """All that is written on a figure."""
    from matplotlib.text import Text

    return "\n".join(text.get_text() for text in figure.findobj(Text))


def is_drawn(figure: Any, folder: Path) -> bool:
    """Write a figure as PNG and see that it is not blank."""
    from matplotlib.image import imread

    figure.savefig(folder / "figure.png")
    pixels = imread(folder / "figure.png")[..., :3]
    return float((pixels < 0.9).any(axis=-1).mean()) > 0.01


RESULTS = {
    "small": lambda: run(),
    "one job": lambda: run(1),
    "with dates": lambda: run(epoch=1_300_000_000),
    "long": lambda: run(3000),
    "with restarts": lambda: run(lost=True),
    "with nodes": lambda: run(nodes=True, lost=True),
}


@pytest.mark.parametrize("draw", [plots.utilization, plots.queue, plots.gantt])
@pytest.mark.parametrize("kind", RESULTS)
def test_figures_of_a_result_say_what_they_show(draw: Any, kind: str, tmp_path: Path) -> None:
    result = RESULTS[kind]()
    if draw is plots.gantt and kind == "long":
        with pytest.raises(OptionError, match="3,000 jobs can't be read"):
            draw(result)
        return
    figure = draw(result)
    assert is_drawn(figure, tmp_path)
    words = texts(figure)
    assert "wfp3, easy backfill" in words
    assert "night shift" in words
    assert "uniform (16 nodes)" in words
    assert ("UTC" in words) == (kind == "with dates")


def test_a_run_in_which_nothing_ran_has_figures() -> None:
    workload = Workload.build(submit=[0], runtime=[10], nodes=[99])
    result = Result.build(
        workload, System.uniform(2), RunConfig(), np.array([UNKNOWN]), np.array([UNKNOWN]), np.array([6], np.int8),
        None, None, {}, 0,
    )  # fmt: skip
    assert [name for name, _ in plots.portrait(result)] == ["utilization", "queue"]
    plots.gantt(result)
    plots.compare([result])


def test_a_portrait_has_a_gantt_chart_only_if_it_can_be_read() -> None:
    assert [name for name, _ in plots.portrait(run())] == ["utilization", "queue", "gantt"]
    assert [name for name, _ in plots.portrait(run(300))] == ["utilization", "queue"]


def test_boxes_of_a_gantt_chart_cover_nodes_times_seconds() -> None:
    result = run(12)
    axes = plots.gantt(result).axes[0]
    boxes = [path.get_extents() for part in axes.collections for path in part.get_paths()]
    area = sum(box.width * box.height for box in boxes)
    unit, _ = drawing.time_unit(result.finish - result.begin)
    busy = np.dot(result.timeline["busy_nodes"].to_numpy()[:-1], np.diff(result.timeline["time"]))
    assert area * unit == pytest.approx(busy)


@pytest.mark.parametrize("known", [False, True])
def test_boxes_of_a_gantt_chart_do_not_hide_each_other(known: bool) -> None:
    # three jobs side by side; the last one's first attempt ran beside the first two
    workload = Workload.build(submit=[0, 0, 0], runtime=[90, 90, 50], nodes=[3, 5, 4])
    result = Result.build(
        workload,
        System.uniform(12),
        RunConfig(placement="lowest" if known else "count"),
        start=np.array([0, 0, 60]),
        end=np.array([90, 90, 110]),
        state=np.full(3, 3, np.int8),
        attempts=pd.DataFrame({"job": [2], "start": [10], "end": [40]}),
        placement=Ragged.from_rows([[9, 10, 11], range(2, 7), [0, 1, 7, 8]]) if known else None,
        counters={},
        clock=110,
    )
    axes = plots.gantt(result).axes[0]
    boxes = [path.get_extents() for part in axes.collections for path in part.get_paths()]
    assert sum(box.height for box in boxes) == 3 + 5 + 4 + 4
    for one in boxes:
        for other in boxes:
            apart = one.x1 <= other.x0 or other.x1 <= one.x0 or one.y1 <= other.y0 or other.y1 <= one.y0
            assert one is other or apart
    assert len([part for part in axes.collections if part.get_hatch() and part.get_paths()]) == 1


@pytest.mark.parametrize("kept", [0, 2, 4, 8])
def test_comparisons_name_every_run(kept: int, tmp_path: Path) -> None:
    choices = product(("fcfs", "sjf", "wfp3", "saf"), ("none", "easy"))
    runs = [run(20 + n, policy, backfill) for n, (policy, backfill) in enumerate(choices)]
    table = pd.DataFrame([result.summary for result in runs[: kept or 8]])
    if kept:
        table.attrs["results"] = runs[:kept]
    figure = plots.compare(table)
    assert is_drawn(figure, tmp_path)
    words = texts(figure)
    for name in set(table["policy"]):
        assert name in words
    assert "no backfill" in words
    assert "easy backfill" in words
    assert ("Utilization over time" in words) == (kept in (2, 4))
    assert texts(plots.compare(runs[:2])).count("fcfs") >= 2


def test_very_unequal_runs_are_compared_on_a_logarithmic_axis() -> None:
    table = pd.DataFrame(
        {
            "policy": ["fcfs", "sjf", "saf"],
            "backfill": ["none"] * 3,
            "jobs": [9] * 3,
            "wait_mean": [400_000.0, 400.0, None],
            "bounded_slowdown_mean": [3.0, 2.0, None],
            "utilization": [0.7, 0.7, None],
        }
    )
    wait, slowdown, _ = plots.compare(table).axes
    assert (wait.get_xscale(), slowdown.get_xscale()) == ("log", "linear")
    shown = [text.get_text() for text in wait.texts]
    assert shown == ["4.63 days", "6.67 min"]


def test_nothing_can_not_be_compared() -> None:
    with pytest.raises(OptionError, match="nothing to compare"):
        plots.compare(pd.DataFrame())


@pytest.mark.parametrize("kind", ["bare", "full", "one job", "dates"])
def test_a_workload_at_a_glance(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    jobs = 1 if kind == "one job" else 500
    submit = np.sort(rng.integers(0, 10**6, jobs))
    runtime = rng.integers(1, 10**5, jobs)
    columns: dict[str, Any] = {"submit": submit, "runtime": runtime, "nodes": rng.integers(1, 300, jobs)}
    if kind in ("full", "dates"):
        columns |= {
            "start": submit + rng.integers(0, 10**4, jobs),
            "requested_time": runtime * 2,
            "user": [f"a user with a long name {code}" for code in rng.integers(0, 30, jobs)],
            "capacity": 512,
        }
    figure = plots.inspect(Workload.build(**columns, name="week", epoch=10**9 if kind == "dates" else 0))
    assert is_drawn(figure, tmp_path)
    words = texts(figure)
    assert "Workload: week" in words
    assert f"{jobs:,} jobs" in words
    assert ("waits are not recorded" in words) == (kind in ("bare", "one job"))
    assert ("users are not recorded" in words) == (kind in ("bare", "one job"))
    assert ("share of the machine" in words) == (kind in ("full", "dates"))


@pytest.mark.slow
@pytest.mark.parametrize("log", ["KTH-SP2-1996-2.1-cln.swf.gz", "CEA-Curie-2011-2.1-cln.swf.gz"])
def test_real_logs_at_a_glance(log: str, shared_dir: Path, tmp_path: Path) -> None:
    from twin_gym import datasets

    assert is_drawn(plots.inspect(datasets.load("swf", shared_dir / "data" / "swf" / log)), tmp_path)


# ---------------------------------------------------------------------------------------------------- drawing


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 50)), min_size=1, max_size=40),
    st.integers(1, 60),
)
def test_bins_keep_the_mean_and_every_peak(steps: list[tuple[int, int]], bins: int) -> None:
    length, values = (np.array(column) for column in zip(*steps, strict=True))
    time = 5 + np.cumsum(np.r_[0, length])
    values = np.append(values, 0)
    each = np.repeat(values[:-1], length)  # second by second
    edges = np.unique(np.linspace(0, len(each), min(bins, len(each)) + 1).astype(int))
    got = drawing.binned(time, values, 5.0 + edges)
    expected = [each[a:b] for a, b in pairwise(edges)]
    assert got.mean.tolist() == pytest.approx([part.mean() for part in expected])
    assert got.low.tolist() == [part.min() for part in expected]
    assert got.high.tolist() == [part.max() for part in expected]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59, "59 s"), (60, "1 min"), (5400, "1.5 h"), (86400, "1 day"), (604800, "7 days")],
)
def test_lengths_of_time_are_readable(seconds: float, text: str) -> None:
    assert drawing.readable(seconds) == text


@pytest.mark.parametrize("days", [0.001, 0.1, 1, 30, 365, 3650, 36500])
def test_bins_are_neither_too_few_nor_too_many(days: float) -> None:
    assert 40 <= days * 86400 / drawing.bin_width(days * 86400) <= 400


def test_figures_leave_the_settings_of_a_user_alone() -> None:
    import matplotlib

    with matplotlib.rc_context({"font.size": 33.0, "axes.grid": False}):
        before = dict(matplotlib.rcParams)
        sizes = {text.get_size() for text in plots.queue(run()).findobj(lambda a: hasattr(a, "get_size"))}
        assert dict(matplotlib.rcParams) == before
    assert 33.0 not in sizes


def test_figures_need_no_pyplot_and_the_core_no_matplotlib() -> None:
    code = """
import sys
from twin_gym import plots
from twin_gym.result import Result
assert "matplotlib" not in sys.modules
from twin_gym.workload import Workload
plots.inspect(Workload.build(submit=[0, 9], runtime=[5, 5], nodes=[1, 2]))
assert "matplotlib.figure" in sys.modules and "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
