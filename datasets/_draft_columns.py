"""Columns of look-alike files: dates, lists and names as Arrow arrays, and Parquet files written row group by group."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from twin_gym.workload import Status

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

UTC_US = pa.timestamp("us", tz="UTC")
NAIVE_US = pa.timestamp("us")

SLURM_STATES = {
    Status.COMPLETED: "COMPLETED",
    Status.FAILED: "FAILED",
    Status.CANCELLED: "CANCELLED",
    Status.TIMEOUT: "TIMEOUT",
    Status.NODE_FAIL: "NODE_FAIL",
    Status.OUT_OF_MEMORY: "OUT_OF_MEMORY",
}


def named(codes: npt.NDArray[np.int8], names: dict[Status, str]) -> pa.Array:
    """Return names in place of codes."""
    table = np.array([names.get(Status(code), "") for code in range(max(Status) + 1)], dtype=object)
    return pa.array(table[codes], pa.string())


def dates(seconds: Ints, unknown: Flags | None = None, kind: pa.DataType = UTC_US) -> pa.Array:
    """Return Unix seconds as dates; missing where unknown."""
    return pa.array(seconds * 1_000_000, pa.int64(), mask=unknown).cast(kind)


def lists(values: npt.NDArray[Any], lengths: Ints, null: Flags | None = None) -> pa.Array:
    """Return rows of unequal length; missing where null."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.cumsum(lengths, out=offsets[1:])
    mask = None if null is None else pa.array(null)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values), mask=mask)


def emptied(values: npt.NDArray[Any], lengths: Ints, gone: Flags) -> tuple[npt.NDArray[np.int64], Ints]:
    """Return rows of which some have lost their values."""
    return values[~np.repeat(gone, lengths)].astype(np.int64), np.where(gone, 0, lengths)


def shortened(
    rng: np.random.Generator, values: Ints, lengths: Ints, share: float, null: Flags | None = None
) -> pa.Array:
    """Return rows of which a share lacks the last value, as where two meters don't stop together."""
    cut = (rng.random(len(lengths)) < share) & (lengths > 1)
    keep = np.ones(len(values), dtype=bool)
    keep[np.cumsum(lengths)[cut] - 1] = False
    return lists(values[keep], lengths - cut, null)


def write_parquet(
    path: Path,
    schema: pa.Schema,
    jobs: int,
    rows: int,
    table: Callable[[slice], pa.Table],
    progress: Callable[[int, int], None],
) -> Path:
    """Write a Parquet file whose row groups have a given number of jobs; `table` makes those of a slice."""
    with pq.ParquetWriter(path, schema) as file:
        for first in range(0, jobs, rows):
            some = slice(first, min(first + rows, jobs))
            file.write_table(table(some))
            progress(some.stop, jobs)
    return path


def write_csv(path: Path, tables: Any, header: bool = True, quoted: bool = False) -> Path:
    """Write tables of one schema as one CSV file; `quoted` for text that has commas or quotes in it."""
    options = pc.WriteOptions(include_header=header, quoting_style="needed" if quoted else "none")
    writer = None
    try:
        for table in tables:
            if writer is None:
                writer = pc.CSVWriter(path, table.schema, write_options=options)
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()
    return path


def text_dates(seconds: Ints, microseconds: Ints | None = None, unknown: Flags | None = None) -> pa.Array:
    """Return Unix seconds as text like ``2019-03-01 12:00:00``, with a fraction where microseconds aren't 0."""
    whole = np.datetime_as_string(seconds.astype("datetime64[s]"), unit="s")
    text = np.char.replace(whole, "T", " ")
    if microseconds is not None:
        fraction = np.where(microseconds > 0, np.char.add(".", np.char.zfill(microseconds.astype(str), 6)), "")
        text = np.char.add(text, fraction)
    return pa.array(text.astype(object), pa.string(), mask=unknown)
