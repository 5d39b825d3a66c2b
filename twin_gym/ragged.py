"""Rows of unequal length in flat arrays: recorded node lists, and traces sampled while a job ran."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from twin_gym.errors import WorkloadError

Rows: TypeAlias = slice | npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Ragged:
    """J rows of values, one after the other.

    Attributes
    ----------
    values : ndarray, shape (V,)
        All rows joined (int32 for node ids).
    offsets : ndarray of int64, shape (J + 1,)
        Row j is ``values[offsets[j]:offsets[j + 1]]``.

    Raises
    ------
    WorkloadError
        If the offsets don't start at 0, decrease, or don't end at the number of values.
    """

    values: npt.NDArray[Any]
    offsets: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        offsets = np.ascontiguousarray(self.offsets, dtype=np.int64)
        if offsets.size == 0 or offsets[0] != 0 or offsets[-1] != len(self.values) or np.any(np.diff(offsets) < 0):
            raise WorkloadError(
                f"The offsets of a ragged column must rise from 0 to {len(self.values)}, the number of its values."
            )
        object.__setattr__(self, "values", _sealed(np.ascontiguousarray(self.values)))
        object.__setattr__(self, "offsets", _sealed(offsets))

    @classmethod
    def from_rows(cls, rows: Iterable[Iterable[float]], dtype: npt.DTypeLike = np.int32) -> Ragged:
        """Join the rows of a nested list."""
        arrays = [np.asarray(list(row), dtype=dtype) for row in rows]
        offsets = np.zeros(len(arrays) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in arrays], out=offsets[1:])
        return Ragged(np.concatenate([np.empty(0, dtype=dtype), *arrays]), offsets)

    @classmethod
    def empty(cls, rows: int, dtype: npt.DTypeLike = np.int32) -> Ragged:
        """Return rows without a single value."""
        return Ragged(np.empty(0, dtype=dtype), np.zeros(rows + 1, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> npt.NDArray[Any]:
        """Values of one row, as a view."""
        row = range(len(self))[row]
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Number of values of every row."""
        return np.diff(self.offsets)

    def take(self, rows: Rows) -> Self:
        """Return the given rows (a slice or an index array) in that order."""
        return type(self)(*_take(self, rows))

    @classmethod
    def join(cls, parts: Sequence[Self]) -> Self:
        """Put the rows of several ragged columns one after the other."""
        return cls(*_join(parts))


@dataclass(frozen=True, eq=False)
class Trace(Ragged):
    """What a job did while it ran: samples at a fixed distance, or one number for the whole job.

    Attributes
    ----------
    values : ndarray of float32, shape (V,)
        All samples, in `unit`.
    offsets : ndarray of int64, shape (J + 1,)
        Samples of job j are ``values[offsets[j]:offsets[j + 1]]``; none where nothing was recorded.
    start : ndarray of int64, shape (J,)
        Time of the first sample, s after the job's start.
    quantum : ndarray of int64, shape (J,)
        Distance of two samples, s; 0 for a scalar: one value for the whole job.
    unit : str
        Unit of the values, such as ``"W"`` or ``"1"`` for a fraction.
    """

    start: npt.NDArray[np.int64]
    quantum: npt.NDArray[np.int64]
    unit: str

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "values", _sealed(np.ascontiguousarray(self.values, dtype=np.float32)))
        for name in ("start", "quantum"):
            column = np.ascontiguousarray(getattr(self, name), dtype=np.int64)
            if column.shape != (len(self),):
                raise WorkloadError(f"A trace of {len(self)} jobs needs as many values of '{name}', not {column.size}.")
            object.__setattr__(self, name, _sealed(column))
        if np.any(self.quantum < 0):
            raise WorkloadError("The quantum of a trace is negative; give seconds between samples, or 0 for a scalar.")

    @classmethod
    def scalars(cls, values: npt.ArrayLike, unit: str) -> Trace:
        """One number per job; NaN where nothing was recorded."""
        array = np.asarray(values, dtype=np.float32)
        known = ~np.isnan(array)
        offsets = np.zeros(len(array) + 1, dtype=np.int64)
        np.cumsum(known, out=offsets[1:])
        zeros = np.zeros(len(array), dtype=np.int64)
        return Trace(array[known], offsets, zeros, zeros, unit)

    @classmethod
    def unrecorded(cls, jobs: int, unit: str) -> Trace:
        """Return a trace without a single sample."""
        return cls.scalars(np.full(jobs, np.nan), unit)

    def take(self, rows: Rows) -> Self:
        """Return the samples of the given jobs (a slice or an index array) in that order."""
        return type(self)(*_take(self, rows), self.start[rows], self.quantum[rows], self.unit)

    @classmethod
    def join(cls, parts: Sequence[Self]) -> Self:
        """Put the jobs of several traces of one unit one after the other."""
        units = sorted({part.unit for part in parts})
        if len(units) > 1:
            raise WorkloadError(f"Traces in {' and '.join(units)} can't be joined; convert them to one unit first.")
        start, quantum = (np.concatenate([getattr(part, name) for part in parts]) for name in ("start", "quantum"))
        return cls(*_join(parts), start, quantum, units[0])


def _take(ragged: Ragged, rows: Rows) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    if isinstance(rows, slice):
        first, stop, step = rows.indices(len(ragged))
        if step == 1:  # neighbours stay neighbours: no index per value is needed
            bounds = ragged.offsets[first : max(first, stop) + 1]
            return ragged.values[bounds[0] : bounds[-1]], bounds - bounds[0]
        rows = np.arange(first, stop, step)
    lengths = ragged.lengths[rows]
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    source = np.arange(offsets[-1]) + np.repeat(ragged.offsets[:-1][rows] - offsets[:-1], lengths)
    return ragged.values[source], offsets


def _join(parts: Sequence[Ragged]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    lengths = np.concatenate([part.lengths for part in parts])
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return np.concatenate([part.values for part in parts]), offsets


def _sealed(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a read-only view: a workload may be shared by many twins."""
    view = array.view()
    view.flags.writeable = False
    return view
