"""`twin-gym evolve`: search a priority function for a log, and hold it against policies on windows it has not seen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from twin_gym.commands import directories, progress
from twin_gym.commands.hydra_app import Job, launch
from twin_gym.commands.inputs import Reader, plain
from twin_gym.commands.tables import console, table, tell_losses
from twin_gym.errors import OptionError, suggest

if TYPE_CHECKING:
    import pandas as pd

    from twin_gym.agents.evolve import Evolved

_BEST, _TEST = "best.yaml", "test.csv"


def run(name: str, words: list[str]) -> int:
    """Carry the command out."""
    reader = Reader(tell_losses)
    launch(name, words, lambda job: _evolve(job, reader))
    return 0


def _evolve(job: Job, reader: Reader) -> float:
    """Carry out one search; return its mean on the test windows for optimising sweepers."""
    from twin_gym.agents import Learned, find_agent
    from twin_gym.agents.evolve import evolve
    from twin_gym.agents.windows import draw, play
    from twin_gym.envs.options import env_options
    from twin_gym.kernels.tally import NAMES

    config = job.config
    if config.objective not in NAMES:
        raise OptionError(f"objective={config.objective} is unknown.{suggest(config.objective, NAMES)}")
    directory = directories.check(job.directory("evolve"), _BEST, overwrite=config.overwrite)
    system, workload = reader.machine(config, fitted=job.fitted)
    env = {**plain(config.env), "system": system, "workload": workload, "reward": {config.objective: -1.0}}
    options = env_options(**env)
    rivals = [_with(name, options.backfill) for name in config.against]
    agents = [find_agent(name) for name in rivals]  # a wrong name is told before the search
    with progress.bar("Searching", wanted=config.progress) as report:
        found = evolve(
            options,
            family=config.family,
            objective=config.objective,
            generations=config.generations,
            population=config.population,
            windows=config.windows,
            seed=config.seed,
            threads=config.threads,
            progress=report,
        )
    first = draw(options, config.test_windows, "test", config.seed + 1)
    learned = Learned(found.function, options.backfill, _with("learned", options.backfill))
    values = {
        agent.name: play(agent, options, first, threads=config.threads)[config.objective]
        for agent in (learned, *agents)
    }
    compared = _compare(values, learned.name)
    with directories.filled(directory) as folder:
        _write(job, found, compared, folder)
    _tell(job, found, compared, directory)
    return float(compared["mean"].iloc[0])


def _with(policy: str, backfill: str) -> str:
    return policy if backfill == "none" else f"{policy}+{backfill}"


def _compare(values: dict[str, Any], learned: str) -> pd.DataFrame:
    """Return mean, median and the paired difference of the learned function to each agent, the learned one first."""
    import numpy as np
    import pandas as pd

    from twin_gym.agents.windows import paired_interval

    rows = []
    for name, found in values.items():
        difference = (0.0, 0.0, 0.0) if name == learned else paired_interval(values[learned], found)
        rows.append((name, float(found.mean()), float(np.median(found)), *difference))
    columns = ["agent", "mean", "median", "difference", "low", "high"]
    return pd.DataFrame(rows, columns=columns)


def _write(job: Job, found: Evolved, compared: pd.DataFrame, folder: Path) -> None:
    found.function.save(folder / _BEST)
    found.history.to_csv(folder / "history.csv", index=False)
    compared.to_csv(folder / _TEST, index=False)
    job.keep(folder)
    if job.config.figures:
        from twin_gym.agents import pictures

        told = f"{job.config.test_windows} windows of the test split, the same for all"
        pictures.means(compared, job.config.objective, told).savefig(folder / "test.png")


def _tell(job: Job, found: Evolved, compared: pd.DataFrame, directory: Path) -> None:
    out = console()
    out.print(f"score = {found.function.formula}", markup=False, highlight=False, soft_wrap=True)
    out.print(
        "w wait so far [s], t requested walltime [s], n requested nodes; larger is earlier\n",
        markup=False,
        highlight=False,
    )
    shown = table(f"{job.config.objective} on {job.config.test_windows} windows of the test split")
    for heading in ("agent", "mean", "median", "learned less this", "95 % interval"):
        shown.add_column(heading, justify="left" if heading == "agent" else "right")
    for row in compared.sort_values("mean").itertuples():
        own = row.agent == compared["agent"].iloc[0]
        interval = "" if own else f"{row.low:,.2f} to {row.high:,.2f}"
        shown.add_row(
            row.agent, f"{row.mean:,.2f}", f"{row.median:,.2f}", "" if own else f"{row.difference:,.2f}", interval,
            style="bold" if own else None,
        )  # fmt: skip
    out.print(shown)
    out.print(
        f"Written to {directory}; use it: twin-gym simulate policy=learned:{directory / _BEST} "
        f"backfill={plain(job.config.env)['backfill']}",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
