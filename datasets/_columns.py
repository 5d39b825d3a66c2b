"""Scalar columns of foreign tables as NumPy arrays: numbers with gaps, names, and final states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from twin_gym.columns import Labels
from twin_gym.errors import WorkloadError
from twin_gym.workload import UNKNOWN, Status

SLURM_STATES: Mapping[str, Status] = {
    "COMPLETED": Status.COMPLETED,
    "FAILED": Status.FAILED,
    "CANCELLED": Status.CANCELLED,
    "TIMEOUT": Status.TIMEOUT,
    "NODE_FAIL": Status.NODE_FAIL,
    "OUT_OF_MEMORY": Status.OUT_OF_MEMORY,
    "BOOT_FAIL": Status.NODE_FAIL,
    "DEADLINE": Status.TIMEOUT,
    "PREEMPTED": Status.CANCELLED,
}
"""Slurm's final states; all others are unknown."""


def whole(table: pa.Table, name: str, where: str) -> npt.NDArray[np.int64]:
    """Return a column of whole numbers, `UNKNOWN` where missing; numbers written as text are taken, fractions cut.

    Raises
    ------
    WorkloadError
        If it holds something else; names file, column, row and value.
    """
    values = real(table, name, where)
    if values.dtype.kind == "i":
        return values
    known = np.isfinite(values)
    result = np.full(len(values), UNKNOWN)
    result[known] = np.clip(np.floor(values[known]), -(2.0**62), 2.0**62).astype(np.int64)
    return result


def real(table: pa.Table, name: str, where: str) -> npt.NDArray[Any]:
    """Return a column of numbers: int64 (`UNKNOWN` where missing) or float64 (NaN where missing).

    Raises
    ------
    WorkloadError
        If it holds something else; names file, column, row and value.
    """
    column = table[name]
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        if pa.types.is_uint64(kind):
            return np.asarray(column.cast(pa.float64(), safe=False), dtype=np.float64)
        return np.asarray(column.cast(pa.int64()).fill_null(UNKNOWN))
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return np.asarray(column.cast(pa.float64()), dtype=np.float64)
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        text = pc.utf8_trim_whitespace(column)
        text = pc.if_else(pc.equal(text, ""), pa.scalar(None, text.type), text)
        try:
            return np.asarray(text.cast(pa.float64()), dtype=np.float64)
        except pa.ArrowInvalid:
            series = column.to_pandas()
            wrong = pd.to_numeric(series, errors="coerce").isna() & series.notna() & (series.str.strip() != "")
            row = int(np.flatnonzero(wrong.to_numpy())[0])
            raise WorkloadError(
                f"{where}, column '{name}', row {row + 1}: {series.iloc[row]!r} is not a number; correct or remove it."
            ) from None
    raise WorkloadError(f"{where}: column '{name}' must hold numbers, but is {kind}.")


def names(table: pa.Table, name: str) -> Labels | None:
    """Return a column of names or numbers as labels in the order of the names; None if there is no such column."""
    if name not in table.column_names:
        return None
    column = table[name]
    if not pa.types.is_dictionary(column.type):
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            return Labels.encode(column.to_pandas(), len(column))
        column = column.dictionary_encode()
    column = column.unify_dictionaries().combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if isinstance(column, pa.ChunkedArray):
        return None
    # few distinct names stand for many jobs: only those are handled as Python strings
    distinct = Labels.encode(pd.Series(column.dictionary.to_pylist(), dtype=object), len(column.dictionary))
    codes = np.append(distinct.codes, np.int32(-1))[column.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
    return Labels(codes, distinct.names)


def states(table: pa.Table, name: str, known: Mapping[str, int] = SLURM_STATES) -> npt.NDArray[np.int8] | None:
    """Return how jobs ended, as numbers of `Status` or others that `known` gives, -1 for what it doesn't know.

    Of texts such as ``CANCELLED by 1000`` the first word counts, large or small. None if there is no such column.
    """
    labels = names(table, name)
    if labels is None:
        return None
    words = [text.split()[0].upper().rstrip("+") for text in labels.names]
    table_of = np.array([*(known.get(word, Status.UNKNOWN) for word in words), Status.UNKNOWN], dtype=np.int8)
    return table_of[labels.codes]


def measured(table: pa.Table, name: str, where: str) -> npt.NDArray[np.float64]:
    """Return a column of numbers as float64, NaN where missing; errors as in `real`."""
    values = real(table, name, where)
    return np.where(values == UNKNOWN, np.nan, values) if values.dtype.kind == "i" else values


def floats(table: pa.Table, name: str, where: str) -> npt.NDArray[np.float64] | None:
    """Return a column as `measured` does; None if there is no such column."""
    return measured(table, name, where) if name in table.column_names else None


def numbered(table: pa.Table, name: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.str_] | None]:
    """Return job numbers from a column of text, and None; or, if some are no numbers, `UNKNOWN` and the text."""
    column = table[name]
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return whole(table, name, name), None
    try:
        return np.asarray(column.cast(pa.int64()).fill_null(UNKNOWN)), None
    except pa.ArrowInvalid:
        return np.full(len(column), UNKNOWN), np.asarray(column.fill_null("").to_pandas().to_numpy(), dtype=np.str_)
