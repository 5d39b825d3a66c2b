"""Reads and writes workload files; the format is told by the name: .swf, .swf.gz, .parquet, .csv."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twin_gym.commands.names import FORMATS
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
    """Read a workload file.

    Parameters
    ----------
    path : path
        The file.
    options : mapping, optional
        Options of the reader; those that are None are left to its defaults.
    loader : str, optional
        ``swf`` for a log in that format whatever its name; by default the name tells the format.
    progress : callable, optional
        Called now and then with (done, all) where the reader can tell.

    Raises
    ------
    WorkloadError, OSError
        If it can't be read; the sentence names file and place.
    """
    from twin_gym.datasets import load

    given = {name: value for name, value in (options or {}).items() if value is not None}
    kind = "swf" if loader == "swf" else FORMATS_OF[format_of(path)]
    if not Path(path).exists():
        raise WorkloadError(f"The workload file '{path}' does not exist; check the path.")
    return load(kind, path, progress=progress, **given)


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
