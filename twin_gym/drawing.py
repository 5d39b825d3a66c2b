"""What all figures share: their look, their time axis, and step functions drawn legibly at any length.

Matplotlib is imported when the first figure is made, never its `pyplot`: figures are objects without global state.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from twin_gym import metrics

if TYPE_CHECKING:
    from matplotlib.figure import Figure

P = ParamSpec("P")
R = TypeVar("R")

DENSITY = "viridis_r"  # colour map: pale for little, dark for much; even in grey and with any kind of colour vision

# Okabe & Ito's palette, told apart with any kind of colour vision
BLUE, VERMILION, GREEN, ORANGE, SKY, PURPLE = "#0072B2", "#D55E00", "#009E73", "#E69F00", "#56B4E9", "#CC79A7"
INK, GREY, PALE = "#222222", "#6B6B6B", "#D9D9D9"

_LOOK: Any = {
    "axes.axisbelow": True,
    "axes.edgecolor": GREY,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.labelsize": 13,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 14,
    "figure.dpi": 130,
    "figure.facecolor": "white",
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same picture everywhere
    "font.size": 12.5,
    "grid.color": "#E6E6E6",
    "hatch.linewidth": 0.6,
    "legend.fontsize": 12,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "text.color": INK,
    "xtick.color": GREY,
    "xtick.labelcolor": INK,
    "xtick.labelsize": 12,
    "ytick.color": GREY,
    "ytick.labelcolor": INK,
    "ytick.labelsize": 12,
}
_UNITS = ((86400.0, "days"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))
_TICKS = (
    (1, "1 s"),
    (10, "10 s"),
    (60, "1 min"),
    (600, "10 min"),
    (3600, "1 h"),
    (86400, "1 d"),
    (864000, "10 d"),
    (8640000, "100 d"),
)
_BINS = 400  # of a long timeline: about three pixels each
_NICE = (60, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400, 2 * 86400, 7 * 86400)  # widths of a bin that people know


def drawn(function: Callable[P, R]) -> Callable[P, R]:
    """Give a function that makes a figure the project's look, whatever the user's own settings are."""

    @wraps(function)
    def inside(*args: P.args, **kwargs: P.kwargs) -> R:
        import matplotlib

        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            matplotlib.rcParams.update(_LOOK)
            return function(*args, **kwargs)

    return inside


def new_figure(width: float, height: float, title: str, subtitle: str) -> Figure:
    """Return an empty figure, inches wide and high, with a headline and a line below it; notebooks show it."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    class ShownFigure(Figure):
        """A figure that notebooks show without pyplot."""

        def _repr_png_(self) -> bytes:
            data = io.BytesIO()
            self.savefig(data, format="png", dpi=80)
            return data.getvalue()

    room = 0.72 / height  # for the two lines
    layout = ConstrainedLayoutEngine(rect=(0.0, 0.0, 0.995, 1.0 - room), w_pad=0.08, h_pad=0.08)
    figure = ShownFigure(figsize=(width, height), layout=layout)
    figure.text(0.012, 1 - 0.10 / height, title, size=17, weight="bold", va="top")
    figure.text(0.012, 1 - 0.46 / height, subtitle, size=12.5, color=GREY, va="top")
    return figure


def time_unit(longest: float) -> tuple[float, str]:
    """Return the unit, in s and by name, in which a length of time reads best."""
    return next(((size, name) for size, name in _UNITS if longest >= 2 * size), _UNITS[-1])


def readable(seconds: float) -> str:
    """Write a length of time as people say it."""
    size, name = next(((size, name) for size, name in _UNITS if seconds >= size), _UNITS[-1])
    return f"{seconds / size:.3g} {'day' if seconds == size == 86400 else name}"


def label_times(axis: Any, size: float = 1.0) -> None:
    """Give a logarithmic axis of times (in units of `size` s) ticks that people read."""
    limits = tuple(axis.get_view_interval())
    axis.set_ticks([tick / size for tick, _ in _TICKS], labels=[name for _, name in _TICKS])
    axis.set_ticks([], minor=True)
    axis.set_tick_params(labelsize=11)
    axis.set_view_interval(*limits, ignore=True)  # which ticks outside have moved


