"""`twin-gym compare`: every policy with every backfill mode on one workload, side by side in one table and picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from twin_gym.commands import directories, progress
from twin_gym.commands.facility import COMPARED, operated
from twin_gym.commands.hydra_app import Job, launch
from twin_gym.commands.inputs import Reader, run_options
from twin_gym.commands.tables import Row, console, print_runs, tell_losses

if TYPE_CHECKING:
    import pandas as pd

    from twin_gym.facility import Facility
    from twin_gym.workload import Workload

_OVERLAID = 6  # so many runs can be drawn over each other; more are not kept in memory for it


def run(name: str, words: list[str]) -> int:
    """Carry the command out."""
    reader = Reader(tell_losses)
    launch(name, words, lambda job: _compare(job, reader))
    return 0


def _compare(job: Job, reader: Reader) -> float:
    """Carry out one comparison; return the best mean bounded slowdown for optimising sweepers."""
    from twin_gym.simulate import compare  # not at the top: --cfg and mistakes need no compiler

    config = job.config
    directory = directories.check(job.directory("compare"), "comparison.csv", overwrite=config.overwrite)
    options = run_options(config)
    system, workload, outages, until = reader.inputs(config, fitted=job.fitted)
    few = len(config.policies) * len(config.backfills) <= _OVERLAID
    with progress.bar("Comparing", wanted=config.progress) as report:
        table = compare(
            system,
            workload,
            config.policies,
            config.backfills,
            workers=config.workers,
            keep=config.runs or config.facility.on or (config.figures and few),
            outages=outages,
            until=until,
            progress=report,
            **options,
        )
    facilities = [operated(result, system, config) for result in table.attrs.get("results", ())]
    found = [facility for facility in facilities if facility is not None]
    for key in COMPARED if found else ():
        table[key] = [facility.summary[key] for facility in found]
    with directories.filled(directory) as folder:
        _write(job, table, workload, facilities, folder)
    rows = [Row((row["policy"], row["backfill"]), row) for row in table.to_dict("records")]
    title = f"{workload.name} on {system.name} ({system.nodes:,} nodes): {len(workload):,} jobs"
    print_runs(title, ("policy", "backfill"), rows)
    console().print(f"Written to {directory} (comparison.csv: every number)", markup=False, soft_wrap=True)
    return float(table["bounded_slowdown_mean"].min())


def _write(job: Job, table: pd.DataFrame, workload: Workload, facilities: list[Facility | None], folder: Path) -> None:
    """Write the table, the pictures and, if wanted, every run into a directory."""
    config = job.config
    table.to_csv(folder / "comparison.csv", index=False)
    job.keep(folder)
    results = table.attrs.get("results", [])
    if config.runs:
        for result, facility in zip(results, facilities, strict=True):
            name = f"{result.config.policy}-{result.config.backfill}"
            result.save(folder / name, csv=config.csv, figures=config.figures, facility=facility)
    if config.figures:
        from twin_gym import plots

        (folder / "figures").mkdir()
        plots.compare(table).savefig(folder / "figures" / "comparison.png")
        plots.inspect(workload).savefig(folder / "figures" / "workload.png")
        overlaid = [facility for facility in facilities if facility is not None][:_OVERLAID]
        if overlaid:
            from twin_gym import facility_plots

            facility_plots.power(overlaid).savefig(folder / "figures" / "power.png")
            if all(facility.plant is not None for facility in overlaid):
                facility_plots.facility(overlaid).savefig(folder / "figures" / "facility.png")
