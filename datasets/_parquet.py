"""Parquet files as one table of jobs: only the columns asked for, only the row groups that hold wanted rows."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from twin_gym.errors import WorkloadError, suggest

from ._text import Progress
from ._window import Span

Paths: TypeAlias = str | PathLike[str] | Sequence[str | PathLike[str]]
Ints = npt.NDArray[np.int64]

BATCH = 4096
"""Rows decoded at a time where they hold long lists."""


class Batch(NamedTuple):
    """Some of the wanted rows: their columns, and which of the wanted rows they are."""

    columns: pa.RecordBatch
    at: slice


@dataclass(frozen=True)
class ParquetSet:
    """Parquet files that together hold one table, in the order of their names.

    Attributes
    ----------
    files : tuple of Path
        At least one.
    """

    files: tuple[Path, ...]

    @classmethod
    def open(cls, path: Paths) -> ParquetSet:
        """Find the files of a path: one file, all ``*.parquet`` of a folder (and those below), a pattern, or a list.

        Raises
        ------
        WorkloadError
            If there is none.
        """
        if not isinstance(path, str | PathLike):
            parts = [file for part in path for file in cls.open(part).files]
            if not parts:
                raise WorkloadError("The list of Parquet files is empty; name at least one.")
            return cls(tuple(parts))
        given = Path(path)
        if given.is_file():
            return cls((given,))
        if given.is_dir():
            found = sorted(given.rglob("*.parquet"))
            if not found:
                raise WorkloadError(f"{given} holds no .parquet file; check the path.")
            return cls(tuple(found))
        if glob.has_magic(str(path)):
            found = sorted(map(Path, glob.glob(str(path), recursive=True)))
            if not found:
                raise WorkloadError(f"No file matches {path}; check the pattern.")
            return cls(tuple(found))
        raise WorkloadError(f"{given} does not exist; check the path.")

    @property
    def label(self) -> str:
        """What messages call the files."""
        more = len(self.files) - 1
        return f"{self.files[0]}{f' and {more} more' if more else ''}"

    def require(self, columns: Sequence[str], what: str) -> set[str]:
        """Check that every file has the given columns; return the columns that all files have.

        Raises
        ------
        WorkloadError
            Naming the file, what is missing, and the nearest name that is there.
        """
        common: set[str] | None = None
        for path in self.files:
            names = set(_file(path).schema_arrow.names)
            for column in columns:
                if column not in names:
                    raise WorkloadError(
                        f"{path} has no column '{column}', which {what} has; is it another data set?"
                        f"{suggest(column, sorted(names))}"
                    )
            common = names if common is None else common & names
        return common or set()

    def rows(
        self, columns: Sequence[str], span: Span | None, dates: tuple[str, str], progress: Progress | None = None
    ) -> tuple[pa.Table, Ints]:
        """Read some columns of the rows that may belong to a stretch of time.

        Row groups whose statistics tell that all their jobs ended before it began, or were submitted after it ended,
        are not read.

        Parameters
        ----------
        columns : sequence of str
            Which.
        span : Span or None
            The stretch; None: all rows.
        dates : (str, str)
            Columns of submit and end.
        progress : callable, optional
            Called with the number of files read, and of all.

        Returns
        -------
        table : pyarrow.Table
            The rows.
        rows : ndarray of int64
            Their numbers, counted through all files.

        Raises
        ------
        WorkloadError
            If a file is damaged, types don't go together, or no row is left.
        """
        tables, rows, first = [], [np.empty(0, dtype=np.int64)], 0
        for done, path in enumerate(self.files, 1):
            file = _file(path)
            groups = []
            for k in range(file.metadata.num_row_groups):
                group = file.metadata.row_group(k)
                if span is None or _overlaps(group, span, dates):
                    groups.append(k)
                    rows.append(np.arange(first, first + group.num_rows))
                first += group.num_rows
            try:
                tables.append(file.read_row_groups(groups, columns=list(columns)))
            except (pa.ArrowException, OSError) as error:
                raise WorkloadError(f"{path} is damaged: {_first_line(error)}; fetch it again.") from error
            if progress is not None:
                progress(done, len(self.files))
        table = self._joined(tables)
        if not len(table):
            if span is None or not first:
                raise WorkloadError(f"{self.label} holds no row; check that it was fetched completely.")
            raise WorkloadError(f"{self.label} holds no job in the window; see window=.")
        return table, np.concatenate(rows)

    def groups(
        self, columns: Sequence[str], span: Span | None, dates: tuple[str, str], progress: Progress | None = None
    ) -> Iterator[pa.Table]:
        """Read some columns row group by row group; parameters and errors as in `rows`."""
        files = [_file(path) for path in self.files]
        total = sum(file.metadata.num_row_groups for file in files)
        done = 0
        for path, file in zip(self.files, files, strict=True):
            for k in range(file.metadata.num_row_groups):
                if span is None or _overlaps(file.metadata.row_group(k), span, dates):
                    try:
                        yield file.read_row_group(k, columns=list(columns))
                    except (pa.ArrowException, OSError) as error:
                        raise WorkloadError(f"{path} is damaged: {_first_line(error)}; fetch it again.") from error
                done += 1
                if progress is not None:
                    progress(done, total)

    def _joined(self, tables: list[pa.Table]) -> pa.Table:
        try:
            return pa.concat_tables(tables, promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise WorkloadError(f"{self.label}: a column has different types in them: {_first_line(error)}.") from error

    def batches(self, columns: Sequence[str], rows: Ints) -> Iterator[Batch]:
        """Read columns with long lists, a few thousand wanted rows at a time.

        Parameters
        ----------
        columns : sequence of str
            Which.
        rows : ndarray of int64
            Rows wanted, counted through all files, ascending. Row groups without any are not read.

        Yields
        ------
        Batch
            In the order of `rows`; together they hold each of them once.

        Raises
        ------
        WorkloadError
            If a file is damaged.
        """
        first = done = 0
        for path in self.files:
            file = _file(path)
            sizes = [file.metadata.row_group(k).num_rows for k in range(file.metadata.num_row_groups)]
            bounds = first + np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
            places = np.searchsorted(rows, bounds)
            groups = [k for k in range(len(sizes)) if places[k + 1] > places[k]]
            try:
                for group in groups:
                    row = int(bounds[group])
                    last = int(rows[places[group + 1] - 1])
                    for batch in file.iter_batches(BATCH, [group], columns=list(columns)):
                        lo, hi = np.searchsorted(rows, [row, row + len(batch)])
                        if hi > lo:
                            some = batch
                            if hi - lo < len(batch):
                                some = batch.take(pa.array(rows[lo:hi] - row))
                            yield Batch(some, slice(done, done + int(hi - lo)))
                            done += int(hi - lo)
                        row += len(batch)
                        if row > last:
                            break
            except (pa.ArrowException, OSError) as error:
                raise WorkloadError(f"{path} is damaged: {_first_line(error)}; fetch it again.") from error
            first = int(bounds[-1])


DAY = 86_400
"""Local times may be so far from UTC, or nearly."""


def _overlaps(group: pq.RowGroupMetaData, span: Span, dates: tuple[str, str]) -> bool:
    """Tell whether a row group may hold jobs of a stretch of time; without statistics it may."""
    submit, end = dates
    for k in range(group.num_columns):
        column = group.column(k)
        known = column.statistics if column.path_in_schema in dates and column.is_stats_set else None
        if known is None or not known.has_min_max:
            continue
        if column.path_in_schema == submit and isinstance(known.min, datetime) and _unix(known.min, -DAY) >= span.end:
            return False
        # a job without an end may still run: it has no place in the statistics
        whole = known.has_null_count and known.null_count == 0
        ended = column.path_in_schema == end and whole and isinstance(known.max, datetime)
        if ended and _unix(known.max, DAY) <= span.begin:
            return False
    return True


def _unix(moment: datetime, zone: int) -> float:
    """Return Unix seconds; of a local time the extreme, as its zone is unknown here."""
    return moment.timestamp() if moment.tzinfo else moment.replace(tzinfo=UTC).timestamp() + zone


def _file(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path)
    except FileNotFoundError as error:
        raise WorkloadError(f"{path} does not exist; check the path.") from error
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise WorkloadError(f"{path} is no Parquet file or is damaged: {_first_line(error)}.") from error
    except OSError as error:
        raise WorkloadError(f"{path} can't be read: {error.strerror or _first_line(error)}.") from error


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0].rstrip(".")
