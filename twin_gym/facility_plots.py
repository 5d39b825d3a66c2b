"""Figures of facilities: utilization and power over time, with PUE and water temperatures, of one run or of several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from twin_gym.drawing import (
    BLUE,
    GREEN,
    INK,
    ORANGE,
    PURPLE,
    VERMILION,
    TimeAxis,
    bin_width,
    binned,
    drawn,
    new_figure,
    readable,
)
from twin_gym.errors import OptionError
from twin_gym.facility import Facility

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["facility", "power"]

_STYLES = ((BLUE, "-"), (VERMILION, "-"), (GREEN, "-"), (ORANGE, "--"), (PURPLE, "--"), (INK, ":"))
_BINS = 300


@drawn
def power(runs: Facility | Sequence[Facility]) -> Figure:
    """Draw utilization and power over time, of one run or of several laid over each other.

    Raises
    ------
    OptionError
        If there is no run, or there are more than six.
    """
    return _panels(runs, ("utilization", "total"), "Utilization and power")


@drawn
def facility(runs: Facility | Sequence[Facility]) -> Figure:
    """Draw utilization, power, PUE and water temperatures over time, of one run or of several laid over each other.

    Raises
    ------
    OptionError
        If there is no run, or there are more than six, or one of them has no cooling plant.
    """
    return _panels(runs, ("utilization", "total", "pue", "tower_return"), "Utilization, power and cooling")


def _panels(runs: Facility | Sequence[Facility], columns: Sequence[str], title: str) -> Figure:
    runs = [runs] if isinstance(runs, Facility) else list(runs)
    if not 1 <= len(runs) <= len(_STYLES):
        raise OptionError(f"A figure shows 1 to {len(_STYLES)} runs, not {len(runs)}.")
    for run in runs:
        if "tower_return" in columns and run.plant is None:
            raise OptionError(f"{run.result.label} was run without a cooling plant; draw power() instead.")
    scenario = runs[0].result.scenario
    about = f"{scenario.workload}: {len(runs[0].result.outcome):,} jobs on {scenario.system} ({scenario.nodes:,} nodes)"
    if len(runs) == 1:
        title = f"{title}: {runs[0].result.label}"
    figure = new_figure(12, 1.6 + 2.5 * len(columns), title, about)
    panels = figure.subplots(len(columns), sharex=True)
    begin = min(int(run.power.time[0]) for run in runs)
    finish = max(int(run.power.time[-1]) for run in runs)
    axis = TimeAxis(begin, finish, scenario.epoch)
    width = bin_width(finish - begin, _BINS)
    for axes, column in zip(panels, columns, strict=True):
        for run, (color, style) in zip(runs, _STYLES, strict=False):
            label = run.result.label if len(runs) > 1 else None
            _curve(axes, axis, run, column, width, color, style, label)
        _explain(axes, column, len(runs) == 1)
    axis.apply(panels[-1])
    if len(runs) > 1:
        handles = panels[0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside lower center", ncols=3, fontsize=11)
    panels[0].set_title(f"means of {readable(width)}", fontsize=11, loc="right")
    return figure


def _curve(
    axes: Any, axis: TimeAxis, run: Facility, column: str, width: float, color: str, style: str, label: str | None
) -> None:
    """Draw one column of one run, averaged over bins; alone, with what it is made of or driven by."""
    table = run.table
    time = np.append(table["time"].to_numpy(np.float64), float(run.power.time[-1]))
    edges = np.append(np.arange(time[0], time[-1], width), time[-1])
    scale = {"utilization": 100.0, "total": 1e-6}.get(column, 1.0)

    def mean(name: str) -> Any:
        values = table[name].to_numpy(np.float64)
        return binned(time, np.append(values, values[-1]), edges).mean

    def stairs(name: str, color: str, style: str, label: str | None) -> None:
        axes.stairs(
            scale * mean(name), axis(edges), baseline=None, color=color, linestyle=style, linewidth=1.6, label=label
        )

    if label is not None:
        stairs(column, color, style, label)
        return
    stairs(column, color, style, {"total": "facility", "tower_return": "return to the towers"}.get(column))
    if column == "total":
        low, high = (binned(time, np.append(table[n], table[n].iloc[-1]), edges) for n in ("total_min", "total_max"))
        axes.stairs(1e-6 * high.high, axis(edges), baseline=1e-6 * low.low, fill=True, color=color, alpha=0.17)
        stairs("it", VERMILION, "-", "IT: devices and switches")
    if column == "tower_return":
        stairs("supply", GREEN, "-", "primary supply")
        stairs("wet_bulb", INK, ":", "wet bulb outside")


def _explain(axes: Any, column: str, single: bool) -> None:
    names = {
        "utilization": "busy nodes [%]",
        "total": "power [MW]",
        "pue": "PUE",
        "tower_return": "water [°C]" if single else "return to towers [°C]",
    }
    axes.set_ylabel(names[column])
    if column == "utilization":
        axes.set_ylim(0, 103)
    elif column == "total":
        axes.set_ylim(0, None)
    if single and column in ("total", "tower_return"):
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=4, borderaxespad=0.2)
