"""Reads and writes workload files; the format is told by the name: .swf, .swf.gz, .parquet, .csv."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twin_gym.commands.names import FORMATS
from twin_gym.commands.words import Parser
from twin_gym.errors import OptionError, WorkloadError

if TYPE_CHECKING:
    from twin_gym.workload import Workload

FORMATS_OF = {"swf": "swf", "parquet": "table", "csv": "table"}
"""Format of a file -> the loader that reads it."""


def format_of(path: str | Path) -> str:
    """Return the format of a workload file: ``swf``, ``parquet`` or ``csv``.

    Raises
    ------
    OptionError
        If the name tells none of them.
    """
    for suffix, name in FORMATS.items():
        if str(path).endswith(suffix):
            return name
    raise OptionError(f"The format of '{path}' is unknown; its name must end in {', '.join(FORMATS)}.")


def read(
    path: str | Path,
    options: Mapping[str, Any] | None = None,
    loader: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Workload:
    """Read a workload file, or the file or folder that a loader reads.

    Parameters
    ----------
    path : path
        The file.
    options : mapping, optional
        Options of the reader; those that are None are left to its defaults.
    loader : str, optional
        What reads it, one of `twin_gym.datasets.names`; by default the file's name tells.
    progress : callable, optional
        Called now and then with (done, all) where the reader can tell.

    Raises
    ------
    WorkloadError, OSError
        If it can't be read; the sentence names file and place.
    """
    from twin_gym.datasets import load

    given = {name: value for name, value in (options or {}).items() if value is not None}
    kind = FORMATS_OF[format_of(path)] if loader in (None, "table") else str(loader)
    if not Path(path).exists():
        raise WorkloadError(f"The workload file '{path}' does not exist; check the path.")
    return load(kind, path, progress=progress, **given)


def add_loader(parser: Parser) -> None:
    """Give a command the words that choose a loader and its options."""
    parser.add_argument("--loader", metavar="NAME", help="what reads it: slurm, pm100 ... (default: told by its name)")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="an option of the loader, such as time_zone=Europe/Rome; may be repeated",
    )


def loader_options(words: Sequence[str]) -> dict[str, Any]:
    """Return the options that were given as ``KEY=VALUE``; values are read as YAML.

    Raises
    ------
    OptionError
        If a word is malformed.
    """
    import yaml

    options = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not sign or not name:
            raise OptionError(f"--set {word} is not of the form KEY=VALUE, such as --set time_zone=Europe/Rome.")
        try:
            options[name] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise OptionError(f"--set {word} can't be read; quote the value.") from error
    return options


def check_target(path: str | Path, *, overwrite: bool) -> None:
    """Find out before any work whether a workload file can be written there.

    Raises
    ------
    OptionError
        If its name tells no format, its directory is missing, or it exists and `overwrite` is not set.
    """
    format_of(path)
    if Path(path).exists() and not overwrite:
        raise OptionError(f"'{path}' exists already; give --overwrite to replace it.")
    if not Path(path).parent.is_dir():
        raise OptionError(f"The directory of '{path}' does not exist; make it first.")


def write(workload: Workload, path: str | Path) -> None:
    """Write a workload file; its name tells the format.

    Raises
    ------
    WorkloadError, OSError
        If it can't be written.
    """
    kind = format_of(path)
    if kind == "swf":
        from twin_gym.datasets.swf import save

        save(workload, path)
    elif kind == "csv":
        workload.to_frame().to_csv(path, index=False)
    else:
        workload.save(path)
