"""Workloads kept as Parquet after the first reading, so that the second one takes a moment."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

from twin_gym.errors import WorkloadError
from twin_gym.workload import Workload

WORTH = 32 << 20
"""Bytes of sources from which a workload is kept: smaller ones are read in a moment."""

PIECE = 1 << 20
"""Bytes that are hashed at the beginning, in the middle and at the end of a file."""


def home() -> Path:
    """Return where workloads are kept by default: a folder of the user's cache (``~/.cache/twin_gym/workloads``)."""
    from platformdirs import user_cache_path

    return user_cache_path("twin_gym", appauthor=False) / "workloads"


def kept(
    loader: str,
    path: Any,
    options: Mapping[str, Any],
    cache: bool | str | PathLike[str],
    read: Callable[[], Workload],
) -> Workload:
    """Return a workload from the cache, or else read it and keep it.

    Parameters
    ----------
    loader : str
        Name of the loader.
    path : str, path, or list of them
        Its sources: files or folders. Whatever else it is (a file object, a pattern), nothing is kept.
    options : mapping
        Options of the loader that decide about the result.
    cache : bool or path
        True: keep workloads of sources of at least `WORTH` bytes in `home`; a folder: keep every workload there;
        False: neither look nor keep.
    read : callable
        Reads the workload.

    Notes
    -----
    The key is a digest of the loader's name, its options, twin_gym's own loaders and systems, and for each source its
    name, size, time of change and three pieces of `PIECE` bytes (all of it up to three such pieces): a file of
    gigabytes is told from another in milliseconds. A file that was changed in between those pieces, keeping its size
    and with its time of change set back, would not be noticed.

    A cache that can't be written is no error; one that is damaged is written anew.
    """
    sources = _files(path)
    wanted = cache is not False and bool(sources)
    if not wanted or (cache is True and sum(file.stat().st_size for file in sources) < WORTH):
        return read()
    place = home() if isinstance(cache, bool) else Path(cache)
    entry = place / f"{loader}-{_key(loader, sources, options)}.parquet"
    if entry.exists():
        with suppress(WorkloadError, KeyError, ValueError):
            return Workload.load(entry)
    workload = read()
    with suppress(WorkloadError, OSError):
        place.mkdir(parents=True, exist_ok=True)
        workload.save(entry)
    return workload


def _files(path: Any) -> list[Path]:
    """Return the files that a path stands for; none if that can't be told."""
    if isinstance(path, list | tuple):
        parts = [_files(part) for part in path]
        return [file for part in parts for file in part] if all(parts) else []
    if not isinstance(path, str | PathLike):
        return []
    given = Path(path)
    if given.is_dir():
        return sorted(file for file in given.rglob("*") if file.is_file())
    return [given] if given.is_file() else []


def _key(loader: str, sources: list[Path], options: Mapping[str, Any]) -> str:
    digest = hashlib.sha256(f"{loader} {_code()} {_told(options)}".encode())
    for file in sources:
        about = file.stat()
        digest.update(f"{file.resolve()} {about.st_size} {about.st_mtime_ns};".encode())
        for piece in _pieces(file, about.st_size):
            digest.update(piece)
    return digest.hexdigest()[:32]


def _pieces(file: Path, size: int) -> Iterator[bytes]:
    with open(file, "rb") as stream:
        if size <= 3 * PIECE:
            yield stream.read()
            return
        for begin in (0, (size - PIECE) // 2, size - PIECE):
            stream.seek(begin)
            yield stream.read(PIECE)


def _told(options: Mapping[str, Any]) -> str:
    """Return options as text; one that names a file (a mapping of columns, a system) counts with its content."""
    told = {}
    for name, value in sorted(options.items()):
        told[name] = str(value) if not isinstance(value, dict | list | tuple) else value
        if isinstance(value, str | PathLike) and os.path.isfile(value):
            told[name] = [str(value), hashlib.sha256(Path(value).read_bytes()).hexdigest()]
    return json.dumps(told, sort_keys=True, default=str)


@cache
def _code() -> str:
    """Return a digest of whatever turns a source into a workload: a new version of twin_gym reads anew."""
    digest = hashlib.sha256()
    for folder, suffix in (("twin_gym", ".py"), ("twin_gym.datasets", ".py"), ("twin_gym.conf.system", ".yaml")):
        for file in sorted(files(folder).iterdir(), key=lambda file: file.name):
            if file.name.endswith(suffix):
                digest.update(file.read_bytes())
    return digest.hexdigest()
