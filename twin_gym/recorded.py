"""Tables of recorded series: CSV files, their column of times and their columns of numbers."""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from twin_gym.series import SeriesError

__all__ = ["numbers", "read_table", "time_column"]

_TIME = ("time", "date", "stamp")


def read_table(path: str | PathLike[str], skip: int = 0) -> pd.DataFrame:
    """Read a CSV file, without its first `skip` lines; headers lose the blanks around them.

    Raises
    ------
    SeriesError
        If there is no such file or it is no table.
    """
    try:
        table = pd.read_csv(Path(path), skipinitialspace=True, skiprows=skip)  # a path, so that nothing is downloaded
    except FileNotFoundError:
        raise SeriesError(f"there is no file {Path(path)}; check the path.") from None
    except (OSError, ValueError) as problem:
        raise SeriesError(f"{Path(path)} can't be read as CSV: {problem}.") from None
    table = table.rename(columns=lambda name: str(name).strip().lstrip("\ufeff"))
    if len(table.columns) == 1 and re.search(r"[;\t]", table.columns[0]):
        raise SeriesError(f"{Path(path).name} is not separated by commas; save it with commas, and points in numbers.")
    return table


def time_column(table: pd.DataFrame, file: str) -> str:
    """Return the header of the times: one that holds "time", "date" or "stamp", and "UTC" rather than not."""
    columns = [str(name) for name in table.columns]
    found = [name for name in columns if any(word in name.lower() for word in _TIME)]
    best = [name for name in found if "utc" in name.lower()] or found
    if not best:
        raise SeriesError(f"{file} has no column of times, only {', '.join(columns)}; give it the header 'time'.")
    return best[0]


def numbers(column: pd.Series, origin: str) -> npt.NDArray[np.float64]:
    """Return a column as float64, shape (rows,), NaN where nothing stands; refuse text that is no number."""
    values: npt.NDArray[np.float64] = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)
    wrong = np.isnan(values) & column.notna().to_numpy()
    if wrong.any():
        row = int(np.argmax(wrong))
        raise SeriesError(f"{origin}, row {row + 1}: {column.iloc[row]!r} is no number.")
    return values
