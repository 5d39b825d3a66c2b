"""How numbers look on the terminal: the table of one run, and of several side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

if TYPE_CHECKING:
    from twin_gym.workload import Workload

_UNITS = {
    "time": (("s", 1.0, 1000.0), ("min", 60.0, 1000.0), ("h", 3600.0, 10_000.0), ("d", 86400.0, math.inf)),
    "span": (("s", 1.0, 120.0), ("min", 60.0, 120.0), ("h", 3600.0, 96.0), ("d", 86400.0, math.inf)),
    "energy": (("kWh", 3.6e6, 10_000.0), ("MWh", 3.6e9, 100_000.0), ("GWh", 3.6e12, math.inf)),
    "power": (("W", 1.0, 2000.0), ("kW", 1e3, 2000.0), ("MW", 1e6, math.inf)),
    "mass": (("kg", 1.0, 10_000.0), ("t", 1e3, math.inf)),
}
"""Units, each with its size and the number from which the next one is taken.

A column of waits is best read in hours, so that short ones are not rounded away; a single one in what suits it.
"""


class Column(NamedTuple):
    """One number of a summary as a column: its key, its heading, how it is written, and which end is the better one."""

    key: str
    heading: str
    kind: str  # "time", "span" [s], "percent" (of a share), "energy" [J], "power" [W], "mass" [kg], "ratio", "number"
    better: str  # "low" or "high"


COLUMNS = (
    Column("wait_mean", "wait\nmean", "time", "low"),
    Column("wait_median", "wait\nmedian", "time", "low"),
    Column("wait_p95", "wait\np95", "time", "low"),
    Column("wait_max", "wait\nmax", "time", "low"),
    Column("bounded_slowdown_mean", "slowdown\nmean", "number", "low"),
    Column("bounded_slowdown_p95", "slowdown\np95", "number", "low"),
    Column("utilization", "utilization\n", "percent", "high"),
    Column("makespan", "makespan\n", "span", "low"),
    Column("fairness", "fairness\n", "number", "high"),
    Column("facility_energy", "energy\n", "energy", "low"),
    Column("power_max", "power\nmax", "power", "low"),
    Column("pue", "PUE\n", "ratio", "low"),
    Column("cost", "cost\n", "number", "low"),
    Column("co2_kg", "CO2\n", "mass", "low"),
)


_DISPENSABLE = ("fairness", "makespan", "bounded_slowdown_p95", "wait_median", "wait_max", "utilization")
"""Columns that a narrow terminal does without, the first ones first."""


class Row(NamedTuple):
    """One of several runs: what tells it apart from the others, and its `Result.summary`."""

    labels: Sequence[str]
    summary: Mapping[str, Any]


def amount(value: float, unit: str) -> str:
    """Write an amount with the prefix that suits it, such as 18.1 MW."""
    for size, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:,.4g} {prefix}{unit}"
    return f"{value:,.4g} {unit}"


def console(stderr: bool = False) -> Console:
    """Return a console as wide as the terminal; where the output is a file or a pipe, wide enough for every table."""
    terminal = Console(stderr=stderr)
    return terminal if terminal.is_terminal else Console(stderr=stderr, width=160)


def table(title: str) -> Table:
    """Return an empty table in the project's look."""
    return Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)


def spread_table(title: str, rows: Mapping[str, tuple[Any, str]]) -> Table:
    """Return the spread of several columns of a workload.

    Parameters
    ----------
    title : str
        What is described.
    rows : mapping of str to (array, kind)
        What a row is called, its numbers, and how they are written (see `Column`).
    """
    shown = table(title)
    for heading in ("", "min", "median", "mean", "p95", "max"):
        shown.add_column(heading, justify="right" if heading else "left")
    for name, (values, kind) in rows.items():
        least, median, p95, most = np.quantile(values, (0, 0.5, 0.95, 1))
        shown.add_row(
            escape(name), *(_alone(float(value), kind) for value in (least, median, values.mean(), p95, most))
        )
    return shown


def run_table(title: str, summary: Mapping[str, Any]) -> Table:
    """Return the spreads of one run.

    Parameters
    ----------
    title : str
        What was run.
    summary : mapping
        `Result.summary`.
    """
    shown = table(title)
    for heading in ("", "mean", "median", "p95", "max"):
        shown.add_column(heading, justify="right" if heading else "left")
    for key, name, kind in (
        ("wait", "wait", "span"),
        ("turnaround", "turnaround", "span"),
        ("bounded_slowdown", "bounded slowdown", "number"),
    ):
        values = [summary[f"{key}_{part}"] for part in ("mean", "median", "p95", "max")]
        shown.add_row(name, *(_alone(value, kind) for value in values))
    return shown


