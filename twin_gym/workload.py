"""The job table: what was submitted, when, how large, how long, by whom; as arrays that many twins may share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from os import PathLike
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import numpy.typing as npt

from twin_gym import frames, reshape, workload_io
from twin_gym.assembly import LABELS, Columns, assemble
from twin_gym.errors import OptionError, WorkloadError
from twin_gym.ragged import Ragged, Trace
from twin_gym.validation import UNKNOWN, Report

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TRACES", "UNITS", "UNKNOWN", "Ragged", "Status", "Trace", "Workload"]

TRACES = ("cpu", "gpu", "node_power", "network_tx", "network_rx")
"""Names a trace may have."""

UNITS = ("node", "processor")


class Status(IntEnum):
    """How a job ended, as recorded; 0 to 5 are the numbers of the Standard Workload Format."""

    UNKNOWN = -1
    FAILED = 0
    COMPLETED = 1
    PARTIAL = 2  # a part of a job that went on later
    PARTIAL_COMPLETED = 3  # its last part
    PARTIAL_FAILED = 4
    CANCELLED = 5
    TIMEOUT = 6
    NODE_FAIL = 7
    OUT_OF_MEMORY = 8


COLUMNS: dict[str, type[np.generic]] = {
    "id": np.int64,
    "submit": np.int64,
    "runtime": np.int64,
    "requested_time": np.int64,
    "nodes": np.int32,
    "start": np.int64,
    "user": np.int32,
    "account": np.int32,
    "partition": np.int32,
    "priority": np.float64,
    "status": np.int8,
    "initial": np.bool_,
}
"""The columns that every workload has, with their types."""


@dataclass(frozen=True, eq=False)
class Workload:
    """Jobs in submit order (ties in the order of their source); at least one.

    Made by `from_frame`, `build`, `load` or a loader of `twin_gym.datasets`. Arrays are read-only, of shape (J,).

    Attributes
    ----------
    id : int64
        Unique job number.
    submit : int64
        Submit time, s since `epoch`; negative only for jobs of a window that were submitted before it began.
    runtime : int64
        Recorded runtime, s, > 0.
    requested_time : int64
        Requested walltime, s, > 0.
    nodes : int32
        Requested nodes or processors (see `unit`), > 0.
    start : int64
        Recorded start, s since `epoch`, or `UNKNOWN`.
    user, account, partition : int32
        Codes into `users`, `accounts`, `partitions`; -1 where unknown.
    priority : float64
        Recorded priority; NaN where unknown.
    status : int8
        Recorded final `Status`.
    initial : bool
        Whether the job was running when this window of a log began.
    users, accounts, partitions : tuple of str
        Names.
    node_ids : Ragged of int32 or None
        Recorded node numbers of every job (no values where not recorded).
    traces : mapping of str to Trace
        Recorded utilisation, power and traffic, under the names in `TRACES`.
    extra : mapping of str to ndarray
        Further columns of the source, kept.
    epoch : int
        Unix time of second 0; 0 if `epoch_known` is False.
    epoch_known : bool
        Whether the source told its calendar time.
    capacity : int or None
        Size of the machine, in `unit`, as told by the source.
    unit : str
        What `nodes` counts: ``"node"`` or ``"processor"``.
    name, origin : str
        Short name; where the jobs came from.
    header : mapping of str to str
        Header of the source, kept.
    report : Report
        What validation found, repaired and dropped.

    Raises
    ------
    WorkloadError
        If the arrays don't fit together.
    """

    id: npt.NDArray[np.int64]
    submit: npt.NDArray[np.int64]
    runtime: npt.NDArray[np.int64]
    requested_time: npt.NDArray[np.int64]
    nodes: npt.NDArray[np.int32]
    start: npt.NDArray[np.int64]
    user: npt.NDArray[np.int32]
    account: npt.NDArray[np.int32]
    partition: npt.NDArray[np.int32]
    priority: npt.NDArray[np.float64]
    status: npt.NDArray[np.int8]
    initial: npt.NDArray[np.bool_]
    users: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    node_ids: Ragged | None = None
    traces: Mapping[str, Trace] = field(default_factory=dict)
    extra: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    epoch: int = 0
    epoch_known: bool = False
    capacity: int | None = None
    unit: str = "node"
    name: str = "workload"
    origin: str = ""
    header: Mapping[str, str] = field(default_factory=dict)
    report: Report = field(default_factory=Report)

    def __post_init__(self) -> None:
        jobs = len(self.id)
        where = self.origin or self.name
        if jobs == 0:
            raise WorkloadError(f"{where} holds no job that can run: {', '.join(self.report.lines)}.")
        for name, dtype in COLUMNS.items():
            self._seal(name, np.ascontiguousarray(getattr(self, name), dtype=dtype), jobs)
        for name in LABELS:
            codes, names = getattr(self, name), getattr(self, LABELS[name])
            if codes.min() < -1 or codes.max() >= len(names):
                raise WorkloadError(f"{where}: column '{name}' has codes outside -1 to {len(names) - 1}.")
            if len(set(names)) < len(names):
                raise WorkloadError(f"{where}: a name occurs twice in '{LABELS[name]}'; one name is one {name}.")
        if self.runtime.min() <= 0 or self.requested_time.min() <= 0 or self.nodes.min() <= 0:
            raise WorkloadError(f"{where}: runtimes, requested times and nodes must be positive.")
        if np.any(self.submit[1:] < self.submit[:-1]):
            raise WorkloadError(f"{where}: jobs aren't in submit order.")
        for ragged in (self.node_ids, *self.traces.values()):
            if ragged is not None and len(ragged) != jobs:
                raise WorkloadError(f"{where}: a ragged column has {len(ragged)} rows for {jobs} jobs.")
        for name in self.traces:
            if name not in TRACES:
                raise WorkloadError(f"{where}: '{name}' is no trace; choose from {', '.join(TRACES)}.")
        for name in self.extra:
            if name in COLUMNS:
                raise WorkloadError(f"{where}: '{name}' is a column of its own; give the further column another name.")
        object.__setattr__(self, "extra", {name: _column(name, self.extra[name], jobs) for name in self.extra})
        object.__setattr__(self, "epoch", int(self.epoch))  # NumPy's scalars have no JSON
        object.__setattr__(self, "epoch_known", bool(self.epoch_known))
        object.__setattr__(self, "capacity", None if self.capacity is None else int(self.capacity))
        if self.unit not in UNITS:
            raise OptionError(f"unit='{self.unit}' must be one of {' or '.join(UNITS)}.")
        if self.capacity is not None and self.capacity <= 0:
            raise OptionError(f"capacity={self.capacity} must be a positive number of {self.unit}s, or None.")

    def _seal(self, name: str, array: npt.NDArray[Any], jobs: int) -> None:
        object.__setattr__(self, name, _column(name, array, jobs))

    @classmethod
    def build(cls, *, missing_requests: str = "fallback", strict: bool = False, **columns: Unpack[Columns]) -> Workload:
        """Validate columns and make a workload of them: the way that every loader takes.

        Parameters
        ----------
        missing_requests : {"fallback", "drop"}
            Without a requested walltime take the runtime (and without requested nodes `used_nodes`), or drop the job.
        strict : bool
            Raise if any job has to be repaired or dropped.
        submit, runtime, nodes : array-like, shape (J,)
            Required; in any order of rows. Times in seconds since `epoch`, runtimes also as timedeltas; missing values
            as NaN, None, pandas.NA or `UNKNOWN`.
        id, requested_time, start, priority, status, initial : array-like, optional
            As in the class. Without `id`, jobs are numbered from 1. `initial` allows negative submits.
        used_nodes : array-like, optional
            What a job was given, for jobs without requested nodes.
        user, account, partition : array-like of str or int, pandas categories or Labels, optional
            Names.
        node_ids, traces, extra, epoch, epoch_known, capacity, unit, name, origin, header : optional
            As in the class. An epoch other than 0 is known unless said otherwise.

        Raises
        ------
        WorkloadError
            If columns differ in length, hold something else than numbers, no job is left, or `strict` finds a defect.
        OptionError
            If an option has an unknown value.
        """
        return cls(**assemble(columns, missing_requests, strict))

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        *,
        epoch: int | None = None,
        capacity: int | None = None,
        unit: str = "node",
        name: str = "workload",
        missing_requests: str = "fallback",
        strict: bool = False,
    ) -> Workload:
        """Make a workload of a table with one row per job.

        Parameters
        ----------
        frame : pandas.DataFrame
            Columns ``submit``, ``nodes`` and ``runtime`` (or ``start`` and ``end``); if there are ``id``,
            ``requested_time``, ``used_nodes``, ``start``, ``user``, ``account``, ``partition``, ``priority``,
            ``status`` (numbers or names of `Status`), ``initial``; all others are kept in `extra`. Times in seconds
            since `epoch`, or dates (those without a time zone are taken as UTC); durations in seconds or timedeltas.
        epoch : int, optional
            Unix time of second 0. Default: the first submit if submits are dates, else unknown.
        capacity : int, optional
            Size of the machine.
        unit, name, missing_requests, strict
            As in `build`.

        Raises
        ------
        WorkloadError
            If a column is missing or wrong, no job is left, or `strict` finds a defect.
        """
        columns = frames.columns(frame, epoch)
        columns |= {"capacity": capacity, "unit": unit, "name": name}
        return cls.build(missing_requests=missing_requests, strict=strict, **columns)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per job; unknown starts and ends are ``<NA>``, names are categories."""
        return frames.frame(self)

    def __len__(self) -> int:
        return len(self.id)

    def __repr__(self) -> str:
        size = "" if self.capacity is None else f" on {self.capacity:,} {self.unit}s"
        return f"<Workload {self.name}: {len(self):,} jobs{size}, {self.span / 86400:.1f} days of submits>"

    @property
    def end(self) -> npt.NDArray[np.int64]:
        """Recorded end of every job, s since `epoch`, or `UNKNOWN`."""
        return np.where(self.start == UNKNOWN, UNKNOWN, self.start + self.runtime)

    @property
    def span(self) -> int:
        """Seconds from the first submit to the last."""
        return int(self.submit[-1] - self.submit[0])

    def offered_load(self, capacity: int | None = None) -> float:
        """Return the offered load: node-seconds of all jobs per node-second offered between first and last submit.

        Parameters
        ----------
        capacity : int, optional
            Size of the machine; default: what the source said.

        Raises
        ------
        WorkloadError
            If no capacity is known or all jobs were submitted at once.
        """
        size = self.capacity if capacity is None else capacity
        if size is None or size <= 0:
            raise WorkloadError(f"The load of {self.name} needs the machine's size; pass capacity=.")
        if self.span == 0:
            raise WorkloadError(
                f"All jobs of {self.name} were submitted at once; an offered load needs a span of time."
            )
        return float(np.dot(self.nodes.astype(np.float64), self.runtime.astype(np.float64)) / (size * float(self.span)))

    def fingerprint(self) -> str:
        """Return the SHA-256 (hex) of columns, names, traces, epoch, unit and capacity.

        Name, origin, header and report don't count: equal jobs from two files have one fingerprint.
        """
        return workload_io.fingerprint(self)

    def save(self, path: str | PathLike[str]) -> None:
        """Write a Parquet file that `load` reads back exactly; units and everything else are in the schema's metadata.

        Raises
        ------
        WorkloadError
            If it can't be written; what stood there before is left as it was.
        """
        workload_io.write(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Workload:
        """Read a Parquet file written by `save`.

        Raises
        ------
        WorkloadError
            If the file is missing, damaged, or not one of ours.
        """
        return cls(**workload_io.read(path))

    def window(self, start: int, duration: int | None = None, prepopulate: bool = True) -> Workload:
        """Cut out a stretch of time; its beginning becomes second 0 and `epoch` moves along.

        Parameters
        ----------
        start : int
            Beginning, s since `epoch`.
        duration : int, optional
            Length, s; default: to the end of the log.
        prepopulate : bool
            Also take what stood in the machine at `start`: jobs that were running (``initial``, with their recorded
            start, now negative) and jobs that were waiting (with a negative submit). Jobs submitted earlier whose start
            isn't recorded are left out and counted as ``unknown_start``.

        Raises
        ------
        WorkloadError
            If the window lies outside the log or holds no job.
        OptionError
            If `duration` isn't positive.
        """
        return reshape.window(self, start, duration, prepopulate)

    def scale_arrivals(self, factor: float) -> Workload:
        """Multiply the arrival rate, so that gaps between submits shrink by `factor` (2: twice the load).

        Recorded starts are forgotten, except of jobs that are running when a window begins.
        """
        return reshape.scale_arrivals(self, factor)

    def scale_nodes(self, factor: float, capacity: int | None = None) -> Workload:
        """Multiply sizes, rounded and at least 1; recorded node lists are forgotten.

        The machine becomes `capacity`, or else grows by the same factor; what fitted the machine still fits it.
        """
        return reshape.scale_nodes(self, factor, capacity)

    def shuffle(self, seed: int) -> Workload:
        """Permute the jobs over the submit times (recorded starts are forgotten), except those that already run."""
        return reshape.shuffle(self, seed)

    def sample(self, jobs: int, seed: int) -> Workload:
        """Take `jobs` consecutive jobs, begun at a random one; the first is submitted at second 0."""
        return reshape.sample(self, jobs, seed)

    def select(self, mask: npt.ArrayLike) -> Workload:
        """Keep the jobs for which `mask` (bool, shape (J,)) is true; times stay as they are."""
        return reshape.select(self, mask)

    @staticmethod
    def concat(workloads: Sequence[Workload], gap: int | None = 0) -> Workload:
        """Join workloads that count the same unit; contested job numbers are renewed and counted.

        Parameters
        ----------
        workloads : sequence of Workload
            In the order of joining; capacity becomes the largest, equal names are the same user.
        gap : int or None
            Seconds from the last submit of one to the first of the next; None: all keep their calendar time.
        """
        return reshape.concat(workloads, gap)


def _column(name: str, array: npt.NDArray[Any], jobs: int) -> npt.NDArray[Any]:
    """Return a read-only view of one column after checking its shape."""
    if array.shape != (jobs,):
        raise WorkloadError(f"Column '{name}' has shape {array.shape}; one value for each of {jobs} jobs is needed.")
    view = array.view()
    view.flags.writeable = False
    return view
