"""Whole lines of a text log in blocks of bytes, from a path or a file object, plain or gzip-compressed."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from os import PathLike
from typing import IO, Any, NamedTuple, TypeAlias

from twin_gym.errors import WorkloadError

Source: TypeAlias = str | PathLike[str] | IO[bytes] | IO[str]
Progress: TypeAlias = Callable[[int, int], None]
"""Called with the bytes of the file read so far and its size (0 where it isn't known)."""

BLOCK = 16 << 20
"""Bytes of text per block: many enough for a vectorised parser, few enough to forget about memory."""

GZIP = b"\x1f\x8b"
OTHERS = {b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"PK\x03\x04": "zip", b"\x28\xb5\x2f\xfd": "zstd", b"PAR1": "Parquet"}
"""First bytes of files that a user may take for text logs."""


class Block(NamedTuple):
    """Some whole lines, and the number of the first of them in the file (from 1)."""

    line: int
    text: bytes


def label(source: Source) -> str:
    """Return what messages call a source."""
    if isinstance(source, str | PathLike):
        return os.fspath(source)
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "the file object"


def blocks(source: Source, progress: Progress | None = None) -> Iterator[Block]:
    """Read a text file as blocks of whole lines.

    Raises
    ------
    WorkloadError
        If it is missing, a folder, unreadable, truncated, damaged, empty or no text; one sentence.
    """
    where = label(source)
    line, rest, empty = 1, b"", True
    for data in _read(source, where, progress):
        if b"\0" in data:
            raise WorkloadError(f"{where} is a binary file, not a text log; check the path.")
        if empty:
            data = data.removeprefix(b"\xef\xbb\xbf")  # byte order mark that some editors write
        empty = False
        data = rest + data
        cut = data.rfind(b"\n") + 1
        rest = data[cut:]
        if cut:
            yield Block(line, data[:cut])
            line += data.count(b"\n", 0, cut)
    if empty:
        raise WorkloadError(f"{where} is empty; check that it was fetched completely.")
    if rest:
        yield Block(line, rest)


def _read(source: Source, where: str, progress: Progress | None) -> Iterator[bytes]:
    """Yield decompressed pieces."""
    with ExitStack() as stack:
        try:
            if isinstance(source, str | PathLike):
                file: Any = stack.enter_context(open(source, "rb"))
            else:
                file = source
            raw = _Raw(file)
            total = _size(file)
            stream: Any = io.BufferedReader(raw, 1 << 20)
            head = stream.peek(8)
            if head.startswith(GZIP):
                stream = gzip.GzipFile(fileobj=stream)
            for magic, kind in OTHERS.items():
                if head.startswith(magic):
                    raise WorkloadError(f"{where} is a {kind} file, not a text log or a .gz of one; unpack it first.")
            while data := stream.read(BLOCK):
                yield data
                if progress is not None:
                    progress(raw.done, total)
        except FileNotFoundError as error:
            raise WorkloadError(f"{where} does not exist; check the path.") from error
        except IsADirectoryError as error:
            raise WorkloadError(f"{where} is a folder; give the path of a log in it.") from error
        except EOFError as error:
            raise WorkloadError(f"{where} is truncated: its gzip data end too early; fetch it again.") from error
        except (gzip.BadGzipFile, zlib.error) as error:
            raise WorkloadError(f"{where} is damaged: its gzip data can't be unpacked; fetch it again.") from error
        except UnicodeDecodeError as error:
            raise WorkloadError(f"{where} is not text in the encoding it was opened with; use mode 'rb'.") from error
        except OSError as error:
            raise WorkloadError(f"{where} can't be read: {error.strerror or error}.") from error


def _size(file: Any) -> int:
    try:
        return os.fstat(file.fileno()).st_size
    except (AttributeError, OSError):
        return 0


class _Raw(io.RawIOBase):
    """Any readable file object as a raw stream of bytes that counts what went through it."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.rest = b""
        self.done = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.rest or self.file.read(len(buffer))
        if isinstance(data, str):
            data = data.encode()
        taken = min(len(data), len(buffer))  # characters may need more bytes than were asked for
        buffer[:taken], self.rest = data[:taken], data[taken:]
        self.done += taken
        return taken
