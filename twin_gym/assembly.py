"""From the columns that a loader hands over to the validated fields of a workload."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Required, TypedDict

import numpy as np
import numpy.typing as npt

from twin_gym.columns import Labels, seconds, whole
from twin_gym.errors import OptionError, WorkloadError, suggest
from twin_gym.ragged import Ragged, Trace
from twin_gym.validation import UNKNOWN, Candidates, Rules, examine, refuse

LABELS = {"user": "users", "account": "accounts", "partition": "partitions"}
"""Columns of codes, and the field that holds the names."""

OPTIONAL: dict[str, tuple[type[np.generic], Any]] = {
    "priority": (np.float64, np.nan),
    "status": (np.int8, -1),
    "initial": (np.bool_, False),
}
"""Columns that decide nothing about validity: type, and the value where nothing is known."""


class Columns(TypedDict, total=False):
    """What `twin_gym.Workload.build` takes; the meaning of each is that of the field of the class."""

    submit: Required[npt.ArrayLike]
    runtime: Required[npt.ArrayLike]
    nodes: Required[npt.ArrayLike]
    id: npt.ArrayLike | None
    requested_time: npt.ArrayLike | None
    used_nodes: npt.ArrayLike | None
    start: npt.ArrayLike | None
    user: Any
    account: Any
    partition: Any
    priority: npt.ArrayLike | None
    status: npt.ArrayLike | None
    initial: npt.ArrayLike | None
    node_ids: Ragged | None
    traces: Mapping[str, Trace] | None
    extra: Mapping[str, npt.NDArray[Any]] | None
    epoch: int
    epoch_known: bool
    capacity: int | None
    unit: str
    name: str
    origin: str
    header: Mapping[str, str]


ABOUT = ("epoch", "epoch_known", "capacity", "unit", "name", "origin", "header")


def assemble(given: Columns, missing_requests: str, strict: bool) -> dict[str, Any]:
    """Validate, repair and sort columns; return the fields of a workload.

    Raises
    ------
    WorkloadError
        If columns differ in length, hold something else than numbers, no job is left, or `strict` finds a defect.
    OptionError
        If `missing_requests` has an unknown value.
    """
    if missing_requests not in ("fallback", "drop"):
        raise OptionError(f"missing_requests='{missing_requests}' must be 'fallback' or 'drop'.")
    for name in given:
        if name not in Columns.__annotations__:
            raise WorkloadError(f"A workload has no column '{name}'.{suggest(name, Columns.__annotations__)}")
    for name in ("submit", "runtime", "nodes"):
        if given.get(name) is None:
            raise WorkloadError(f"A workload needs a column '{name}', one value per job.")
    about: dict[str, Any] = {name: value for name, value in given.items() if name in ABOUT}
    where = about.get("origin") or about.get("name", "workload")
    traces, extra, node_ids = given.get("traces") or {}, given.get("extra") or {}, given.get("node_ids")
    candidates, part_nodes, rounded = _candidates(given)
    jobs = len(candidates.submit)
    optional = {name: _optional(given.get(name), name, jobs) for name in OPTIONAL}
    labels = {name: Labels.encode(given.get(name), jobs) for name in LABELS}
    columns: dict[str, Any] = candidates._asdict() | optional | {name: label.codes for name, label in labels.items()}
    for name, column in (columns | dict(traces) | dict(extra) | {"node_ids": node_ids}).items():
        if column is not None and len(column) != jobs:
            raise WorkloadError(f"{where}: column '{name}' has {len(column)} rows where 'submit' has {jobs}.")

    rules = Rules(missing_requests, windowed=given.get("initial") is not None, capacity=given.get("capacity"))
    clean, rows, report = examine(candidates, rules, part_nodes, rounded)
    if strict:
        refuse(report, where)
    kept = {name: label.take(rows) for name, label in labels.items()}
    return {
        **{name: column for name, column in clean._asdict().items() if name != "used_nodes"},
        **{name: column[rows] for name, column in optional.items()},
        **{name: label.codes for name, label in kept.items()},
        **{LABELS[name]: label.names for name, label in kept.items()},
        "node_ids": None if node_ids is None else node_ids.take(rows),
        "traces": {name: trace.take(rows) for name, trace in traces.items()},
        "extra": {name: column[rows] for name, column in extra.items()},
        "report": report,
        "epoch_known": about.get("epoch", 0) != 0,
        **about,
    }


def _candidates(
    given: Columns,
) -> tuple[Candidates, npt.NDArray[np.bool_] | None, npt.NDArray[np.bool_] | None]:
    """Return the decisive columns as int64, the rows whose nodes have a fraction, and those with such a time."""
    times = {
        "submit": whole(given["submit"], "submit"),
        "runtime": seconds(given["runtime"], "runtime"),
        "requested_time": seconds(given.get("requested_time"), "requested_time"),
        "start": whole(given.get("start"), "start"),
    }
    nodes = whole(given["nodes"], "nodes")
    jobs = len(times["submit"].values)
    unknown = np.broadcast_to(np.int64(UNKNOWN), (jobs,))
    columns = {name: column.values if given.get(name) is not None else unknown for name, column in times.items()}
    fractions = [column.fractional for column in times.values() if column.fractional is not None]
    candidates = Candidates(
        id=np.arange(1, jobs + 1) if given.get("id") is None else whole(given["id"], "id").values,
        nodes=nodes.values,
        used_nodes=None if given.get("used_nodes") is None else whole(given["used_nodes"], "used_nodes").values,
        **columns,
    )
    same = len({len(fraction) for fraction in fractions} | {jobs}) == 1
    return candidates, nodes.fractional, np.logical_or.reduce(fractions) if fractions and same else None


def _optional(values: Any, name: str, jobs: int) -> npt.NDArray[Any]:
    dtype, unknown = OPTIONAL[name]
    if values is None:
        return np.full(jobs, unknown, dtype=dtype)
    try:
        return np.asarray(values).astype(dtype)
    except (TypeError, ValueError) as error:
        raise WorkloadError(f"Column '{name}' holds values that are no {dtype.__name__}: {error}.") from error
