"""Reads and writes workload files; the format is told by the name: .swf, .swf.gz, .parquet, .csv."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twin_gym.commands.names import FORMATS
from twin_gym.errors import OptionError, WorkloadError

if TYPE_CHECKING:
    from twin_gym.workload import Workload


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
    from twin_gym.workload import Workload

    given = {name: value for name, value in (options or {}).items() if value is not None}
    kind = "swf" if loader == "swf" else format_of(path)
    if not Path(path).exists():
        raise WorkloadError(f"The workload file '{path}' does not exist; check the path.")
    if kind == "swf":
        return load("swf", path, progress=progress, **given)
    if kind == "csv":
        return _read_csv(Path(path), given)
    workload = Workload.load(path)
    return replace(workload, capacity=given["capacity"]) if "capacity" in given else workload


def _read_csv(path: Path, options: Mapping[str, Any]) -> Workload:
    import pandas as pd

    from twin_gym.workload import Workload

    try:
        frame = pd.read_csv(path)
        for name in ("submit", "start", "end"):
            if name in frame and not pd.api.types.is_numeric_dtype(frame[name].dtype):
                frame[name] = pd.to_datetime(frame[name], utc=True, format="ISO8601")
        return Workload.from_frame(frame, **{"name": path.stem, **options})
    except WorkloadError as error:
        raise error if str(path) in str(error) else WorkloadError(f"{path}: {error}") from error
    except (ValueError, UnicodeDecodeError) as error:  # pandas' parser: not a table
        reason = " ".join(str(error).split(". ")[0].split()).rstrip(".")
        raise WorkloadError(f"{path} can't be read as a table of jobs with a header line: {reason}.") from error


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
