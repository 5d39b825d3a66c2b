"""`twin-gym simulate`: one policy on one workload, written to a run directory; with ``-m`` a sweep of such runs."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from twin_gym.commands import directories, progress
from twin_gym.commands.facility import COMPARED, followed_power, operated, tell
from twin_gym.commands.hydra_app import Job, launch
from twin_gym.commands.inputs import Reader, run_options
from twin_gym.commands.tables import Row, console, describe, print_runs, run_table, tell_losses
from twin_gym.learned import LEARNED


class Done(NamedTuple):
    """A run that is finished and written."""

    job: Job
    directory: Path
    summary: dict[str, Any]


def run(name: str, words: list[str]) -> int:
    """Carry the command out."""
    session = Session()
    try:
        launch(name, words, session.simulate)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(session.kept()) from None
    finally:
        session.conclude()
    return 0


@dataclass
class Session:
    """The runs of one command: their inputs are read once, their numbers remembered for the table at the end."""

    reader: Reader = field(default_factory=lambda: Reader(tell_losses))
    runs: list[Done] = field(default_factory=list)

    def simulate(self, job: Job) -> float:
        """Carry out one run, write it, print its numbers; return the mean bounded slowdown for optimising sweepers."""
        from twin_gym.simulate import simulate  # not at the top: --cfg and mistakes need no compiler

        config = job.config
        directory = directories.check(
            job.directory(plain_name(config.policy), config.backfill), "stats.json", overwrite=config.overwrite
        )
        options = run_options(config)
        system, workload, outages, until = self.reader.inputs(config, fitted=job.fitted)
        followed = followed_power(system, workload, config)
        shown_too = {name: followed.pop(name) for name in ("idle_w", "pue") if name in followed}
        with progress.live("Scheduling", **shown_too, wanted=config.progress) as shown:
            result = simulate(
                system,
                workload,
                config.policy,
                config.backfill,
                outages=outages,
                until=until,
                **shown,
                **followed,
                **options,
            )
        facility = operated(result, system, config)
        result.save(directory, csv=config.csv, figures=config.figures, overwrite=config.overwrite, facility=facility)
        job.keep(directory)
        summary = result.summary | ({} if facility is None else {key: facility.summary[key] for key in COMPARED})
        self.runs.append(Done(job, directory, summary))
        out = console()
        if job.number is None:
            out.print(
                run_table(f"{result.label}: {workload.name} on {system.name} ({system.nodes:,} nodes)", result.summary)
            )
            out.print(describe(result.summary), soft_wrap=True)
            if facility is not None:
                out.print(tell(facility), soft_wrap=True)
            out.print(f"Written to {directory}", markup=False, soft_wrap=True)
        else:
            out.print(f"{job.number:02d}  {' '.join(job.overrides)}: {describe(result.summary)}", soft_wrap=True)
        slowdown = result.summary["bounded_slowdown_mean"]
        return float("nan") if slowdown is None else float(slowdown)

    def conclude(self) -> None:
        """Print the table of a sweep and keep it beside the runs."""
        sweep = [done for done in self.runs if done.job.sweep_dir is not None]
        if not sweep:
            return
        names, labels = swept([done.job.overrides for done in sweep])
        rows = [Row(label, done.summary) for label, done in zip(labels, sweep, strict=True)]
        folder = sweep[0].directory.parent
        print_runs(f"{len(sweep)} runs", names, rows)
        with (folder / "sweep.csv").open("w", newline="", encoding="utf-8") as file:
            numbers = csv.writer(file)
            keys = [key for key in sweep[0].summary if key not in names]
            numbers.writerow([*names, *keys, "directory"])
            for (label, summary), done in zip(rows, sweep, strict=True):
                numbers.writerow([*label, *(summary.get(key) for key in keys), done.directory.name])
        console().print(f"Written to {folder}", markup=False, soft_wrap=True)

    def kept(self) -> str:
        """Say what an interrupted command has left."""
        if not self.runs:
            return "nothing was written."
        one = len(self.runs) == 1
        return f"{len(self.runs)} finished run{'' if one else 's'} kept in {self.runs[0].directory.parent}."


def plain_name(policy: str) -> str:
    """Return a policy's name as a directory may have it: of a learned one the name of its file."""
    return Path(policy.removeprefix(LEARNED)).stem if policy.startswith(LEARNED) else policy


def swept(overrides: list[tuple[str, ...]]) -> tuple[list[str], list[list[str]]]:
    """Tell the runs of a sweep apart.

    Returns
    -------
    names : list of str
        Keys whose values differ between the runs (all keys where none differ).
    labels : list of list of str
        Their values in each run.
    """
    values = [dict(item.lstrip("+").split("=", 1) for item in given if "=" in item) for given in overrides]
    keys = list(dict.fromkeys(key for given in values for key in given))
    names = [key for key in keys if len({given.get(key) for given in values}) > 1] or keys
    return names, [[given.get(key, "") for key in names] for given in values]
