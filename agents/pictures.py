"""Figures of agents side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twin_gym.drawing import BLUE, INK, PALE, drawn, new_figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@drawn
def means(table: pd.DataFrame, objective: str, subtitle: str) -> Figure:
    """Draw the mean of each agent as a bar, the first row's in colour, the smallest on top.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns ``agent`` and ``mean``.
    objective : str
        What the means are of.
    subtitle : str
        Of which windows.
    """
    ordered = table.sort_values("mean", ascending=False)
    figure = new_figure(8.0, 1.4 + 0.42 * len(table), f"{objective}, mean over the windows", subtitle)
    axes = figure.add_subplot()
    own = table["agent"].iloc[0]
    bars = axes.barh(ordered["agent"], ordered["mean"], color=[BLUE if a == own else PALE for a in ordered["agent"]])
    axes.bar_label(bars, labels=[f"{mean:,.4g}" for mean in ordered["mean"]], padding=4, color=INK)
    axes.set_xlim(0, 1.12 * max(float(ordered["mean"].max()), 1e-9))
    axes.grid(False, axis="y")
    return figure
