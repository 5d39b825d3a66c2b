"""From the columns of a foreign table to jobs: rows left out, times counted from the epoch, the window cut."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from twin_gym.columns import Labels
from twin_gym.errors import WorkloadError
from twin_gym.validation import refuse
from twin_gym.workload import UNKNOWN, Ragged, Workload

from ._notes import Notes
from ._window import Span, cut

Ints = npt.NDArray[np.int64]

TIMES = ("submit", "start")


def jobs_of(
    columns: dict[str, Any],
    rows: Ints,
    notes: Notes,
    span: Span | None,
    *,
    name: str,
    capacity: int | None,
    missing_requests: str,
    header: dict[str, str] | None = None,
    unit: str = "node",
) -> Workload:
    """Make jobs of the rows that weren't left out.

    Parameters
    ----------
    columns : dict
        Columns of R rows as `Workload.build` takes them, ``submit`` and ``start`` in Unix seconds.
    rows : ndarray of int64, shape (R,)
        Where the rows stand in the source; kept as ``extra["row"]`` until `finish`.
    notes : Notes
        On these rows.
    span : Span or None
        Window to cut out.
    name, capacity, missing_requests, header, unit
        As in `Workload.build`.

    Raises
    ------
    WorkloadError
        If no job is left.
    """
    submit = columns["submit"][notes.kept]
    submit = submit[submit != UNKNOWN]
    if not submit.size:
        raise WorkloadError(f"{notes.where} holds no job that can be used: {'; '.join(notes.report().lines)}.")
    epoch = int(submit.min())
    columns = columns | {key: _since(columns[key], epoch) for key in TIMES if columns.get(key) is not None}
    columns["extra"] = {**columns.get("extra", {}), "row": rows}
    if not notes.kept.all():
        columns = {key: _some(value, np.flatnonzero(notes.kept)) for key, value in columns.items()}
    workload = Workload.build(
        missing_requests=missing_requests,
        **columns,
        epoch=epoch,
        epoch_known=True,
        capacity=capacity,
        unit=unit,
        name=name,
        origin=notes.where,
        header=header or {},
    )
    return cut(workload, span)


def finish(workload: Workload, notes: Notes, strict: bool) -> Workload:
    """Put the notes into the report and forget where the rows stood.

    Raises
    ------
    WorkloadError
        If `strict` and anything had to be left out or repaired.
    """
    extra = {name: column for name, column in workload.extra.items() if name != "row"}
    workload = notes.onto(replace(workload, extra=extra))
    if strict:
        refuse(workload.report, notes.where)
    return workload


def _since(times: Ints, epoch: int) -> Ints:
    return np.where(times == UNKNOWN, UNKNOWN, times - epoch)


def _some(value: Any, rows: Ints) -> Any:
    if isinstance(value, dict):
        return {name: _some(column, rows) for name, column in value.items()}
    return value.take(rows) if isinstance(value, Labels | Ragged) else None if value is None else value[rows]
