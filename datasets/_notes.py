"""What a loader finds in foreign rows before they become a workload: counts and examples, nothing silent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from twin_gym.validation import FOREIGN, Examination, Finding, Report
from twin_gym.workload import Workload

from ._dates import Dates

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class Notes:
    """Notes on the R rows of a foreign table.

    Attributes
    ----------
    kept : ndarray of bool, shape (R,)
        Rows that weren't left out.
    """

    def __init__(self, ids: Ints, where: str) -> None:
        """Take the job numbers, for examples, and what messages call the source."""
        self.where = where
        self._seen = Examination(ids)
        self._counted: dict[str, Finding] = {}

    @property
    def kept(self) -> Flags:
        """Rows that weren't left out."""
        return self._seen.keep

    def drop(self, defect: str, rows: Flags, **columns: npt.NDArray[Any]) -> None:
        """Leave out rows, those apart that are left out already."""
        self._seen.drop(_known(defect), rows, **columns)

    def note(self, defect: str, rows: Flags, **columns: npt.NDArray[Any]) -> None:
        """Count rows that are kept, changed or as they are (the defect says which)."""
        self._seen.note(_known(defect), rows & self._seen.keep, **columns)

    def tally(self, defect: str, counts: Ints, name: str) -> None:
        """Count rows with samples of some kind; the first example tells how many samples that are in all."""
        self.note(defect, counts > 0, **{name: counts})
        if defect in self._seen.found:
            found = self._seen.found[defect]
            total = f"{int(counts[self._seen.keep].sum()):,} {name} in all"
            self._seen.found[defect] = replace(found, examples=(f"{total}; {found.examples[0]}", *found.examples[1:]))

    def count(self, defect: str, count: int, *examples: str) -> None:
        """Count something else than rows, such as samples."""
        if count:
            self._counted[_known(defect)] = Finding(defect, count, examples)

    def dates(self, dates: Dates) -> Ints:
        """Return Unix seconds and count what is no date."""
        self.note("no_date", dates.wrong)
        return dates.seconds

    def report(self) -> Report:
        """Return what was found so far; `read` and `kept` count only rows left out here."""
        found = self._seen.found | self._counted
        dropped = int(np.count_nonzero(~self._seen.keep))
        dropped += sum(finding.count for finding in self._counted.values() if finding.action == "dropped")
        return Report(dropped, 0, tuple(found[defect] for defect in FOREIGN if defect in found))

    def onto(self, workload: Workload) -> Workload:
        """Return the workload with these notes in its report."""
        return replace(workload, report=self.report() + workload.report)


def _known(defect: str) -> str:
    """Return a name of `FOREIGN`; one that isn't there would never be reported."""
    if defect not in FOREIGN:
        raise KeyError(f"'{defect}' stands in no table of defects.")
    return defect
