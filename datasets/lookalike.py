"""Look-alikes: files in the original schema of a public data set, drawn from a seed, for whoever does not have it.

>>> fake("pm100", jobs=20_000, out="pm100", seed=1)

The jobs come from stated marginals, their recorded starts and nodes from the twin's own scheduler, so that the schedule
can really be; on top come the oddities of the original (missing values, arrays of unequal length, ...). A generator is
a module ``_lookalike_<name>`` with a function ``write(out, jobs, seed, progress)`` that returns the files it wrote.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TypeAlias

from twin_gym.errors import OptionError, suggest

__all__ = ["fake", "fakes"]

Progress: TypeAlias = Callable[[int, int], None]
"""Called with the jobs written so far and of all jobs."""

PREFIX = "_lookalike_"


def fakes() -> list[str]:
    """Return the names of the data sets that can be faked; each is also a loader's name."""
    folder = [str(Path(__file__).parent)]
    found = (module.name for module in pkgutil.iter_modules(folder) if module.name.startswith(PREFIX))
    return sorted(name.removeprefix(PREFIX) for name in found)


def fake(
    name: str, *, jobs: int, out: str | PathLike[str], seed: int = 0, progress: Progress | None = None
) -> list[Path]:
    """Write a look-alike of a data set.

    Parameters
    ----------
    name : str
        One of `fakes`.
    jobs : int
        How many jobs; at least 1.
    out : path
        Folder for the files, made if need be; files of the same names are replaced.
    seed : int
        Any non-negative number. The same one gives the same content (with the same versions of NumPy and PyArrow).
    progress : callable, optional
        Called with the number of jobs written so far and of all jobs.

    Returns
    -------
    list of Path
        The files written, named as in the original; the first is what the loader of that name reads (or the folder is).

    Raises
    ------
    OptionError
        If there is no such generator, a number is out of range, or the folder can't be written.
    """
    if name not in fakes():
        raise OptionError(f"There is no look-alike of '{name}'.{suggest(name, fakes())}")
    for option, value, least in (("jobs", jobs, 1), ("seed", seed, 0)):
        if value < least:
            raise OptionError(f"{option}={value}: it must be at least {least}.")
    module = import_module(f"{__package__}.{PREFIX}{name}")
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files: list[Path] = module.write(folder, jobs, seed, progress or (lambda done, total: None))
    except OSError as error:
        raise OptionError(f"The look-alike can't be written to {folder}: {error.strerror or error}.") from error
    return files
