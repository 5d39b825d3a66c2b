"""Small look-alikes that come with twin_gym, in the schema of the data sets they stand for: ``sample/pm100`` and so on.

They are made by ``python -m twin_gym.datasets._samples`` and hold no real job.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from importlib.resources import as_file, files
from typing import Any

from twin_gym.errors import OptionError, suggest
from twin_gym.workload import Workload

from ._window import Window

__all__ = ["load", "samples"]


def samples() -> list[str]:
    """Return the names of the samples; each is also a loader's name."""
    return sorted(folder.name for folder in (files(__package__) / "samples").iterdir() if folder.is_dir())


def load(path: Any = "pm100", *, window: Window = None) -> Workload:
    """Read a sample with the loader of its data set.

    Parameters
    ----------
    path : str
        One of `samples`, such as ``pm100``.
    window : pair of dates, optional
        As in the loader.

    Returns
    -------
    Workload
        Some dozens of jobs.

    Raises
    ------
    OptionError
        If there is no such sample.
    """
    if path not in samples():
        raise OptionError(f"There is no sample '{path}'.{suggest(str(path), samples())}")
    with as_file(files(__package__) / "samples" / path) as folder:
        workload: Workload = import_module(f"{__package__}.{path}").load(folder, window=window)
    return replace(workload, name=f"sample/{path}", origin=f"sample of {workload.name}, which holds no real job")
