"""Figures of results: utilization, queue, who ran where, many runs side by side; and of a workload at a glance.

Every function returns a `matplotlib.figure.Figure`: show it in a notebook, or write it by ``figure.savefig("x.png")``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from twin_gym.drawing import (
    BLUE,
    DENSITY,
    GREEN,
    INK,
    ORANGE,
    PALE,
    PURPLE,
    SKY,
    VERMILION,
    TimeAxis,
    draw_steps,
    drawn,
    label_times,
    new_figure,
    readable,
    time_unit,
)
from twin_gym.errors import OptionError
from twin_gym.result import Result
from twin_gym.workload import UNKNOWN

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from twin_gym.workload import Workload

__all__ = ["compare", "gantt", "inspect", "portrait", "queue", "utilization"]

_GANTT_JOBS = 2000  # more boxes than this can't be told apart
_OVERLAID = 6  # curves that the eye can follow
_BACKFILL_COLORS = {"none": SKY, "firstfit": ORANGE, "easy": BLUE, "conservative": PURPLE}


def portrait(result: Result) -> Iterator[tuple[str, Figure]]:
    """Yield name and figure of all that goes into a run directory; the Gantt chart only of a small run."""
    yield "utilization", utilization(result)
    yield "queue", queue(result)
    if len(result.outcome) <= 200 and result.scenario.nodes <= 1024 and (result.outcome.start != UNKNOWN).any():
        yield "gantt", gantt(result)


@drawn
def utilization(result: Result) -> Figure:
    """Draw the share of nodes that are busy over time; a long run by its mean and range in bins of time."""
    figure = new_figure(12, 5.2, f"Utilization: {result.label}", _about(result))
    axes = figure.add_subplot()
    axis = _time_axis(result)
    timeline = result.timeline
    draw_steps(axes, axis, timeline["time"].to_numpy(), 100 * timeline["utilization"].to_numpy(), BLUE, "busy")
    mean = result.summary["utilization"]
    if isinstance(mean, float):
        axes.axhline(100 * mean, color=VERMILION, linestyle="--", label=f"mean of the run, {100 * mean:.1f} %")
    axes.set_ylim(0, 103)
    axes.set_ylabel(f"busy {result.scenario.unit}s [%]")
    axis.apply(axes)
    _legend_above(axes)
    return figure


@drawn
def queue(result: Result) -> Figure:
    """Draw how many jobs wait and how many run over time."""
    figure = new_figure(12, 7, f"Waiting and running jobs: {result.label}", _about(result))
    upper, lower = figure.subplots(2, sharex=True)
    axis, timeline = _time_axis(result), result.timeline
    time = timeline["time"].to_numpy()
    for axes, column, color, label in ((upper, "queued", VERMILION, "waiting"), (lower, "running", BLUE, "running")):
        draw_steps(axes, axis, time, timeline[column].to_numpy(), color, label)
        mean = result.summary[f"{column}_mean"]
        if isinstance(mean, float):
            axes.axhline(mean, color=INK, linestyle="--", label=f"mean of the run, {mean:,.1f} jobs")
        axes.set_ylim(0, None)
        axes.set_ylabel(f"{label} [jobs]")
        _legend_above(axes)
    axis.apply(lower)
    return figure


@drawn
def gantt(result: Result) -> Figure:
    """Draw every job as a box, time by nodes, coloured by its wait; boxes that an outage cut short are hatched.

    Boxes of which no nodes are known (``placement=count``, or cut short) are drawn on the lowest rows that are free.

    Raises
    ------
    OptionError
        If there are too many jobs to tell them apart.
    """
    o, lost = result.outcome, result.attempts
    if len(o) > _GANTT_JOBS:
        raise OptionError(
            f"A Gantt chart of {len(o):,} jobs can't be read; draw at most {_GANTT_JOBS:,}, for instance a window."
        )
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import PowerNorm

    ran = np.flatnonzero(o.start != UNKNOWN)
    row = np.concatenate([lost.job, ran])
    start = np.concatenate([lost.start, o.start[ran]])
    end = np.concatenate([lost.end, np.where(o.end[ran] != UNKNOWN, o.end[ran], result.finish)])
    cut = np.arange(len(row)) < len(lost)
    wait = start - o.submit[row]
    size, unit = time_unit(float(wait.max(initial=0)))

    figure = new_figure(12, 6.5, f"Who ran when: {result.label}", _about(result))
    axes = figure.add_subplot()
    axis = _time_axis(result)
    # a few jobs wait very long: the root leaves differences among the others visible
    colors = ScalarMappable(PowerNorm(0.5, 0, max(float(wait.max(initial=0)) / size, 1e-9)), DENSITY)
    rows = _rows(result, row, start, end, cut)
    left, right = axis(np.maximum(start, result.begin)), axis(end)
    span = float(np.ptp(axis(np.array([result.begin, max(result.finish, result.begin + 1)]))))
    shades = colors.to_rgba(wait / size)
    for hatched in (False, True):
        corners, faces = [], []
        for k in np.flatnonzero(cut == hatched):
            for low, high in _runs(rows[k]):
                corners.append([(left[k], low), (right[k], low), (right[k], high), (left[k], high)])
                faces.append(shades[k])
                turn = _room((right[k] - left[k]) / span, (high - low) / result.scenario.nodes, str(o.id[row[k]]))
                if turn is not None:
                    ink = "white" if np.dot(shades[k][:3], (0.299, 0.587, 0.114)) < 0.55 else INK
                    where = ((left[k] + right[k]) / 2, (low + high) / 2)
                    axes.text(*where, str(o.id[row[k]]), ha="center", va="center", color=ink, size=11, rotation=turn)
        boxes = PolyCollection(
            corners,
            facecolors=faces,
            edgecolors="white",
            linewidths=0.8 if len(row) < 300 else 0.2,
            hatch="////" if hatched else None,
        )
        axes.add_collection(boxes, autolim=False)
    axes.set_ylim(0, result.scenario.nodes)
    axes.set_ylabel("node" if result.placement is not None else "nodes (drawn on the lowest free rows)")
    axes.grid(axis="y", visible=False)
    axis.apply(axes)
    figure.colorbar(colors, ax=axes, label=f"wait before the start [{unit}]", pad=0.01)
    return figure


@drawn
def compare(runs: pd.DataFrame | Sequence[Result]) -> Figure:
    """Draw mean wait, mean bounded slowdown and utilization of many runs, by policy and backfill.

    Parameters
    ----------
    runs : DataFrame or sequence of Result
        What `twin_gym.compare` returns, or results. Of up to six results (also those in ``.attrs["results"]``) the
        utilization over time is laid over each other, too.
    """
    import pandas as pd
    from matplotlib.patches import Patch

    if isinstance(runs, pd.DataFrame):
        table, results = runs, [run for run in runs.attrs.get("results", ()) if run is not None]
    else:
        table, results = pd.DataFrame([run.summary for run in runs]), list(runs)
    if table.empty:
        raise OptionError("There is nothing to compare; give at least one run.")
    policies, backfills = list(dict.fromkeys(table["policy"])), list(dict.fromkeys(table["backfill"]))
    overlay = 1 < len(results) <= _OVERLAID
    bars = max(3.0, 0.3 * len(table) + 0.25 * len(policies) + 0.9)
    subtitle = f"{len(table)} runs of {table['jobs'].iloc[0]:,} jobs" if not results else _about(results[0])
    figure = new_figure(14, bars + (3.4 if overlay else 0) + 1.3, "Policies and backfill compared", subtitle)
    grid = figure.add_gridspec(2 if overlay else 1, 3, height_ratios=[bars, 3.4] if overlay else [1])
    longest = float(np.nanmax(table["wait_mean"].to_numpy(np.float64), initial=0.0))
    size, unit = time_unit(longest)
    panels = (
        ("wait_mean", 1 / size, f"mean wait [{unit}]", "Wait: less is better", lambda value: readable(value * size)),
        ("bounded_slowdown_mean", 1.0, "mean bounded slowdown", "Bounded slowdown: less is better", _short),
        ("utilization", 100.0, "busy nodes [%]", "Utilization: more is better", lambda value: f"{value:.1f} %"),
    )
    first = None
    for column, (name, factor, label, title, text) in enumerate(panels):
        first = axes = figure.add_subplot(grid[0, column], sharey=first)
        _bars(axes, table, policies, backfills, table[name].to_numpy(np.float64) * factor, text)
        if name == "wait_mean" and axes.get_xscale() == "log":
            label_times(axes.xaxis, size)
            label = "mean wait"
        axes.set_xlabel(label)
        axes.set_title(title)
        axes.tick_params(axis="y", labelleft=column == 0, length=0)
    keys = [Patch(color=_BACKFILL_COLORS.get(name, GREEN), label=_named(name)) for name in backfills]
    figure.legend(handles=keys, loc="upper right", bbox_to_anchor=(0.995, 1.0), ncols=4)
    if overlay:
        _overlay(figure.add_subplot(grid[1, :]), results)
    return figure


def inspect(workload: Workload) -> Figure:
    """Draw a workload at a glance: sizes, runtimes, requests, arrivals and waits, load over time, users' shares."""
    from twin_gym.inspect_plots import inspect as draw

    return draw(workload)


