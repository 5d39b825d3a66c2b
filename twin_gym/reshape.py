"""New workloads from old ones: windows of time, scaled, shuffled, sampled, selected, joined."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from twin_gym.assembly import LABELS
from twin_gym.columns import Labels
from twin_gym.errors import OptionError, WorkloadError
from twin_gym.ragged import Ragged, Rows, Trace
from twin_gym.validation import UNKNOWN, Examination, Ints, distinct

if TYPE_CHECKING:
    from twin_gym.workload import Workload

PLAIN = ("id", "submit", "runtime", "requested_time", "nodes", "start", "priority", "status", "initial")


def take(workload: Workload, rows: Rows, **changes: Any) -> Workload:
    """Return the jobs of the given rows; names that no longer occur are forgotten."""
    fields: dict[str, Any] = {name: getattr(workload, name)[rows] for name in PLAIN}
    for name, labels in LABELS.items():
        fields[name], fields[labels] = Labels(getattr(workload, name), getattr(workload, labels)).take(rows)
    fields["node_ids"] = None if workload.node_ids is None else workload.node_ids.take(rows)
    fields["traces"] = {name: trace.take(rows) for name, trace in workload.traces.items()}
    fields["extra"] = {name: column[rows] for name, column in workload.extra.items()}
    return replace(workload, **(fields | changes))


def window(workload: Workload, start: int, duration: int | None, prepopulate: bool) -> Workload:
    """Cut out a stretch of time and count time from its beginning."""
    submit, recorded = workload.submit, workload.start
    known = recorded != UNKNOWN
    end = np.where(known, recorded + workload.runtime, UNKNOWN)
    first, last = int(submit[0]), max(int(submit[-1]), int(end.max()))
    stop = last + 1 if duration is None else start + duration
    if duration is not None and duration <= 0:
        raise OptionError(f"A window of {duration} s is empty; give a duration of at least 1 s.")
    if start > last or stop <= first:
        where = "beyond the end of" if start > last else "before the beginning of"
        raise WorkloadError(
            f"The window from {start} s to {stop} s lies {where} {workload.name}, which spans {first} s to {last} s."
        )

    arrives = (submit >= start) & (submit < stop)
    report = workload.report
    if prepopulate:
        earlier = submit < start
        running = earlier & known & (recorded < start) & (end > start)
        queued = earlier & known & (recorded >= start)
        seen = Examination(workload.id)
        seen.note("unknown_start", earlier & ~known, submit=submit)
        report = report + replace(seen.report(), read=0, kept=0)
    else:
        running = queued = np.zeros(len(workload), dtype=bool)
    rows = np.flatnonzero(arrives | running | queued)
    if not rows.size:
        raise WorkloadError(f"No job of {workload.name} was running, waiting or submitted from {start} s to {stop} s.")
    return _rebase(workload, rows, start, initial=running[rows], report=report)


def scale_arrivals(workload: Workload, factor: float) -> Workload:
    """Multiply the arrival rate; what was submitted before a window began stays where it is."""
    _positive("scale_arrivals", factor)
    anchor = 0 if workload.submit[0] < 0 else int(workload.submit[0])
    later = workload.submit > anchor
    moved = anchor + np.rint((workload.submit - anchor) / factor).astype(np.int64)
    return replace(workload, submit=np.where(later, moved, workload.submit), start=_only_initial(workload))


def scale_nodes(workload: Workload, factor: float, capacity: int | None) -> Workload:
    """Multiply the sizes of all jobs and of the machine."""
    _positive("scale_nodes", factor)
    if capacity is None and workload.capacity is not None:
        capacity = max(1, round(workload.capacity * factor))
    scaled = np.maximum(1.0, np.rint(workload.nodes * factor))
    # a job that fitted the machine still fits it after both were rounded
    if capacity is not None and workload.capacity is not None:
        scaled = np.where(workload.nodes <= workload.capacity, np.minimum(scaled, capacity), scaled)
    if scaled.max() > np.iinfo(np.int32).max:
        raise OptionError(f"scale_nodes={factor} makes a job of {scaled.max():.0f} nodes; the largest is 2147483647.")
    return replace(workload, nodes=scaled.astype(np.int32), capacity=capacity, node_ids=None)


def shuffle(workload: Workload, seed: int) -> Workload:
    """Permute the jobs over the submit times; jobs that run when a window begins stay."""
    slots = np.flatnonzero(~workload.initial)
    rows = np.arange(len(workload))
    rows[slots] = np.random.default_rng(seed).permutation(slots)
    return take(workload, rows, submit=workload.submit, start=_only_initial(workload))


def sample(workload: Workload, jobs: int, seed: int) -> Workload:
    """Take consecutive jobs, begun at a random one, and count time from the first submit."""
    if not 1 <= jobs <= len(workload):
        raise OptionError(f"A sample of {jobs} jobs can't be taken of {workload.name}, which has {len(workload)}.")
    first = int(np.random.default_rng(seed).integers(len(workload) - jobs + 1))
    alone = np.zeros(jobs, dtype=bool)
    return _rebase(workload, slice(first, first + jobs), int(workload.submit[first]), initial=alone)


def select(workload: Workload, mask: npt.ArrayLike) -> Workload:
    """Keep some jobs."""
    keep = np.asarray(mask)
    if keep.dtype != np.bool_ or keep.shape != (len(workload),):
        raise WorkloadError(f"A selection needs one True or False for each of the {len(workload)} jobs.")
    if not keep.any():
        raise WorkloadError(f"The selection leaves no job of {workload.name}.")
    return take(workload, np.flatnonzero(keep))


def concat(workloads: Sequence[Workload], gap: int | None) -> Workload:
    """Join workloads, one after the other or on their common calendar."""
    if not workloads:
        raise WorkloadError("There is no workload to join; give at least one.")
    first = workloads[0]
    if any(other.unit != first.unit for other in workloads):
        raise WorkloadError("Workloads that count nodes and processors can't be joined; read them with the same unit=.")
    shifts = _shifts(workloads, gap)
    submit, start = (
        np.concatenate([_moved(getattr(w, name), shift) for w, shift in zip(workloads, shifts, strict=True)])
        for name in ("submit", "start")
    )
    order = np.argsort(submit, kind="stable")
    fields: dict[str, Any] = {name: np.concatenate([getattr(w, name) for w in workloads])[order] for name in PLAIN}
    fields |= {"submit": submit[order], "start": start[order]}
    fields["initial"] &= (fields["start"] < 0) & (fields["start"] != UNKNOWN)
    seen = Examination(fields["id"])
    fields["id"] = distinct(seen, fields["id"], slice(None))
    for name, labels in LABELS.items():
        joined = Labels.join([Labels(getattr(w, name), getattr(w, labels)) for w in workloads])
        fields[name], fields[labels] = joined.codes[order], joined.names
    if any(w.node_ids is not None for w in workloads):
        fields["node_ids"] = Ragged.join([w.node_ids or Ragged.empty(len(w)) for w in workloads]).take(order)
    units = {name: trace.unit for w in workloads for name, trace in w.traces.items()}
    fields["traces"] = {
        name: Trace.join([w.traces.get(name) or Trace.unrecorded(len(w), unit) for w in workloads]).take(order)
        for name, unit in units.items()
    }
    names = dict.fromkeys(name for w in workloads for name in w.extra)
    fields["extra"] = {name: np.concatenate([_extra(w, name, workloads) for w in workloads])[order] for name in names}
    fields["capacity"] = max((w.capacity for w in workloads if w.capacity is not None), default=None)
    for name in ("name", "origin"):
        fields[name] = " + ".join(dict.fromkeys(getattr(w, name) for w in workloads))
    fields["header"] = first.header if all(w.header == first.header for w in workloads) else {}
    fields["epoch"] = first.epoch - shifts[0]
    report = sum((w.report for w in workloads[1:]), start=first.report)
    return replace(first, **fields, report=report + replace(seen.report(), read=0, kept=0))


def _shifts(workloads: Sequence[Workload], gap: int | None) -> list[int]:
    """Seconds by which the times of each workload move."""
    if gap is None:
        nameless = [w.name for w in workloads if not w.epoch_known]
        if nameless:
            raise WorkloadError(
                f"The calendar time of {nameless[0]} is unknown; give gap= to join one after the other."
            )
        base = min(w.epoch for w in workloads)
        return [w.epoch - base for w in workloads]
    if gap < 0:
        raise OptionError(f"gap={gap} must be at least 0 s (None joins on the calendar).")
    shifts = [0]
    for before, after in pairwise(workloads):
        shifts.append(int(before.submit[-1]) + shifts[-1] + gap - int(after.submit[0]))
    return shifts


def _rebase(workload: Workload, rows: Rows, start: int, **changes: Any) -> Workload:
    """Take rows and make `start` second 0; the calendar moves along."""
    return take(
        workload,
        rows,
        submit=_moved(workload.submit[rows], -start),
        start=_moved(workload.start[rows], -start),
        epoch=workload.epoch + start if workload.epoch_known else 0,
        **changes,
    )


def _moved(times: Ints, shift: int) -> Ints:
    return np.where(times == UNKNOWN, UNKNOWN, times + np.where(times == UNKNOWN, 0, shift))


def _only_initial(workload: Workload) -> Ints:
    """Recorded starts hold no longer when arrivals change, except of the jobs that already run."""
    return np.where(workload.initial, workload.start, UNKNOWN)


def _extra(workload: Workload, name: str, workloads: Sequence[Workload]) -> npt.NDArray[Any]:
    """Return a further column, or as many unknown values if this workload has none."""
    if name in workload.extra:
        return workload.extra[name]
    kind = next(w.extra[name] for w in workloads if name in w.extra).dtype
    unknown: Any = {"f": np.nan, "i": -1}.get(kind.kind, 0)
    return np.full(len(workload), unknown, dtype=kind) if kind.kind != "U" else np.zeros(len(workload), dtype=kind)


def _positive(name: str, factor: float) -> None:
    if not (math.isfinite(factor) and factor > 0):
        raise OptionError(f"{name}={factor} must be a positive number.")
