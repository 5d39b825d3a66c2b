"""Runs a command as a Hydra application: composition, overrides, ``--cfg``, sweeps; errors come out as exceptions."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import hydra
from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from twin_gym.commands import schema
from twin_gym.commands.arguments import prepare
from twin_gym.commands.sentences import sentence

CONFIG_PATH = "pkg://twin_gym.conf"
VERSION_BASE = "1.3"


@dataclass(frozen=True)
class Job:
    """One composed configuration that is to be carried out.

    Attributes
    ----------
    config : Command
        The composed and type-checked keys.
    text : str
        The same as YAML.
    overrides : tuple of str
        What the command line changed.
    system : str
        The option chosen for the group ``system``.
    number : int or None
        Place in a sweep (``-m``), None for a single run.
    sweep_dir : Path or None
        Directory of the sweep.
    """

    config: Any
    text: str
    overrides: tuple[str, ...]
    system: str
    number: int | None
    sweep_dir: Path | None

    @property
    def fitted(self) -> bool:
        """Whether the system takes its size from the workload: ``system=uniform`` without ``system.nodes``."""
        return self.system == "uniform" and not any(
            item.lstrip("+").startswith("system.nodes=") for item in self.overrides
        )

    def directory(self, *names: str) -> Path:
        """Return the directory to write: ``out``, or one named after the time (in a sweep: the number) and `names`."""
        if self.sweep_dir is not None:
            return self.sweep_dir / "-".join((f"{self.number:02d}", *names))
        if self.config.out is not None:
            return Path(self.config.out)
        return Path("runs") / "-".join((f"{datetime.now():%Y-%m-%d_%H-%M-%S}", *names))

    def keep(self, directory: Path) -> None:
        """Write down in a run directory what was asked for, so that it can be asked for again."""
        command = "\n".join(f"#   {item}" for item in self.overrides) or "#   nothing: all defaults"
        (directory / "command.yaml").write_text(
            f"# The composed configuration; changed on the command line:\n{command}\n{self.text}"
        )


def register() -> None:
    """Make the schemas known to Hydra, under names that no group lists as an option."""
    store = ConfigStore.instance()
    for name, command in schema.COMMANDS.items():
        store.store(group="schema", name=name, node=command)
    for name, workload in schema.SCHEMAS.items():
        store.store(group="schema/workload", name=name, node=workload)


def launch(command: str, words: list[str], task: Callable[[Job], float]) -> None:
    """Compose the configuration of a command and carry it out, once or (``-m``) many times.

    Parameters
    ----------
    command : str
        ``simulate`` or ``compare``: the primary configuration.
    words : list of str
        The words after the command.
    task : callable
        Carries out one job and returns the number that an optimising sweeper would minimise.

    Raises
    ------
    TwinGymError, hydra.errors.HydraException, omegaconf.errors.OmegaConfBaseException
        Whatever is wrong with the words; the first error of the task.
    """
    register()
    words = prepare(words)

    failures: list[Exception] = []

    def carry_out(config: DictConfig) -> float:
        try:
            return task(_job(config))
        except Exception as error:  # kept until Hydra is done: it would print the overrides and a traceback
            failures.append(error)
            _report_in_sweep(error)
            return math.nan

    application = hydra.main(version_base=VERSION_BASE, config_path=CONFIG_PATH, config_name=command)(carry_out)
    with _arguments([f"twin-gym {command}", *words]):
        application()
    if failures:
        raise failures[0]


def _report_in_sweep(error: Exception) -> None:
    """Say at once which run of a sweep failed and go on with the next; a defect of ours ends the sweep."""
    context = HydraConfig.get()
    if context.mode != RunMode.MULTIRUN:
        return
    text = sentence(error)
    if text is None:
        raise error
    print(f"twin-gym: run {context.job.num} ({' '.join(context.overrides.task)}) failed: {text}", file=sys.stderr)


def _job(config: DictConfig) -> Job:
    context = HydraConfig.get()
    sweep = context.mode == RunMode.MULTIRUN
    return Job(
        config=OmegaConf.to_object(config),
        text=OmegaConf.to_yaml(config, resolve=True),
        overrides=tuple(context.overrides.task),
        system=str(context.runtime.choices.get("system")),
        number=context.job.num if sweep else None,
        sweep_dir=Path(context.sweep.dir) if sweep else None,
    )


@contextmanager
def _arguments(words: list[str]) -> Iterator[None]:
    """Hand the words to Hydra, which reads `sys.argv`, and let its errors through instead of printed at length."""
    argv, sys.argv = sys.argv, words
    full_error = os.environ.get("HYDRA_FULL_ERROR")
    os.environ["HYDRA_FULL_ERROR"] = "1"
    try:
        yield
    finally:
        sys.argv = argv
        if full_error is None:
            del os.environ["HYDRA_FULL_ERROR"]
        else:
            os.environ["HYDRA_FULL_ERROR"] = full_error
