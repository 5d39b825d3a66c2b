"""Tables of numbers set apart by blanks, with comments, at the speed of a C parser; a bad line is named."""

from __future__ import annotations

import io
import re
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from twin_gym.errors import WorkloadError

from ._text import Block, Progress, Source, blocks, label

JOB = re.compile(rb"^[ \t]*[^;\s]", re.MULTILINE)
COMMENT = re.compile(rb"^[ \t]*;[^\n]*\n?", re.MULTILINE)
LINE = re.compile(rb"[^\r\n]*[^\s][^\r\n]*")
NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
LARGEST = 2.0**63

MISSING = -1
"""What a field that a short line lacks is taken to be."""


class Table(NamedTuple):
    """The comments before the first job, the titles (none without a line of titles) and the columns of a table."""

    comments: list[str]
    titles: tuple[str, ...]
    columns: list[npt.NDArray[Any]]


def read_numbers(source: Source, width: int, least: int, progress: Progress | None = None) -> Table:
    """Read a table.

    Parameters
    ----------
    source : path or file object
        Text, plain or gzip-compressed. Fields are set apart by blanks and tabs; what follows a ``;`` is a comment;
        blank lines are skipped. If the first line with anything in it begins with no number, it holds titles.
    width : int
        Columns of a table without titles. Shorter lines are filled with -1, further fields skipped.
    least : int
        Fields that every line must have; with titles, all of them.
    progress : callable, optional
        Called with bytes read and size of the file.

    Returns
    -------
    Table
        Columns are integers of the smallest size that holds them, or float64.

    Raises
    ------
    WorkloadError
        If the file can't be read, a line is malformed (file, line and field are named), or no line has a number.
    """
    comments: list[str] = []
    parts: list[list[npt.NDArray[Any]]] = []
    titles: tuple[str, ...] = ()
    for block in blocks(source, progress):
        body = block.text
        if not parts:  # what follows the first job is no header
            job = JOB.search(body)
            comments += [_text(line.group()) for line in COMMENT.finditer(body, 0, job.start() if job else len(body))]
        if b";" in body:
            body = COMMENT.sub(b"", body)
        first = LINE.search(body)
        if first is None:
            continue
        if not parts:
            titles = _titles(first.group())
            if titles:
                width = least = len(titles)
                body = body[first.end() :]
            parts = [[] for _ in range(width)]
            if titles and LINE.search(body) is None:
                continue
        columns = _parse(body, width, least)
        if columns is None:
            raise WorkloadError(_complaint(label(source), block, titles, least))
        for part, column in zip(parts, columns, strict=True):
            part.append(column)
    if not parts or not parts[0]:
        raise WorkloadError(f"{label(source)} holds no job, only comments and blank lines; check that it is complete.")
    return Table(comments, titles, [np.concatenate(part) for part in parts])


def _parse(body: bytes, width: int, least: int) -> list[npt.NDArray[Any]] | None:
    """Return the columns of some lines, or None if one of them is malformed."""
    full = b"0 " * width + b"\n"  # pandas refuses more columns than the longest line has
    try:
        frame = pd.read_csv(
            io.BytesIO(full + body),
            sep=r"\s+",
            header=None,
            names=range(width),
            usecols=range(width),
            index_col=False,
            comment=";" if b";" in body else None,
            quoting=3,  # quotes have no meaning here
            keep_default_na=False,
            na_values=[""],  # a field that a short line lacks, never a word such as "nan"
            low_memory=False,
            encoding_errors="replace",
        )
    except (pd.errors.ParserError, OverflowError, ValueError):
        return None
    columns = []
    for place in range(width):
        column = frame[place].to_numpy()[1:]
        if column.dtype.kind not in "if":
            return None
        if column.dtype.kind == "f":
            gaps = np.isnan(column)
            if (place < least and gaps.any()) or np.isinf(column).any():
                return None
            column = np.where(gaps, MISSING, column)
        columns.append(_smallest(column))
    return columns


def _smallest(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a column in the smallest integer type that holds it exactly, or as float64."""
    low, high = float(column.min()), float(column.max())
    if column.dtype.kind == "f" and (max(-low, high) >= 2.0**53 or np.any(np.rint(column) != column)):
        return column
    for dtype in (np.int8, np.int16, np.int32):
        if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max:
            return column.astype(dtype)
    return column.astype(np.int64)


def _titles(line: bytes) -> tuple[str, ...]:
    """Return the titles in a line of words; a line that begins with a number has none."""
    words = line.split()
    if not re.fullmatch(rb"[A-Za-z_]\w*", words[0]) or sum(map(bool, map(NUMBER.fullmatch, words))):
        return ()
    return tuple(_text(word).lower() for word in words)


def _complaint(where: str, block: Block, titles: tuple[str, ...], least: int) -> str:
    """Find the first malformed line of a block and say what is wrong with it."""
    untitled = not titles
    for number, line in enumerate(block.text.split(b"\n"), start=block.line):
        words = line.split(b";")[0].split()
        if not words:
            continue
        if not untitled:
            untitled = True
            if _titles(line):
                continue
        for place, word in enumerate(words[: max(18, least)], start=1):
            shown = _text(word[:30])
            if not NUMBER.fullmatch(word):
                return f"{where}, line {number}: field {place} is '{shown}', not a number; correct or remove the line."
            if abs(float(word)) >= LARGEST:
                return (
                    f"{where}, line {number}: field {place} is {shown}, too large a number; correct or remove the line."
                )
        if len(words) < least:
            return (
                f"{where}, line {number} has {len(words)} field{'s' * (len(words) > 1)}, at least {least} are needed; "
                f"correct or remove the line."
            )
    lines = block.text.count(b"\n")
    return f"{where}: something between lines {block.line} and {block.line + lines} is not a table of numbers."


def _text(data: bytes) -> str:
    return data.decode("utf-8", errors="replace").rstrip()
