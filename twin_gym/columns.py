"""From values as users have them (lists, frames, dates, names) to the typed columns of a workload."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from twin_gym.errors import WorkloadError
from twin_gym.validation import LONGEST, UNKNOWN, Ints, Mask


class Labels(NamedTuple):
    """Names of users, accounts or partitions, kept once.

    `codes` (int32, shape (J,)) index `names`; -1 stands for an unknown name.
    """

    codes: npt.NDArray[np.int32]
    names: tuple[str, ...]

    @classmethod
    def encode(cls, values: Any, jobs: int) -> Labels:
        """Encode any column of names or numbers; missing values, blank names and negative numbers are unknown.

        Numbers are named by their decimal digits and ordered by size, names alphabetically, categories as they are.
        """
        if values is None:
            return cls(np.full(jobs, -1, dtype=np.int32), ())
        if isinstance(values, Labels):
            return values
        series = values if isinstance(values, pd.Series) else pd.Series(_array(values))
        if isinstance(series.dtype, pd.CategoricalDtype):
            codes = series.cat.codes.to_numpy().astype(np.int32)
            return cls(codes, tuple(map(str, series.cat.categories)))
        if pd.api.types.is_numeric_dtype(series.dtype):
            series = series.where(series >= 0)
        else:  # as text, because names of several types can't be sorted
            series = series.where(series.isna(), series.map(_digits))
            series = series.where(series.str.strip() != "")
        codes, uniques = pd.factorize(series, sort=True)
        return cls(codes.astype(np.int32), tuple(_digits(name) for name in uniques))

    def take(self, rows: slice | Ints) -> Labels:
        """Return the labels of some jobs; names that no longer occur are forgotten."""
        codes = self.codes[rows]
        used = np.zeros(len(self.names) + 1, dtype=bool)
        used[codes] = True  # -1 marks the spare last place
        if used[:-1].all():
            return Labels(codes, self.names)
        anew = np.append(np.cumsum(used[:-1]) - 1, -1).astype(np.int32)
        return Labels(anew[codes], tuple(np.array(self.names, dtype=object)[used[:-1]]))

    @classmethod
    def join(cls, parts: list[Labels]) -> Labels:
        """Join the labels of several workloads; equal names are the same user."""
        names = tuple(dict.fromkeys(name for part in parts for name in part.names))
        place = {name: code for code, name in enumerate(names)}
        maps = [np.array([*(place[name] for name in part.names), -1], dtype=np.int32) for part in parts]
        return cls(np.concatenate([anew[part.codes] for anew, part in zip(maps, parts, strict=True)]), names)


class Whole(NamedTuple):
    """A column as int64 (UNKNOWN where missing) and the rows that had a fraction, if any."""

    values: Ints
    fractional: Mask | None


def whole(values: Any, name: str) -> Whole:
    """Return a column of numbers as int64, rounded half to even, with UNKNOWN for what is missing or infinite.

    Raises
    ------
    WorkloadError
        If a value isn't a number; the sentence names column and row.
    """
    if values is None:
        return Whole(np.empty(0, dtype=np.int64), None)
    dtype = getattr(values, "dtype", None)
    if isinstance(dtype, pd.api.extensions.ExtensionDtype) and dtype.kind in "iu":  # integers with gaps stay exact
        return Whole(values.fillna(UNKNOWN).to_numpy(dtype=np.int64), None)
    array = _array(values)
    if array.dtype.kind in "iub":
        if array.dtype.kind == "u":
            array = np.minimum(array, np.uint64(LONGEST + 1))
        return Whole(array.astype(np.int64, copy=False), None)
    if array.dtype.kind != "f":
        series = pd.Series(values)
        array = pd.to_numeric(series, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        wrong = np.flatnonzero(np.isnan(array) & series.notna().to_numpy())
        if wrong.size:
            raise WorkloadError(
                f"Column '{name}', row {wrong[0] + 1}: {series.iloc[wrong[0]]!r} is not a number; correct or remove it."
            )
    finite = np.isfinite(array) & (array != float(UNKNOWN))
    # beyond 2**53 float64 has no fractions and beyond 2**63 no int64: such values are only marked as too large
    clipped = np.clip(np.where(finite, array, 0.0), -(LONGEST + 1), LONGEST + 1)
    nearest = np.rint(clipped)
    fractional = nearest != clipped
    result = np.where(finite, nearest, 0.0).astype(np.int64)
    result[~finite] = UNKNOWN
    return Whole(result, fractional if fractional.any() else None)


def seconds(values: Any, name: str) -> Whole:
    """Return a column of durations, in seconds or as timedeltas, as int64 seconds."""
    if getattr(getattr(values, "dtype", None), "kind", "") == "m":
        return whole(pd.Series(values).dt.total_seconds().to_numpy(), name)
    return whole(values, name)


def is_date(values: Any) -> bool:
    """Tell whether a column holds dates (datetime64, with or without a time zone)."""
    return getattr(getattr(values, "dtype", None), "kind", "") == "M"


def unix_seconds(values: Any) -> Whole:
    """Return a column of dates as int64 Unix seconds; dates without a time zone are taken as UTC."""
    series = pd.Series(values)
    if isinstance(series.dtype, pd.DatetimeTZDtype):
        series = series.dt.tz_convert("UTC").dt.tz_localize(None)
    gaps = series.isna().to_numpy()
    microseconds = series.to_numpy().astype("datetime64[us]").astype(np.int64)
    down, rest = np.divmod(np.where(gaps, 0, microseconds), 1_000_000)
    fractional = rest != 0
    result = down + (rest >= 500_000)
    result[gaps] = UNKNOWN
    return Whole(result, fractional if fractional.any() else None)


def _array(values: Any) -> npt.NDArray[Any]:
    if isinstance(values, np.ndarray):
        return values
    if isinstance(values, pd.Series) and isinstance(values.dtype, np.dtype):
        return np.asarray(values)
    return np.asarray(values)


def _digits(name: Any) -> str:
    return str(int(name)) if isinstance(name, float | np.floating) and float(name).is_integer() else str(name)
