"""The six pictures of `twin-gym inspect`: a workload at a glance, as it was submitted and as the log recorded it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from twin_gym import metrics
from twin_gym.drawing import (
    BLUE,
    DENSITY,
    GREY,
    INK,
    ORANGE,
    SKY,
    VERMILION,
    TimeAxis,
    bin_width,
    binned,
    drawn,
    label_times,
    new_figure,
    readable,
)
from twin_gym.workload import UNKNOWN

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from twin_gym.workload import Workload

_SHOWN = 12  # users by name


@drawn
def inspect(workload: Workload) -> Figure:
    """Draw sizes, runtimes, requested against recorded runtime, arrivals and waits, load over time and users' shares.

    Where a log records no starts, there are no waits: the arrivals stand alone, and the load is the offered one.
    """
    size = "" if workload.capacity is None else f" on {workload.capacity:,} {workload.unit}s"
    people = f" of {_count(len(workload.users), 'user')}" if workload.users else ""
    subtitle = f"{len(workload):,} jobs{people}{size}, submitted in {readable(max(workload.span, 1))}"
    figure = new_figure(17, 9.6, f"Workload: {workload.name}", subtitle)
    panels = figure.subplots(2, 3).ravel()
    for axes, draw in zip(panels, (_sizes, _runtimes, _requests, _arrivals, _load, _users), strict=True):
        draw(axes, workload)
    return figure


def _sizes(axes: Any, w: Workload) -> None:
    """Share of jobs and of node-hours by size class."""
    edges = metrics.size_edges(int(w.nodes.max()))
    classes = metrics.size_classes(w.nodes, edges)
    jobs = np.bincount(classes, minlength=len(edges))
    area = np.bincount(classes, weights=_area(w), minlength=len(edges))
    where = np.arange(len(edges))
    axes.bar(where - 0.2, 100 * jobs / jobs.sum(), 0.4, color=SKY, label="jobs")
    axes.bar(where + 0.2, 100 * area / area.sum(), 0.4, color=BLUE, label=f"{w.unit}-hours")
    names = [f"{edge}" if edge < 1024 else f"{edge // 1024}k" for edge in map(int, edges)]
    every = slice(None, None, 1 if len(edges) < 10 else 2)
    axes.set_xticks(where[every], names[every])
    axes.set_xlabel(f"requested {w.unit}s, up to")
    axes.set_ylabel("share [%]")
    axes.set_title("Job sizes")
    axes.grid(axis="x", visible=False)
    axes.legend()


def _runtimes(axes: Any, w: Workload) -> None:
    """Share of jobs below a runtime, and below a request."""
    for values, color, style, label in (
        (w.runtime, BLUE, "-", "recorded"),
        (w.requested_time, ORANGE, "--", "requested"),
    ):
        ordered = np.sort(values)
        # a curve needs no more than a thousand of ten million points
        pick = np.unique(np.linspace(0, len(ordered) - 1, 1000).astype(np.int64))
        axes.step(
            ordered[pick], 100 * (pick + 1) / len(ordered), where="post", color=color, linestyle=style, label=label
        )
    axes.set_xscale("log")
    label_times(axes.xaxis)
    axes.set_xlim(max(int(w.runtime.min()), 1) * 0.8, max(w.requested_time.max(), w.runtime.max()) * 1.3)
    axes.set_ylim(0, 102)
    axes.axvline(np.median(w.runtime), color=GREY, linestyle=":", linewidth=1.5)
    axes.set_xlabel(f"time (median runtime {readable(float(np.median(w.runtime)))}, dotted)")
    axes.set_ylabel("jobs that are shorter [%]")
    axes.set_title("Runtimes")
    axes.legend(loc="upper left")


def _requests(axes: Any, w: Workload) -> None:
    """Density of requested against recorded runtime."""
    drawn_from = _thinned(len(w))
    x, y = w.requested_time[drawn_from], w.runtime[drawn_from]
    low, high = max(min(x.min(), y.min()), 1) * 0.8, max(x.max(), y.max()) * 1.3
    extent = (*np.log10((low, high)), *np.log10((low, high)))
    cells = axes.hexbin(
        x,
        y,
        xscale="log",
        yscale="log",
        gridsize=38,
        bins="log",
        mincnt=1,
        cmap=DENSITY,
        linewidths=0.1,
        extent=extent,
    )
    axes.plot((low, high), (low, high), color=VERMILION, linewidth=1.4)
    label_times(axes.xaxis)
    label_times(axes.yaxis)
    axes.set_xlim(low, high)
    axes.set_ylim(low, high)
    ratio = 100 * w.runtime.sum(dtype=np.float64) / w.requested_time.sum(dtype=np.float64)
    over = 100 * float((w.runtime > w.requested_time).mean())
    axes.set_xlabel(f"requested time ({ratio:.0f} % of it is used)")
    axes.set_ylabel("recorded runtime")
    axes.set_title("Requested and actual time")
    verdict = f"{over:.1f} % of the jobs\nran too long" if over else "no job ran too long"
    axes.text(0.03, 0.97, verdict, transform=axes.transAxes, va="top", fontsize=11.5)
    axes.figure.colorbar(cells, ax=axes, label="jobs", pad=0.01)


def _arrivals(axes: Any, w: Workload) -> None:
    """Density of submit time against recorded wait; without waits, arrivals by bins of time."""
    axis = _axis(w)
    known = (w.start != UNKNOWN) & ~w.initial
    width = bin_width(max(w.span, 1), 60)
    edges = np.append(np.arange(float(w.submit[0]), float(w.submit[-1]), width), float(w.submit[-1]) + 1)
    if not known.any():
        axes.stairs(np.histogram(w.submit, edges)[0], axis(edges), fill=True, color=BLUE, alpha=0.8)
        axes.set_ylabel(f"jobs submitted in {readable(width)}")
        axes.set_title("Arrivals (waits are not recorded)")
        axis.apply(axes)
        return
    submit, wait = w.submit[known], w.start[known] - w.submit[known]
    shown = _thinned(len(wait))
    top = max(float(wait.max()), 10.0) * 2
    limits = axis(np.array([w.submit[0], w.submit[-1] + 1]))
    cells = axes.hexbin(
        axis(submit[shown]),
        np.maximum(wait[shown], 1),
        yscale="log",
        gridsize=(44, 26),
        bins="log",
        mincnt=1,
        cmap=DENSITY,
        linewidths=0.1,
        extent=(*limits, -0.1, np.log10(top)),
    )
    bin_of = np.searchsorted(edges, submit, side="right") - 1
    mean = np.bincount(bin_of, weights=wait, minlength=len(edges) - 1)
    count = np.bincount(bin_of, minlength=len(edges) - 1)
    mean = np.divide(mean, count, out=np.full(len(mean), np.nan), where=count > 0)
    axes.stairs(
        np.maximum(mean, 1),
        axis(edges),
        baseline=None,
        color=VERMILION,
        linewidth=2.2,
        label=f"mean in {readable(width)}",
    )
    label_times(axes.yaxis)
    axes.set_ylim(0.75, top)
    axes.set_ylabel("recorded wait (none: 1 s)")
    axes.set_title(f"Arrivals and waits (mean {readable(float(wait.mean()))})")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 0.02), frameon=True, framealpha=0.85, edgecolor="none")
    axes.figure.colorbar(cells, ax=axes, label="jobs", pad=0.01)
    axis.apply(axes)


def _load(axes: Any, w: Workload) -> None:
    """Work submitted and work running over time, as shares of the machine if its size is known."""
    axis = _axis(w)
    width = bin_width(max(w.span, 1), 60)
    first, last = float(w.submit[0]), float(w.submit[-1]) + 1
    edges = np.append(np.arange(first, last, width), last)
    if len(edges) > 2 and edges[-1] - edges[-2] < width / 2:
        edges = np.delete(edges, -2)  # a short last bin would show a load of its own
    scale, label = (1.0, f"busy {w.unit}s") if w.capacity is None else (100.0 / w.capacity, "share of the machine [%]")
    offered = np.histogram(w.submit, edges, weights=_area(w))[0] / np.diff(edges) * scale
    axes.stairs(offered, axis(edges), fill=True, color=SKY, alpha=0.55, label="submitted")
    known = w.start != UNKNOWN
    if known.any():
        time, busy = _occupancy(w.start[known], w.end[known], w.nodes[known], first)
        running = binned(time, busy * scale, edges).mean
        axes.stairs(running, axis(edges), baseline=None, color=BLUE, label="running as recorded")
    mean = float(np.dot(offered, np.diff(edges)) / (edges[-1] - edges[0]))
    number = f"{mean:.0f} %" if w.capacity is not None else f"{mean:,.0f}"
    axes.axhline(mean, color=INK, linestyle="--", linewidth=1.4, label=f"mean submitted {number}")
    axes.set_ylim(0, max(float(offered.max()), 100.0 if w.capacity is not None else 0.0) * 1.4 or 1)
    axes.set_ylabel(label)
    axes.set_title(f"Load, mean of {readable(width)}")
    axes.legend(loc="upper left", ncols=2, fontsize=10.5, columnspacing=0.8, handlelength=1.2)
    axis.apply(axes)


def _users(axes: Any, w: Workload) -> None:
    """Shares of the users with most node-hours, and of all others."""
    axes.set_title(f"Users with most {w.unit}-hours")
    if not w.users:
        axes.text(0.5, 0.5, "users are not recorded", transform=axes.transAxes, ha="center", color=GREY)
        axes.set_axis_off()
        return
    codes = np.where(w.user < 0, len(w.users), w.user)
    area = np.bincount(codes, weights=_area(w), minlength=len(w.users) + 1)
    jobs = np.bincount(codes, minlength=len(w.users) + 1)
    names = [*w.users, "unknown"]
    order = [int(user) for user in np.argsort(-area, kind="stable") if jobs[user]]
    top, rest = order[:_SHOWN], order[_SHOWN:]
    labels = [_clipped(names[user]) for user in top]
    shares = [(100 * area[user] / area.sum(), 100 * jobs[user] / jobs.sum()) for user in top]
    if rest:
        labels.append(f"{_count(len(rest), 'other')}")
        shares.append((100 * area[rest].sum() / area.sum(), 100 * jobs[rest].sum() / jobs.sum()))
    where = np.arange(len(labels))
    axes.barh(where - 0.2, [share[0] for share in shares], 0.4, color=BLUE, label=f"{w.unit}-hours")
    axes.barh(where + 0.2, [share[1] for share in shares], 0.4, color=SKY, label="jobs")
    axes.set_yticks(where, labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set_xlabel("share [%]")
    axes.grid(axis="y", visible=False)
    axes.legend()


# ---------------------------------------------------------------------------------------------------- parts


def _area(w: Workload) -> npt.NDArray[np.float64]:
    return np.multiply(w.nodes, w.runtime, dtype=np.float64)


def _axis(w: Workload) -> TimeAxis:
    return TimeAxis(int(w.submit[0]), int(w.submit[-1]) + 1, w.epoch if w.epoch_known else None)


def _occupancy(
    start: npt.NDArray[np.int64], end: npt.NDArray[np.int64], nodes: npt.NDArray[np.int32], begin: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return when the number of busy nodes changes, and that number from then on; the first change is at `begin`."""
    moment = np.maximum(np.concatenate([[begin], start, end]), begin)
    change = np.concatenate([[0.0], nodes, -nodes.astype(np.float64)])
    order = np.argsort(moment, kind="stable")
    return moment[order], np.cumsum(change[order])


def _thinned(count: int, limit: int = 500_000) -> Any:
    """Choose what a density is drawn from: every job, or evenly spread ones of a very long log."""
    return slice(None) if count <= limit else np.linspace(0, count - 1, limit).astype(np.int64)


def _clipped(name: str, length: int = 12) -> str:
    return name if len(name) <= length else f"{name[: length - 1]}…"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
