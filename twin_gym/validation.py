"""What can be wrong with a job, what is done about it, and the report that says how often it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from twin_gym.errors import WorkloadError, suggest

Mask: TypeAlias = npt.NDArray[np.bool_]
Ints: TypeAlias = npt.NDArray[np.int64]

UNKNOWN = int(np.iinfo(np.int64).min)
"""Stands for "not recorded" in every int64 column."""

LONGEST = 10**15
"""Largest time or number accepted, so that sums of int64 seconds never overflow (30 million years)."""

EXAMPLES = 3


class Defect(NamedTuple):
    """One kind of defect: what it means and what is done about it (``dropped``, ``repaired`` or ``kept``)."""

    meaning: str
    action: str
    remedy: str


FOREIGN: dict[str, Defect] = {
    "no_date": Defect("holds something that is no date", "repaired", "taken as not recorded"),
    "repeated_row": Defect("the same job stands again further down", "dropped", "the last row counts"),
    "malformed_row": Defect("row that doesn't fit the line of titles", "dropped", "left out"),
    "split_row": Defect("delimiter inside a text", "repaired", "the only way to join the pieces is taken"),
    "unfinished": Defect("still waiting or running when the log was written", "dropped", "left out"),
    "shared_nodes": Defect("may share its nodes with other jobs", "dropped", "left out; keep_shared=true keeps it"),
    "no_attempt": Defect("never tried", "dropped", "left out"),
    "left_out": Defect("not asked for", "dropped", "left out by an option of the loader"),
    "runtime_differs": Defect("recorded runtime isn't end - start", "repaired", "end - start is taken"),
    "no_descriptor": Defect("descriptor without a number of nodes", "repaired", "the allocated nodes are taken"),
    "node_list": Defect("recorded nodes don't fit the job or the machine", "repaired", "its node list is forgotten"),
    "unequal_arrays": Defect("arrays of one job differ in length", "repaired", "cut to the shortest"),
    "negative_counter": Defect("negative power, energy or counter", "repaired", "taken as 0"),
    "gap": Defect("samples missing", "repaired", "taken as the sample before them"),
    "clipped": Defect("samples of utilisation outside 0 to 1", "repaired", "cut to that range"),
    "no_samples": Defect("nothing was metered", "kept", "kept without traces"),
    "few_nodes": Defect("not all nodes of the job were metered", "kept", "the mean of those that were stands for all"),
    "step": Defect("step of a job", "kept", "not a job of its own, not read"),
    "sample_outside": Defect("sample from before or after its job", "kept", "not used"),
    "other_event": Defect("line that tells of something else than a job's end", "kept", "not used"),
    "orphan": Defect("row of a table that belongs to no job", "kept", "not used"),
}
"""Defects of foreign rows that a loader finds before they are jobs."""

DEFECTS: dict[str, Defect] = {
    "no_submit": Defect("submit time missing or negative", "dropped", "the job is left out"),
    "never_ran": Defect("runtime missing, zero or negative", "dropped", "the job is left out"),
    "no_nodes": Defect("neither requested nor used nodes are positive", "dropped", "the job is left out"),
    "part_nodes": Defect("number of nodes isn't whole", "dropped", "the job is left out"),
    "out_of_range": Defect("a time or number too large to be true", "dropped", "the job is left out"),
    "missing_request": Defect("nodes or walltime not requested", "dropped", "left out by missing_requests=drop"),
    "no_requested_nodes": Defect("no nodes requested", "repaired", "the nodes used are taken as requested"),
    "no_requested_time": Defect("no walltime requested", "repaired", "the runtime is taken as requested"),
    "rounded": Defect("a time with a fraction of a second", "repaired", "rounded to the nearest second"),
    "no_id": Defect("job number missing", "repaired", "numbered after the largest job number"),
    "duplicate_id": Defect("job number used before", "repaired", "numbered after the largest job number"),
    "unsorted": Defect("submitted before the job in the row above", "repaired", "sorted by submit time, ties stay"),
    "start_before_submit": Defect("started before it was submitted", "repaired", "the recorded start is forgotten"),
    "over_limit": Defect("ran longer than requested", "kept", "kept as recorded"),
    "over_capacity": Defect("larger than the machine", "kept", "kept; the twin refuses it at admission and counts it"),
    "unknown_start": Defect(
        "submitted before the window, start not recorded", "dropped", "left out: it can't be told whether it still ran"
    ),
}
"""Every defect of a job by name, in the order in which it is examined; it is dropped for the first that applies."""

ALL = FOREIGN | DEFECTS


@dataclass(frozen=True)
class Finding:
    """One defect of a workload: how many jobs have it, what was done, and up to three examples."""

    defect: str
    count: int
    examples: tuple[str, ...] = ()

    @property
    def action(self) -> str:
        """``dropped``, ``repaired`` or ``kept``."""
        return ALL[self.defect].action

    def __str__(self) -> str:
        entry = ALL[self.defect]
        examples = f" [{'; '.join(self.examples)}{' ...' if self.count > len(self.examples) else ''}]"
        return f"{self.count:,} x {self.defect} ({entry.meaning}): {entry.remedy}{examples if self.examples else ''}"


@dataclass(frozen=True)
class Report:
    """What validation found in a workload.

    Attributes
    ----------
    read : int
        Jobs handed over.
    kept : int
        Jobs left after validation.
    findings : tuple of Finding
        Defects that occurred, in the order of `FOREIGN` and `DEFECTS`.
    """

    read: int = 0
    kept: int = 0
    findings: tuple[Finding, ...] = ()

    @property
    def dropped(self) -> int:
        """Jobs left out."""
        return self.read - self.kept

    def count(self, defect: str) -> int:
        """Return how many jobs have a defect (0 if it didn't occur).

        Raises
        ------
        KeyError
            If there is no such defect in `DEFECTS` or `FOREIGN`.
        """
        if defect not in ALL:
            raise KeyError(f"'{defect}' is no defect.{suggest(defect, ALL)}")
        return self.counts().get(defect, 0)

    def counts(self) -> dict[str, int]:
        """Return the defects that occurred with their counts."""
        return {finding.defect: finding.count for finding in self.findings}

    @property
    def lines(self) -> list[str]:
        """The report, line by line."""
        total = f"{self.read:,} jobs read, {self.kept:,} kept, {self.dropped:,} dropped"
        return [total, *map(str, self.findings)]

    def __str__(self) -> str:
        return "\n  ".join(self.lines)

    def __add__(self, other: Report) -> Report:
        """Add the counts of two reports."""
        findings = []
        for defect in ALL:
            same = [finding for finding in (*self.findings, *other.findings) if finding.defect == defect]
            if same:
                examples = tuple(example for finding in same for example in finding.examples)[:EXAMPLES]
                findings.append(Finding(defect, sum(finding.count for finding in same), examples))
        return Report(self.read + other.read, self.kept + other.kept, tuple(findings))

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data."""
        found = [{"defect": f.defect, "count": f.count, "examples": list(f.examples)} for f in self.findings]
        return {"read": self.read, "kept": self.kept, "findings": found}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Report:
        """Read what `to_dict` wrote."""
        found = tuple(Finding(f["defect"], f["count"], tuple(f["examples"])) for f in data["findings"])
        return cls(data["read"], data["kept"], found)


class Candidates(NamedTuple):
    """The decisive columns as they were handed over, int64 of shape (J,); UNKNOWN where nothing is recorded."""

    id: Ints
    submit: Ints
    runtime: Ints
    requested_time: Ints
    nodes: Ints
    used_nodes: Ints | None
    start: Ints


class Rules(NamedTuple):
    """What the caller allows."""

    missing_requests: str = "fallback"
    windowed: bool = False  # jobs of a window may have been submitted before time 0
    capacity: int | None = None


@dataclass
class Examination:
    """One pass of validation over J rows: which are kept so far and what was found."""

    ids: Ints
    keep: Mask = field(init=False)
    found: dict[str, Finding] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.keep = np.ones(len(self.ids), dtype=bool)

    def note(self, defect: str, rows: Mask, **columns: Ints) -> None:
        """Count the rows that have a defect, with examples that show the given columns."""
        count = int(np.count_nonzero(rows))
        if not count:
            return
        examples = []
        for row in np.flatnonzero(rows)[:EXAMPLES]:
            shown = ", ".join(f"{name}={_number(column[row])}" for name, column in columns.items())
            examples.append(f"job {_number(self.ids[row])} (row {row + 1}){': ' if shown else ''}{shown}")
        self.found[defect] = Finding(defect, count, tuple(examples))

    def drop(self, defect: str, rows: Mask, **columns: Ints) -> None:
        """Leave out rows, except those that are left out already for another reason."""
        rows = rows & self.keep
        self.note(defect, rows, **columns)
        self.keep &= ~rows

    def repair(self, defect: str, rows: Mask, **columns: Ints) -> Mask:
        """Count rows that are kept but changed; return which."""
        rows = rows & self.keep
        self.note(defect, rows, **columns)
        return rows

    def report(self) -> Report:
        """Return what was found."""
        findings = tuple(self.found[defect] for defect in DEFECTS if defect in self.found)
        return Report(len(self.ids), int(np.count_nonzero(self.keep)), findings)


def examine(
    jobs: Candidates, rules: Rules, part_nodes: Mask | None = None, rounded: Mask | None = None
) -> tuple[Candidates, Ints | slice, Report]:
    """Drop, repair and sort jobs as `DEFECTS` says.

    Parameters
    ----------
    jobs : Candidates
        The jobs in the order of their source.
    rules : Rules
        What to do without a request, whether submits may be negative, the machine's size.
    part_nodes, rounded : ndarray of bool, optional
        Rows whose nodes aren't whole; rows with a time that had to be rounded.

    Returns
    -------
    Candidates
        The jobs kept, by submit time.
    ndarray of int64 or slice
        Their rows in the source.
    Report
        What was found.
    """
    ids, submit, runtime, requested_time, nodes, used, start = jobs
    seen = Examination(ids)
    known = submit != UNKNOWN
    seen.drop("no_submit", ~known if rules.windowed else submit < 0, submit=submit)
    seen.drop("never_ran", runtime <= 0, runtime=runtime)
    if part_nodes is not None:
        seen.drop("part_nodes", part_nodes, nodes=nodes)
    large = (np.abs(submit) > LONGEST) | (runtime > LONGEST) | (requested_time > LONGEST)
    large |= nodes > np.iinfo(np.int32).max
    seen.drop("out_of_range", large, submit=submit, runtime=runtime, nodes=nodes)

    lacking = nodes <= 0
    if rules.missing_requests == "drop":
        requestless = lacking | (requested_time <= 0) if used is not None else requested_time <= 0
        seen.drop("missing_request", requestless, nodes=nodes, requested_time=requested_time)
    elif used is not None:
        fill = seen.repair("no_requested_nodes", lacking & (used > 0), used=used)
        nodes = np.where(fill, used, nodes)
    seen.drop("no_nodes", nodes <= 0, nodes=nodes)
    fill = seen.repair("no_requested_time", requested_time <= 0, requested_time=requested_time, runtime=runtime)
    requested_time = np.where(fill, runtime, requested_time)
    if rounded is not None:
        seen.repair("rounded", rounded, submit=submit, runtime=runtime)

    early = seen.repair("start_before_submit", (start != UNKNOWN) & (start < submit), start=start, submit=submit)
    start = np.where(early, UNKNOWN, start)
    seen.repair("over_limit", runtime > requested_time, runtime=runtime, requested_time=requested_time)
    if rules.capacity is not None:
        seen.repair("over_capacity", nodes > rules.capacity, nodes=nodes)

    rows: Ints | slice = slice(None) if seen.keep.all() else np.flatnonzero(seen.keep)
    descents = np.zeros(len(submit), dtype=bool)
    kept = submit[rows]
    descents[rows] = np.concatenate([[False], kept[1:] < kept[:-1]]) if len(kept) else False
    if seen.repair("unsorted", descents, submit=submit).any():
        order = np.argsort(kept, kind="stable")
        rows = order if isinstance(rows, slice) else rows[order]
    ids = distinct(seen, ids, rows)
    columns = (ids, submit, runtime, requested_time, nodes, nodes, start)
    clean = Candidates(*(column[rows] for column in columns))
    return clean._replace(used_nodes=None), rows, seen.report()


def refuse(report: Report, origin: str) -> None:
    """Raise if anything had to be dropped or repaired (``strict=True``).

    Raises
    ------
    WorkloadError
        With the whole report.
    """
    bad = [finding for finding in report.findings if finding.action != "kept"]
    if bad:
        raise WorkloadError(f"{origin} has defects and strict=True accepts none: {'; '.join(map(str, bad))}.")


def distinct(seen: Examination, ids: Ints, rows: Ints | slice) -> Ints:
    """Give jobs without a number of their own a new one; the first job in submit order keeps a contested number."""
    kept = ids[rows]
    if np.all(kept[:1] != UNKNOWN) and np.all(kept[1:] > kept[:-1]):  # nearly every log: no hashing needed
        return ids
    nameless = np.zeros(len(ids), dtype=bool)
    nameless[rows] = kept == UNKNOWN
    twice = np.zeros(len(ids), dtype=bool)
    twice[rows] = pd.Series(kept).duplicated().to_numpy() & (kept != UNKNOWN)
    seen.repair("no_id", nameless, id=ids)
    seen.repair("duplicate_id", twice, id=ids)
    anew = np.zeros(len(ids), dtype=bool)
    anew[rows] = (nameless | twice)[rows]
    fresh = ids.copy()
    order = np.arange(len(ids))[rows]
    order = order[anew[order]]
    fresh[order] = max(int(kept.max()), 0) + 1 + np.arange(len(order))
    return fresh


def _number(value: Any) -> str:
    return "unknown" if value == UNKNOWN else str(value)