# ---------------------------------------------------------------------------------------------------- parts


def _about(result: Result) -> str:
    scenario = result.scenario
    jobs = len(result.outcome)
    return f"{scenario.workload}: {jobs:,} jobs on {scenario.system} ({scenario.nodes:,} {scenario.unit}s)"


def _time_axis(result: Result) -> TimeAxis:
    return TimeAxis(result.begin, result.finish, result.scenario.epoch)


def _legend_above(axes: Any) -> None:
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=4, borderaxespad=0.2)


def _bars(axes: Any, table: pd.DataFrame, policies: list[str], backfills: list[str], values: Any, label: Any) -> None:
    """Draw grouped horizontal bars, the first policy on top, each with its number.

    Where bars would differ so much that the short ones vanish, points on a logarithmic axis take their place.
    """
    height = 0.82 / len(backfills)
    group = np.array([policies.index(name) for name in table["policy"]])
    place = np.array([backfills.index(name) for name in table["backfill"]])
    known = values[np.isfinite(values)]
    logarithmic = len(known) > 1 and known.min() > 0 and known.max() > 25 * known.min()
    if logarithmic:
        axes.set_xscale("log")
        axes.set_xlim(known.min() / 2, known.max() * (known.max() / known.min()) ** 0.35)
    else:
        axes.set_xlim(0, max(known.max(initial=0.0) * 1.25, 1e-9))
    for k, name in enumerate(backfills):
        chosen = np.flatnonzero((place == k) & np.isfinite(values))
        where = group[chosen] + (k - (len(backfills) - 1) / 2) * height
        color = _BACKFILL_COLORS.get(name, GREEN)
        if logarithmic:
            axes.hlines(where, 0, values[chosen], color=PALE, linewidth=1.2)
            axes.plot(values[chosen], where, "o", color=color, markersize=9)
        else:
            axes.barh(where, values[chosen], height * 0.88, color=color)
        for row, y in zip(chosen, where, strict=True):
            axes.annotate(
                label(values[row]), (values[row], y), (8, 0), textcoords="offset points", va="center", fontsize=11
            )
    axes.set_yticks(range(len(policies)), policies)
    axes.set_ylim(len(policies) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)


