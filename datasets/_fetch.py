"""Gets public data sets: downloads that go on where they broke off, checked by size and checksum."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from twin_gym.errors import OptionError, TwinGymError, suggest

from ._catalogue import Entry, File, entry, home

Tell = Callable[[str, int, int], None]
"""Called with the name of the file, its bytes that are here, and all of them (0 where that isn't known)."""

PIECE = 1 << 13
"""Bytes written at a time: as many are lost when a connection breaks."""
CHANGED = (
    "it was changed there or damaged on its way, and nothing was kept; fetch it again, and if that does not help, look "
    "at the page of the data set."
)
TIMEOUT = (10, 60)
"""Seconds to wait for a connection, and for more data."""


class FetchError(TwinGymError):
    """A data set that can't be fetched."""


def fetch(
    name: str,
    *,
    to: str | PathLike[str] | None = None,
    only: Sequence[str] = (),
    catalogue: str | PathLike[str] | None = None,
    retries: int = 4,
    pause: float = 2.0,
    progress: Tell | None = None,
) -> list[Path]:
    """Download the files of a data set, as far as they aren't here.

    A download that breaks off is taken up where it stopped, at once (`retries` times, after pauses that double) or by
    the next call. What arrives is checked by size and SHA-256, as far as the catalogue knows them, and only then takes
    its name.

    Parameters
    ----------
    name : str
        One of `twin_gym.datasets.catalogue`.
    to : path, optional
        Folder for the files; default: ``datasets/<name>`` in the user's cache directory, where loaders find them.
    only : sequence of str
        Names of the files wanted; default: all.
    catalogue : path, optional
        A catalogue of one's own, such as of a mirror.
    retries : int
        How often to try again.
    pause : float
        Seconds before the first time.
    progress : callable, optional
        See `Tell`.

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    OptionError
        If there is no such data set or file, or it can't be fetched by a program (the sentence tells how to get it).
    FetchError
        If there is no connection, the server refuses, what arrives is not what was expected, or it can't be written.
    """
    known = entry(name, catalogue)
    wanted = _wanted(known, only)
    folder = home() / known.name if to is None else Path(to)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _check_space(folder, wanted, known)
        return [_one(file, folder, _Download(file, folder, retries, pause, progress)) for file in wanted]
    except OSError as error:
        if isinstance(error, TwinGymError):
            raise
        raise FetchError(f"{folder} can't be written: {error.strerror or error}.") from error


def _wanted(known: Entry, only: Sequence[str]) -> list[File]:
    if not known.files:
        raise OptionError(f"{known.name} can't be fetched by a program; {known.manual.rstrip('.')} ({known.page}).")
    names = [file.name for file in known.files]
    for name in only:
        if name not in names:
            raise OptionError(f"{known.name} has no file '{name}'.{suggest(name, names)}")
    return [file for file in known.files if not only or file.name in only]


def _check_space(folder: Path, wanted: list[File], known: Entry) -> None:
    missing = sum(file.size or 0 for file in wanted if not (folder / file.name).exists())
    free = shutil.disk_usage(folder).free
    if missing > free:
        raise FetchError(
            f"{known.name} needs {missing:,} bytes, but {folder} has only {free:,} left; choose another --to."
        )


def _one(file: File, folder: Path, download: _Download) -> Path:
    """Fetch one file by pooch, which checks what is here already and what arrives."""
    import pooch

    pooch.get_logger().setLevel("ERROR")
    checksum = f"sha256:{file.sha256}" if file.sha256 else None
    if checksum is None and (folder / file.name).exists():
        return folder / file.name  # nothing to check it by
    store = pooch.create(path=folder, base_url="", registry={file.name: checksum}, urls={file.name: file.url})
    try:
        return Path(store.fetch(file.name, downloader=download))
    except ValueError as error:
        if isinstance(error, TwinGymError):
            raise
        raise FetchError(f"{file.url} has another SHA-256 than the catalogue says: {CHANGED}") from error


class _Download:
    """Downloads a file for pooch, in pieces that outlive a broken connection: ``.<name>.part`` beside the target."""

    def __init__(self, file: File, folder: Path, retries: int, pause: float, tell: Tell | None) -> None:
        self.file = file
        self.part = folder / f".{file.name}.part"
        self.mark = folder / f".{file.name}.version"  # what the server called this version of the file
        self.retries, self.pause, self.tell = retries, pause, tell

    def __call__(self, url: str, output_file: Any, pooch: Any) -> None:
        """Download into `output_file`, trying again after failures."""
        import requests

        for attempt in range(self.retries + 1):
            if attempt:
                time.sleep(self.pause * 2 ** (attempt - 1))
            try:
                self._some(url)
                break
            except requests.exceptions.RequestException as error:
                if attempt == self.retries or not _passing(error):
                    raise FetchError(self._sentence(error)) from error
        self._check()
        self.mark.unlink(missing_ok=True)
        shutil.move(self.part, output_file)

    def _some(self, url: str) -> None:
        """Download what is missing."""
        import requests

        here = self.part.stat().st_size if self.part.exists() else 0
        version = self.mark.read_text(encoding="utf-8") if self.mark.exists() else ""
        headers = {"Accept-Encoding": "identity"}
        if here and (version or self.file.sha256):
            headers["Range"] = f"bytes={here}-"
            if version:
                headers["If-Range"] = version
        with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as answer:
            if answer.status_code == 416:  # there is no more, or what is here belongs to another file
                if here == self.file.size:
                    return
                self.part.unlink()
                raise requests.exceptions.ContentDecodingError("the server has less than is here already")
            answer.raise_for_status()
            if answer.status_code != 206:
                here = 0
            tag = answer.headers.get("ETag", "")
            self.mark.write_text(tag if not tag.startswith("W/") else "", encoding="utf-8")
            length = int(answer.headers.get("Content-Length") or 0)
            total = self.file.size or (here + length if length else 0)
            with open(self.part, "ab" if here else "wb") as target:
                for piece in answer.iter_content(PIECE):
                    target.write(piece)
                    here += len(piece)
                    if self.tell is not None:
                        self.tell(self.file.name, here, total)

    def _check(self) -> None:
        size = self.part.stat().st_size
        if self.file.size is not None and size != self.file.size:
            self.part.unlink()
            self.mark.unlink(missing_ok=True)
            raise FetchError(f"{self.file.url} gave {size:,} bytes instead of {self.file.size:,}: {CHANGED}")

    def _sentence(self, error: Exception) -> str:
        import requests

        here = self.part.stat().st_size if self.part.exists() else 0
        if isinstance(error, requests.exceptions.HTTPError) and error.response is not None:
            status = f"{error.response.status_code} {error.response.reason or ''}".rstrip()
            return f"{self.file.url} can't be fetched: the server answers {status}; look at the data set's page."
        if isinstance(error, requests.exceptions.ConnectionError) and not here:
            return (
                f"{self.file.url} can't be reached; check the network and its proxy settings, or get it elsewhere and "
                f"put it in {self.part.parent}."
            )
        return (
            f"{self.file.url} broke off {self.retries + 1} times; fetch it again later: the {here:,} bytes that have "
            "arrived are kept and taken up."
        )


def _passing(error: Exception) -> bool:
    """Tell whether trying again may help."""
    import requests

    if isinstance(error, requests.exceptions.HTTPError) and error.response is not None:
        return error.response.status_code in (408, 425, 429, 500, 502, 503, 504)
    hopeless = (
        requests.exceptions.InvalidURL,
        requests.exceptions.InvalidSchema,
        requests.exceptions.MissingSchema,
        requests.exceptions.SSLError,
    )
    return not isinstance(error, hopeless)
