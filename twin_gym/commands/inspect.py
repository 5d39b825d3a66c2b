"""`twin-gym inspect FILE`: a workload at a glance, in numbers and six pictures."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from twin_gym.commands import progress, workload_files
from twin_gym.commands.inputs import shape
from twin_gym.commands.schema import Shaping
from twin_gym.commands.tables import console, spread_table
from twin_gym.commands.words import Parser
from twin_gym.errors import OptionError
from twin_gym.validation import UNKNOWN

if TYPE_CHECKING:
    from twin_gym.workload import Workload


def run(name: str, words: list[str]) -> int:
    """Carry the command out."""
    parser = Parser(
        name,
        "Show a job log at a glance: what is in it, what was wrong with it, and six pictures (sizes, runtimes,\n"
        "requested against actual time, arrivals and waits, load over time, the users' shares).",
        "  twin-gym inspect log.swf.gz\n"
        "  twin-gym inspect log.swf.gz --start 30d --duration 7d\n"
        "  twin-gym inspect jobs.parquet --out jobs.png\n"
        "  twin-gym inspect sacct.psv --loader slurm --set time_zone=Europe/Rome",
    )
    parser.add_argument("file", help="the log: .swf, .swf.gz, .parquet or .csv, or what --loader reads")
    workload_files.add_loader(parser)
    parser.add_argument("--start", help="begin of a window: 30d, 12h, or a date such as 2011-02-01")
    parser.add_argument("--duration", help="length of the window: 7d, 12h")
    parser.add_argument("--capacity", type=int, help="machine size, where the log does not say it")
    parser.add_argument("--out", help="the picture to write (default: the log's name and .png, here)")
    parser.add_argument("--no-figure", action="store_true", help="numbers only")
    given = parser.parse_args(words)
    with progress.bar(f"Reading {given.file}") as report:
        options = {"capacity": given.capacity, **workload_files.loader_options(given.set)}
        workload = workload_files.read(given.file, options, given.loader, report)
    workload = shape(workload, Shaping(start=given.start, duration=given.duration), seed=0)
    _describe(workload)
    if not given.no_figure:
        _draw(workload, Path(given.out or f"{workload.name}.png"))
    return 0


def _describe(workload: Workload) -> None:
    out = console()
    unit = f"{workload.unit}s"
    facts = {
        "jobs": f"{len(workload):,}",
        "machine": f"{workload.capacity:,} {unit}" if workload.capacity else f"size not recorded; jobs count {unit}",
        "period": _period(workload),
        "offered load": f"{100 * workload.offered_load():.1f} %" if workload.capacity and workload.span else "unknown",
        "users": ", ".join(
            f"{len(names):,} {kind}"
            for kind in ("users", "accounts", "partitions")
            if (names := getattr(workload, kind))
        ),
        "recorded": ", ".join([*workload.traces, *(["node ids"] if workload.node_ids is not None else [])]),
    }
    for fact, value in facts.items():
        if value:
            out.print(f"{fact:<14}{value}", markup=False, highlight=False, soft_wrap=True)
    started = workload.start != UNKNOWN
    rows = {
        f"size [{unit}]": (workload.nodes, "number"),
        "runtime": (workload.runtime, "span"),
        "requested time": (workload.requested_time, "span"),
        "runtime / requested": (workload.runtime / workload.requested_time, "number"),
        "between arrivals": (np.diff(workload.submit), "span"),
        "recorded wait": ((workload.start - workload.submit)[started], "span"),
    }
    out.print(spread_table(workload.name, {name: row for name, row in rows.items() if len(row[0])}))
    out.print(f"{workload.report}", markup=False, highlight=False, soft_wrap=True)


def _period(workload: Workload) -> str:
    days = f"{workload.span / 86400:,.1f} days from the first submit to the last"
    if not workload.epoch_known:
        return f"{days}; dates not recorded"
    first, last = (datetime.fromtimestamp(workload.epoch + int(t), UTC) for t in workload.submit[[0, -1]])
    return f"{first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} UTC, {days}"


def _draw(workload: Workload, path: Path) -> None:
    if path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise OptionError(f"--out {path}: a picture's name ends in .png, .pdf or .svg.")
    from twin_gym import plots

    replaced = " (replaced)" if path.exists() else ""
    plots.inspect(workload).savefig(path)
    console().print(f"Six pictures in {path}{replaced}", markup=False, highlight=False, soft_wrap=True)
