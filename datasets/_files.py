"""The files that a path stands for: one file, those of a folder, a pattern, or a list."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TypeAlias

from twin_gym.errors import WorkloadError

Paths: TypeAlias = str | PathLike[str] | Sequence[str | PathLike[str]]


def find(path: Paths, suffixes: tuple[str, ...]) -> list[Path]:
    """Return the files of a path in the order of their names; of a folder, those with one of the suffixes.

    Raises
    ------
    WorkloadError
        If there is none.
    """
    if not isinstance(path, str | PathLike):
        found = [file for part in path for file in find(part, suffixes)]
        if not found:
            raise WorkloadError("The list of files is empty; name at least one.")
        return found
    given = Path(path)
    if given.is_dir():
        found = sorted(file for file in given.iterdir() if file.name.endswith(suffixes) and file.is_file())
        if not found:
            raise WorkloadError(f"{given} holds no {' or '.join(suffixes)} file; check the path.")
        return found
    if glob.has_magic(str(path)) and not given.exists():
        found = sorted(map(Path, glob.glob(str(path), recursive=True)))
        if not found:
            raise WorkloadError(f"No file matches {path}; check the pattern.")
        return found
    if not given.exists():
        raise WorkloadError(f"{given} does not exist; check the path.")
    return [given]


def named(files: Sequence[Path]) -> str:
    """Return what messages call some files."""
    return f"{files[0]}{f' and {len(files) - 1} more' if len(files) > 1 else ''}"
