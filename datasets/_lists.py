"""Arrow list columns (power arrays, node lists) as flat NumPy arrays; no Python object per job or sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from twin_gym.errors import WorkloadError
from twin_gym.workload import Ragged

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Rows(NamedTuple):
    """Rows of unequal length: their values one after the other, and how many each has."""

    values: npt.NDArray[Any]
    lengths: Ints

    def first(self, lengths: Ints) -> Rows:
        """Cut every row to its first `lengths` values."""
        if np.array_equal(lengths, self.lengths):
            return self
        at = np.arange(len(self.values)) - np.repeat(np.cumsum(self.lengths) - self.lengths, self.lengths)
        return Rows(self.values[at < np.repeat(lengths, self.lengths)], lengths)

    def take(self, rows: Ints) -> Rows:
        """Return the given rows in that order."""
        ragged = self.ragged().take(rows)
        return Rows(ragged.values, ragged.lengths)

    def ragged(self) -> Ragged:
        """Return the rows as a ragged column."""
        return Ragged(self.values, offsets(self.lengths))


def offsets(lengths: Ints) -> Ints:
    """Return where each row begins, and where the last one ends; shape (J + 1,)."""
    bounds = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=bounds[1:])
    return bounds


def numbers(column: pa.ChunkedArray | pa.Array, name: str, where: str) -> Rows:
    """Return a column of lists of numbers; a missing list is an empty one, a missing number NaN.

    Lists written as text (``"[3, 4]"``, ``"3 4"``) are taken too.

    Parameters
    ----------
    column : pyarrow array
        J rows.
    name, where : str
        Column and file, for messages.

    Raises
    ------
    WorkloadError
        If the column holds neither lists of numbers nor such text.
    """
    if isinstance(column, pa.ChunkedArray):
        return joined([numbers(chunk, name, where) for chunk in column.chunks])
    if pa.types.is_null(column.type):
        return Rows(np.empty(0), np.zeros(len(column), dtype=np.int64))
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = _split(column)
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        raise WorkloadError(f"{where}: column '{name}' must hold lists of numbers, but is {column.type}.")
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    values = column.flatten()
    try:
        if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
            values = values.cast(pa.float64())
    except pa.ArrowInvalid as error:
        raise WorkloadError(f"{where}: column '{name}' holds lists of something else than numbers: {error}.") from error
    except pa.ArrowNotImplementedError as error:
        raise WorkloadError(f"{where}: column '{name}' holds lists of {values.type}, not of numbers.") from error
    return Rows(values.to_numpy(zero_copy_only=False), lengths)


def _split(column: pa.Array) -> pa.Array:
    """Return text such as "[3, 4]" as lists of its numbers, text without any as empty lists."""
    spaced = pc.utf8_trim(pc.replace_substring_regex(column, pattern=r"[^0-9.+eE-]+", replacement=" "), characters=" ")
    lists = pc.split_pattern(spaced, pattern=" ")
    return pc.if_else(pc.equal(spaced, ""), pa.scalar(None, lists.type), lists)


def joined(parts: Sequence[Rows]) -> Rows:
    """Put rows one after the other."""
    if not parts:
        return Rows(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    return Rows(np.concatenate([part.values for part in parts]), np.concatenate([part.lengths for part in parts]))


def filled(rows: Rows) -> tuple[npt.NDArray[np.float32], Ints]:
    """Return the values with gaps closed by the sample before (or, at a row's beginning, by 0), and the gaps by row."""
    values = rows.values.astype(np.float32)
    gaps = np.isnan(values) if rows.values.dtype.kind == "f" else np.zeros(0, dtype=bool)
    if not gaps.any():
        return values, np.zeros(len(rows.lengths), dtype=np.int64)
    last = np.maximum.accumulate(np.where(gaps, -1, np.arange(len(values))))
    first = np.repeat(offsets(rows.lengths)[:-1], rows.lengths)
    row = np.repeat(np.arange(len(rows.lengths)), rows.lengths)
    by_row = np.bincount(row[gaps], minlength=len(rows.lengths))
    return np.where(last >= first, values[last], np.float32(0)), by_row
