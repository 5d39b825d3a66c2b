"""Logs in the Standard Workload Format (SWF): read with their dialects, and written.

The format: Feitelson, Tsafrir, Krakov, "Experience with using the Parallel Workloads Archive", JPDC 74(10), 2014, and
https://www.cs.huji.ac.il/labs/parallel/workload/swf.html. One line per job with 18 numbers, -1 where unknown; comments
begin with ``;``, and those of the form ``; Key: value`` make the header.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from twin_gym.columns import Labels
from twin_gym.errors import WorkloadError
from twin_gym.workload import UNKNOWN, Workload

from ._numbers import MISSING, Table, read_numbers
from ._swf_format import CALENDAR, FIELDS, KEPT, leading, names_of, read_header, unit_of
from ._swf_write import save
from ._text import Progress, Source, label

__all__ = ["load", "save"]

Column: TypeAlias = npt.NDArray[Any]

LEAST = 5
"""Fields that a line must have; the others are taken as -1."""

TITLES: Mapping[str, str] = {
    "job": "id", "job_id": "id", "jobid": "id", "job_name": "id", "id": "id",
    "submit": "submit", "submit_time": "submit",
    "wait": "wait", "wait_time": "wait",
    "runtime": "runtime", "run_time": "runtime", "run": "runtime",
    "nodes": "requested_procs", "procs": "requested_procs", "requested_nodes": "requested_procs",
    "walltime": "requested_time", "requested_time": "requested_time", "time_limit": "requested_time",
    "user": "user", "group": "group", "queue": "queue", "status": "status",
}  # fmt: skip
"""Titles understood in a table with a line of titles instead of SWF's fixed fields."""

NEEDED = ("submit", "runtime", "requested_procs")


def load(
    source: Source,
    *,
    capacity: int | None = None,
    missing_requests: str = "fallback",
    unit: str | None = None,
    progress: Progress | None = None,
    strict: bool = False,
) -> Workload:
    """Read a log.

    Besides SWF proper: tabs, repeated blanks, blank lines, comments anywhere, Windows line ends, no header, lines with
    5 to 17 fields (the rest is unknown) or more than 18 (Alea's node lists are skipped), any order, Unix submit times.
    A table whose first line holds titles (``Job_name Submit Runtime Nodes ...``, as in extracts of ALCF's logs) is read
    by them; it must have submit, runtime and nodes; columns without a meaning here are kept in `Workload.extra`.

    Parameters
    ----------
    source : path or file object (binary or text)
        The log, plain or gzip-compressed whatever its name.
    capacity : int, optional
        Size of the machine; default: the header's MaxProcs, or else MaxNodes.
    missing_requests : {"fallback", "drop"}
        Jobs without requested processors take those they used, jobs without a requested time their runtime; or all of
        them are left out.
    unit : {"node", "processor"}, optional
        What sizes count. Default: ``"node"`` if the header has as many nodes as processors or only nodes, or if the
        table has titles, else ``"processor"``.
    progress : callable, optional
        Called with the bytes read so far and the size of the file (0 if unknown).
    strict : bool
        Raise if any job has to be repaired or dropped.

    Returns
    -------
    Workload
        Recorded starts are submit + wait; `user` and `account` hold SWF's user and group, `partition` its queue or,
        where the log has none, its partition, under the names that the header gives them.

    Raises
    ------
    WorkloadError
        If the file can't be read, a line is malformed (file and line are named), or no job is left.
    OptionError
        If an option has an unknown value.
    """
    where = label(source)
    table = read_numbers(source, len(FIELDS), LEAST, progress)
    header = read_header(table.comments)
    fields = _by_title(table, where) if table.titles else dict(zip(FIELDS, table.columns, strict=True))
    submit, epoch = _on_calendar(fields["submit"], leading(header.get("UnixStartTime")))
    machine = leading(header.get("MaxProcs")) or leading(header.get("MaxNodes"))
    return Workload.build(
        id=fields.get("id"),
        submit=submit,
        runtime=fields["runtime"],
        requested_time=fields.get("requested_time"),
        nodes=fields["requested_procs"],
        used_nodes=fields.get("used_procs"),
        start=_starts(submit, fields.get("wait")),
        user=_labels(fields, "user", header),
        account=_labels(fields, "group", header),
        partition=_labels(fields, "queue", header) or _labels(fields, "partition", header),
        status=_status(fields.get("status")),
        extra=_extra(fields),
        missing_requests=missing_requests,
        strict=strict,
        epoch=epoch or 0,
        epoch_known=epoch is not None,
        capacity=capacity or machine,
        unit=unit or unit_of(header, bool(table.titles)),
        name=_name(where),
        origin=where,
        header=header,
    )


def _by_title(table: Table, where: str) -> dict[str, npt.NDArray[Any]]:
    """Name the columns of a table with titles."""
    fields: dict[str, npt.NDArray[Any]] = {}
    for title, column in zip(table.titles, table.columns, strict=True):
        fields.setdefault(TITLES.get(title, title), column)
    for name in NEEDED:
        if name not in fields:
            known = ", ".join(title for title, field in TITLES.items() if field == name)
            shown = ", ".join(table.titles[:10]) + (" ..." if len(table.titles) > 10 else "")
            raise WorkloadError(f"{where} is no SWF log, and its titles ({shown}) lack a column for {name}: {known}.")
    return fields


def _on_calendar(submit: Column, start: int | None) -> tuple[Column, int | None]:
    """Return submits since the epoch, and the epoch (None if unknown); Unix submits count from the first."""
    if np.median(submit) >= CALENDAR:
        dated = submit >= CALENDAR
        epoch = int(submit[dated].min())
        return np.where(dated, submit - epoch, MISSING), epoch
    return submit, start if start else None


def _starts(submit: Column, wait: Column | None) -> Column | None:
    if wait is None:
        return None
    return np.where(wait >= 0, np.rint(submit + wait.astype(np.float64)), UNKNOWN).astype(np.int64)


def _labels(fields: Mapping[str, Column], name: str, header: Mapping[str, str]) -> Labels | None:
    """Return the labels of a numbered column, named as in the header, or None if all are unknown."""
    column = fields.get(name)
    if column is None or column.max() < 0:
        return None
    codes, digits = Labels.encode(column, len(column))
    return Labels(codes, names_of(digits, header.get(name.capitalize(), "")))


def _status(status: Column | None) -> Column | None:
    """Return the standard's states; numbers of its dialects are unknown."""
    return None if status is None else np.where((status >= 0) & (status <= 5), status, MISSING)


def _extra(fields: Mapping[str, Column]) -> dict[str, Column]:
    """Return the fields that have no column of their own, as far as any job has them."""
    names = {name: KEPT.get(name, name) for name in fields if name in KEPT or name not in FIELDS}
    return {kept: fields[name] for name, kept in names.items() if np.any(fields[name] != MISSING)}


def _name(where: str) -> str:
    return re.sub(r"(\.swf|\.txt)?(\.gz)?$", "", where.replace("\\", "/").rsplit("/", 1)[-1])
