"""Workloads as pandas frames, and frames as columns of a workload."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from twin_gym.columns import Whole, is_date, seconds, unix_seconds, whole
from twin_gym.errors import WorkloadError, suggest
from twin_gym.validation import UNKNOWN

if TYPE_CHECKING:
    from twin_gym.workload import Workload

KNOWN = (
    "id", "submit", "runtime", "requested_time", "nodes", "used_nodes", "start", "user", "account", "partition",
    "priority", "status", "initial",
)  # fmt: skip
"""Columns with a meaning; ``end`` only serves to find the runtime."""


def columns(frame: pd.DataFrame, epoch: int | None) -> dict[str, Any]:
    """Turn a table into the arguments of `Workload.build`."""
    frame = frame.reset_index(drop=True)
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise WorkloadError(f"Column '{twice}' occurs twice in the job table; rename or remove one.")
    given = {str(name): frame[name] for name in frame.columns}
    times, epoch = _times({name: given[name] for name in ("submit", "start", "end") if name in given}, epoch)
    end = times.pop("end", None)
    if "runtime" not in given and end is not None and "start" in times:
        known = (times["start"] != UNKNOWN) & (end != UNKNOWN)
        given["runtime"] = pd.Series(np.where(known, end - times["start"], UNKNOWN))
    for name in ("submit", "runtime", "nodes"):
        if name not in given:
            hint = suggest(name, given) if given else " It has no columns."
            raise WorkloadError(f"The job table has no column '{name}'.{hint}")
    known_columns = {name: given[name] for name in KNOWN if name in given} | times
    if "status" in given:
        known_columns["status"] = _status(given["status"])
    extra = {name: _plain(column) for name, column in given.items() if name not in (*KNOWN, "end")}
    return {**known_columns, "extra": extra, "epoch": epoch or 0, "epoch_known": epoch is not None}


def frame(workload: Workload) -> pd.DataFrame:
    """Turn a workload into a table that `columns` reads back."""
    table: dict[str, Any] = {
        "id": workload.id,
        "submit": workload.submit,
        "start": _nullable(workload.start),
        "end": _nullable(workload.end),
        "runtime": workload.runtime,
        "requested_time": workload.requested_time,
        "nodes": workload.nodes,
    }
    for name, names in (("user", workload.users), ("account", workload.accounts), ("partition", workload.partitions)):
        table[name] = pd.Categorical.from_codes(getattr(workload, name), categories=list(names))
    table |= {"priority": workload.priority, "status": workload.status}
    if workload.initial.any() or workload.submit[0] < 0:
        table["initial"] = workload.initial
    return pd.DataFrame(table | {name: column for name, column in workload.extra.items() if name not in table})


def _times(given: dict[str, pd.Series], epoch: int | None) -> tuple[dict[str, Any], int | None]:
    """Bring submit, start and end, dates or numbers, to seconds since one epoch."""
    dates = {name: is_date(column) for name, column in given.items()}
    if not any(dates.values()):
        return {
            name: whole(column, name).values if name != "submit" else column for name, column in given.items()
        }, epoch
    for name, date in dates.items():
        if not date and given[name].notna().any():
            other = next(other for other in dates if dates[other])
            raise WorkloadError(f"Column '{other}' holds dates but '{name}' doesn't; give dates in both or in none.")
    read = {name: unix_seconds(column) if dates[name] else whole(column, name) for name, column in given.items()}
    submit = read["submit"].values if "submit" in read else np.empty(0, dtype=np.int64)
    known = submit[submit != UNKNOWN]
    if epoch is None:
        epoch = int(known.min()) if known.size else 0
    return {name: _shifted(column, epoch) for name, column in read.items()}, epoch


def _shifted(column: Whole, epoch: int) -> Any:
    gaps = column.values == UNKNOWN
    return np.where(gaps, UNKNOWN, column.values - np.where(gaps, 0, epoch))


def _status(column: pd.Series) -> Any:
    """Read states given as numbers or by name (``"COMPLETED"``, ``"CANCELLED by 12"``)."""
    from twin_gym.workload import Status

    if pd.api.types.is_numeric_dtype(column.dtype):
        numbers = column.astype("Float64").fillna(-1).to_numpy(dtype=np.float64)
        return np.where(np.isin(numbers, list(Status)), numbers, Status.UNKNOWN).astype(np.int8)
    words = column.astype("string").str.upper().str.split().str[0]
    return words.map({status.name: int(status) for status in Status}).fillna(Status.UNKNOWN).to_numpy(dtype=np.int8)


def _plain(column: pd.Series) -> Any:
    """Keep a further column as numbers, or else as text of one width."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iufb":
        return column.to_numpy()
    if is_date(column):
        return unix_seconds(column).values
    if column.dtype.kind == "m":
        return seconds(column, str(column.name)).values
    if pd.api.types.is_numeric_dtype(column.dtype):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return column.astype(object).where(column.notna(), "").astype(str).to_numpy(dtype=np.str_)


def _nullable(times: Any) -> pd.Series:
    column = pd.Series(times, dtype="Int64")
    return column.mask(times == UNKNOWN)
