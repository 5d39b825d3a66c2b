"""Where results are written: found and tested before hours of work, and filled whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from twin_gym.errors import ResultError


def check(directory: Path, mark: str, *, overwrite: bool) -> Path:
    """Return the directory if results can be written there.

    Parameters
    ----------
    directory : Path
        Where to.
    mark : str
        A file by which earlier results of the same kind are told; nothing else is ever replaced.
    overwrite : bool
        Whether earlier results may be replaced.

    Raises
    ------
    ResultError
        If there is something already, or it can't be written.
    """
    if directory.exists() and not directory.is_dir():
        raise ResultError(f"{directory} is a file; name a directory (out=DIR).")
    if directory.is_dir() and any(directory.iterdir()):
        if not (directory / mark).exists():
            raise ResultError(f"{directory} holds something else; choose a new or empty directory (out=DIR).")
        if not overwrite:
            raise ResultError(
                f"{directory} holds results already; choose another directory (out=DIR) or add overwrite=true."
            )
    place = directory.absolute()
    while not place.exists():
        place = place.parent
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        raise ResultError(
            f"{directory} can't be written: you may not write to {place}; choose another place (out=DIR)."
        )
    return directory


@contextmanager
def filled(directory: Path) -> Iterator[Path]:
    """Give an empty directory to fill; it takes its name when the block ends well, and vanishes otherwise.

    Yields
    ------
    Path
        The directory under its temporary name, beside the final one.

    Raises
    ------
    ResultError
        If something in it can't be written.
    """
    target = directory.absolute()
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    replaced = partial.with_suffix(".replaced")
    try:
        partial.mkdir(parents=True)
        yield partial
        if target.exists():
            target.rename(replaced)
        partial.rename(target)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise ResultError(f"{directory} can't be written: {reason}; choose another place (out=DIR).") from error
    finally:
        for rest in (partial, replaced):
            shutil.rmtree(rest, ignore_errors=True)