def print_runs(title: str, names: Sequence[str], rows: Sequence[Row]) -> None:
    """Print several runs side by side, the best value of every column set off; on a narrow terminal fewer columns.

    Parameters
    ----------
    title : str
        What was run.
    names : sequence of str
        Headings of what tells the runs apart.
    rows : sequence of Row
        The runs.
    """
    out = console()
    for dropped in range(len(_DISPENSABLE) + 1):
        columns = [
            column
            for column in COLUMNS
            if column.key not in _DISPENSABLE[:dropped] and any(column.key in row.summary for row in rows)
        ]
        shown = _runs_table(title, names, rows, columns)
        if Measurement.get(out, out.options.update(max_width=1000), shown).maximum <= out.width:
            break
    out.print(shown)


def _runs_table(title: str, names: Sequence[str], rows: Sequence[Row], columns: Sequence[Column]) -> Table:
    shown = table(title)
    for name in names:
        shown.add_column(name, style="bold", no_wrap=True)
    waits = [row.summary.get(column.key) for column in columns if column.kind == "time" for row in rows]
    longest = max((wait for wait in waits if wait is not None), default=0.0)  # all waits in one unit
    cells = []
    for column in columns:
        values = [row.summary.get(column.key) for row in rows]
        unit, written = _written(values, column.kind, longest if column.kind == "time" else 0.0)
        heading = escape(f"{column.heading} [{unit}]" if unit else column.heading)
        shown.add_column(heading, justify="right", no_wrap=True)
        cells.append(_marked(values, written, column.better))
    for place, row in enumerate(rows):
        shown.add_row(*row.labels, *(column[place] for column in cells))
    return shown


def tell_losses(workload: Workload) -> None:
    """Print how many jobs of a log were left out or repaired, and why, if any were."""
    report = workload.report
    for action, words in (("dropped", "left out"), ("repaired", "repaired")):
        found = [finding for finding in report.findings if finding.action == action]
        if found:
            total = report.dropped if action == "dropped" else sum(finding.count for finding in found)
            reasons = ", ".join(f"{finding.count:,} {finding.defect}" for finding in found)
            text = (
                f"{workload.name}: {total:,} of {report.read:,} jobs {words} ({reasons}); twin-gym inspect says more."
            )
            console().print(text, markup=False, highlight=False, soft_wrap=True)


def describe(summary: Mapping[str, Any]) -> str:
    """Say in one line what a run did with the machine and with its jobs."""
    unit, (makespan,) = _written([summary["makespan"]], "span")
    parts = [f"{summary['jobs_finished']:,} of {summary['jobs']:,} jobs finished in {makespan} {unit}"]
    if summary["utilization"] is not None:
        parts.append(f"utilization {100 * summary['utilization']:.1f} %")
    if summary["fairness"] is not None:
        parts.append(f"fairness between users {summary['fairness']:.3f}")
    for key, words in (
        ("jobs_timeout", "{} of them cut at their requested walltime"),
        ("jobs_refused", "{} refused: larger than the system"),
        ("jobs_failed", "{} killed by an outage"),
        ("restarts", "{} restarted after an outage"),
        ("jobs_running", "{} still running"),
        ("jobs_queued", "{} still waiting"),
        ("jobs_pending", "{} not submitted yet"),
    ):
        if summary.get(key):
            parts.append(words.format(f"{summary[key]:,}"))
    return "; ".join(parts) + "."


def _alone(value: float | None, kind: str) -> str:
    unit, (text,) = _written([value], kind)
    return f"{text} {unit}".rstrip()


def _written(values: Sequence[float | None], kind: str, longest: float = 0.0) -> tuple[str, list[str]]:
    """Write numbers with three or four significant figures and one common unit, fit for a time of `longest` s too."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    largest = max((abs(value) for value in known), default=0.0)
    unit, size = ("%", 0.01) if kind == "percent" else ("", 1.0)
    if kind in _UNITS:
        unit, size = next((name, size) for name, size, limit in _UNITS[kind] if max(largest, longest) / size < limit)
    if kind == "number" and all(value.is_integer() for value in map(float, known)):
        largest = math.inf  # whole numbers need no digits
    top = largest / size
    digits = 1 if top >= 10 and kind != "power" else 2 if top >= 2 else 3
    if unit == "s" or (kind == "number" and top >= 1000):
        digits = 0
    return unit, ["-" if value is None else f"{value / size:,.{digits}f}" for value in values]


def _marked(values: Sequence[float | None], written: Sequence[str], better: str) -> list[str]:
    """Set the best value off in green, unless all are the same."""
    if len(set(written)) < 2:
        return list(written)
    known = [value for value in values if value is not None]
    best = min(known) if better == "low" else max(known)
    best_text = next(text for value, text in zip(values, written, strict=True) if value == best)
    return [f"[green]{text}[/green]" if text == best_text else text for text in written]