def _short(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def _named(backfill: str) -> str:
    return "no backfill" if backfill == "none" else f"{backfill} backfill"


def _overlay(axes: Any, results: list[Result]) -> None:
    """Lay the utilization of a few runs over each other, all in the same bins of time."""
    from twin_gym.drawing import bin_width, binned

    begin, finish = min(run.begin for run in results), max(run.finish for run in results)
    width = bin_width(finish - begin, 120)
    axis = TimeAxis(begin, finish, results[0].scenario.epoch)
    styles = ((BLUE, "-"), (VERMILION, "-"), (GREEN, "-"), (ORANGE, "--"), (PURPLE, "--"), (INK, ":"))
    for run, (color, style) in zip(results, styles, strict=False):
        timeline = run.timeline
        edges = np.append(np.arange(float(run.begin), float(run.finish), width), float(run.finish))
        if len(edges) > 1:
            bins = binned(timeline["time"].to_numpy(), 100 * timeline["utilization"].to_numpy(), edges)
            axes.stairs(
                bins.mean, axis(edges), baseline=None, color=color, linestyle=style, linewidth=1.7, label=run.label
            )
    axes.set_ylim(0, 103)
    axes.set_ylabel("busy nodes [%]")
    axes.set_title(f"Utilization over time, mean of {readable(width)}")
    axis.apply(axes)
    axes.figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=_OVERLAID, fontsize=11)


def _rows(
    result: Result, row: npt.NDArray[Any], start: npt.NDArray[Any], end: npt.NDArray[Any], cut: npt.NDArray[Any]
) -> list[npt.NDArray[Any]]:
    """Return the node rows of every box: recorded by the run, or the lowest that are free."""
    recorded = result.placement
    rows: list[npt.NDArray[Any]] = [np.zeros(0, np.int64)] * len(row)
    if recorded is not None:
        rows = [np.sort(recorded[int(j)]) if not lost else empty for j, lost, empty in zip(row, cut, rows, strict=True)]
    for k in np.lexsort((end, start)):
        if len(rows[k]) == 0:
            free = np.ones(result.scenario.nodes, bool)
            for other in np.flatnonzero((start < end[k]) & (end > start[k])):
                free[rows[other]] = False
            rows[k] = np.flatnonzero(free)[: result.outcome.nodes[row[k]]]
    return rows


def _runs(nodes: npt.NDArray[Any]) -> Iterator[tuple[int, int]]:
    """Yield the stretches [low, high) of neighbouring nodes."""
    if len(nodes) == 0:
        return
    breaks = np.flatnonzero(np.diff(nodes) != 1) + 1
    for part in np.split(nodes, breaks):
        yield int(part[0]), int(part[-1]) + 1


def _room(width: float, height: float, text: str) -> int | None:
    """Say how a box (shares of the axes) must turn a text so that it fits, in degrees; None if it doesn't."""
    wide, tall = 0.010 * (len(text) + 1), 0.018 * (len(text) + 1)
    if width > wide and height > 0.035:
        return 0
    return 90 if width > 0.018 and height > tall else None
