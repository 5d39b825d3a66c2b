"""Large CSV files block by block: only the columns asked for, typed, with errors that name file, column and row."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pc

from twin_gym.errors import WorkloadError, suggest

BLOCK = 16 << 20
"""Bytes of text decoded at a time."""

NUMBER = pa.float64()
"""Numbers of all kinds: whole ones are often written as ``4.0``, and exact up to 2**53."""

TEXT = pa.string()
NAME = pa.dictionary(pa.int32(), pa.string())
"""Text of few distinct values."""


def header(path: str | PathLike[str]) -> list[str]:
    """Return the titles of a CSV file, plain or gzip-compressed by the end of its name.

    Raises
    ------
    WorkloadError
        If it is missing, unreadable or empty.
    """
    try:
        with pa.input_stream(str(path), compression="detect") as file:
            text = b""
            while b"\n" not in text and (more := file.read(1 << 16)):
                text += more
    except FileNotFoundError as error:
        raise WorkloadError(f"{path} does not exist; check the path.") from error
    except (OSError, pa.ArrowException) as error:
        raise WorkloadError(f"{path} can't be read: {_first_line(error)}.") from error
    line = text.split(b"\n", 1)[0].removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").rstrip("\r")
    if not line.strip():
        raise WorkloadError(f"{path} is empty or has no line of titles; check that it was fetched completely.")
    return next(csv.reader([line]))


def blocks(
    path: str | PathLike[str],
    needed: Mapping[str, pa.DataType],
    optional: Mapping[str, pa.DataType] | None = None,
    *,
    what: str,
    titles: Sequence[str] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Read some columns of a CSV file.

    Parameters
    ----------
    path : path
        The file, plain or ``.gz``.
    needed, optional : mapping of str to pyarrow type
        Columns that must be there, and those read if they are.
    what : str
        What the file should be, for messages.
    titles : sequence of str, optional
        Names of the columns of a file without a line of titles.

    Yields
    ------
    pyarrow.RecordBatch
        Some thousand rows; empty fields and the like are missing values.

    Raises
    ------
    WorkloadError
        If a column is missing or holds something else, or the file is damaged.
    """
    present = list(titles) if titles is not None else header(path)
    for name in needed:
        if name not in present:
            raise WorkloadError(
                f"{path} has no column '{name}', which {what} has; is it another file?{suggest(name, present)}"
            )
    types = dict(needed) | {name: kind for name, kind in (optional or {}).items() if name in present}
    try:
        with pa.input_stream(str(path), compression="detect") as file:
            reader = pc.open_csv(
                file,
                read_options=pc.ReadOptions(block_size=BLOCK, column_names=titles),
                convert_options=pc.ConvertOptions(
                    include_columns=list(types),
                    column_types=types,
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=True,
                ),
            )
            yield from reader
    except pa.ArrowInvalid as error:
        if "Empty CSV file" in str(error):
            raise WorkloadError(f"{path} is empty; check that it was fetched completely.") from error
        raise WorkloadError(_explained(path, present, str(error))) from error
    except (pa.ArrowException, OSError) as error:
        raise WorkloadError(f"{path} is damaged: {_first_line(error)}; fetch it again.") from error


def _explained(path: str | PathLike[str], present: Sequence[str], text: str) -> str:
    """Turn Arrow's message about a column's number into one about its name."""
    found = re.search(r"In CSV column #(\d+):(?: Row #(\d+):)? (.*)", text.split("\n", 1)[0])
    if found is None:
        return f"{path} is no well-formed CSV file: {text.strip().splitlines()[0].rstrip('.')}."
    column, row, reason = found.groups()
    name = present[int(column)] if int(column) < len(present) else f"#{column}"
    value = re.search(r"invalid value '(.*)'", reason)
    place = f"{path}, column '{name}'" + (f", line {row}" if row else "")
    if value is None:
        return f"{place}: {reason.rstrip('.')}."
    return f"{place}: {value.group(1)!r} is not a number; correct or remove it."


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0].rstrip(".")


def one_of(folder: str | PathLike[str], names: Sequence[str], what: str) -> Path:
    """Return the first file of a folder that has one of the given names, plain or ``.gz``.

    Raises
    ------
    WorkloadError
        If there is none.
    """
    place = Path(folder)
    for name in names:
        for path in (place / name, place / f"{name}.gz"):
            if path.is_file():
                return path
    raise WorkloadError(f"{place} holds no {' or '.join(names)}, which {what} has; check the path.")
