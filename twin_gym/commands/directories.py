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
    """
    target = directory.absolute()
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    partial.mkdir(parents=True)
    try:
        yield partial
        if target.exists():
            shutil.rmtree(target)
        partial.rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