class TimeAxis:
    """Turns seconds since a workload's epoch into what the horizontal axis shows: dates if they are known.

    Parameters
    ----------
    begin, finish : int
        What the axis spans, s since the epoch.
    epoch : int or None
        Unix time of second 0.
    """

    def __init__(self, begin: int, finish: int, epoch: int | None) -> None:
        self._epoch = epoch
        self._size, self._unit = (86400.0, "") if epoch is not None else time_unit(finish - begin)
        self._limits = (begin, max(finish, begin + 1))

    def __call__(self, seconds: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Return places on the axis."""
        return (np.asarray(seconds, np.float64) + (self._epoch or 0)) / self._size

    def apply(self, axes: Any) -> None:
        """Set limits, ticks and label."""
        axes.set_xlim(*self(np.array(self._limits)))
        if self._epoch is None:
            axes.set_xlabel(f"time since the log's begin [{self._unit}]")
            return
        import matplotlib.dates

        dates: Any = matplotlib.dates  # has no types
        locator = dates.AutoDateLocator(minticks=4, maxticks=9)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator, show_offset=False))
        first, last = (np.datetime64(self._epoch + second, "s") for second in self._limits)
        axes.set_xlabel(f"time (UTC), {str(first)[:10]} to {str(last)[:10]}")


class Bins(NamedTuple):
    """A step function by bins of time: the edges (b + 1,), and mean, minimum and maximum in each bin (b,)."""

    edges: npt.NDArray[np.float64]
    mean: npt.NDArray[np.float64]
    low: npt.NDArray[Any]
    high: npt.NDArray[Any]


def bin_width(span: float, bins: int = _BINS) -> float:
    """Return a width in s that people know, of which about `bins` make up a span of time."""
    exact = span / bins
    if exact < _NICE[0]:
        return max(exact, 1.0)
    return float(next((width for width in _NICE if width >= exact), np.ceil(exact / _NICE[-1]) * _NICE[-1]))


def binned(time: metrics.Numbers, values: metrics.Numbers, edges: npt.NDArray[np.float64]) -> Bins:
    """Aggregate a step function, weighted by time, so that no peak is lost as it would be by picking samples.

    Parameters
    ----------
    time : (K,) number
        When the values begin to hold, ascending, s.
    values : (K,) number
        Each holds until the next one begins.
    edges : (b + 1,) float64
        Bounds of the bins, ascending, not before the first time, s.
    """
    area = np.concatenate([[0.0], np.cumsum(values[:-1] * np.diff(time))])
    holds = np.searchsorted(time, edges, side="right") - 1  # the step that holds at each edge
    until = area[holds] + values[holds] * (edges - time[holds])
    first, stop = holds[:-1], np.searchsorted(time, edges[1:], side="left")
    spans = np.stack([first, np.maximum(stop, first + 1)], axis=1).ravel()
    padded = np.append(values, values[-1])  # a span may end behind the last step
    low, high = (reduce.reduceat(padded, spans)[::2] for reduce in (np.minimum, np.maximum))
    return Bins(edges, np.diff(until) / np.diff(edges), low, high)


def draw_steps(
    axes: Any, axis: TimeAxis, time: metrics.Numbers, values: metrics.Numbers, color: str, label: str
) -> float | None:
    """Draw a step function: exactly if it is short, else its mean in bins of time and the range in each bin.

    Returns
    -------
    float or None
        Width of the bins, s; None if every step is drawn.
    """
    if len(time) <= 4 * _BINS:
        axes.step(axis(time), values, where="post", color=color, label=label)
        axes.fill_between(axis(time), values, step="post", color=color, alpha=0.18, linewidth=0)
        return None
    width = bin_width(float(time[-1] - time[0]))
    edges = np.append(np.arange(float(time[0]), float(time[-1]), width), float(time[-1]))
    bins = binned(time, values, edges)
    where = axis(edges)
    axes.fill_between(
        where,
        np.append(bins.low, bins.low[-1]),
        np.append(bins.high, bins.high[-1]),
        step="post",
        color=color,
        alpha=0.17,
        linewidth=0,
        label=f"lowest to highest in {readable(width)}",
    )
    axes.stairs(
        bins.mean, where, baseline=None, color=color, linewidth=1.6, label=f"{label}, mean of {readable(width)}"
    )
    return width
