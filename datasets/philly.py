"""Philly: deep-learning jobs on Microsoft's GPU clusters (2017), with the use of machines every minute.

Data: https://github.com/msr-fiddle/philly-traces; M. Jeon and others, "Analysis of large-scale multi-tenant GPU
clusters for DNN training workloads", ATC 2019. Files ``cluster_job_log`` (JSON), ``cluster_machine_list``,
``cluster_cpu_util`` and ``cluster_gpu_util`` (CSV, percent). Times of the log are Pacific, without a zone; those of the
series say PST or PDT.

A job may have been tried several times: every attempt is a job here, submitted when the one before it ended. Machines
are shared: a job's ``cpu`` is the mean use of its machines, whoever used them; its ``gpu`` is that of its own GPUs, as
a fraction of all that its machines have. Verified on the schema and on hand-made rows, not on the full files.
"""

from __future__ import annotations

import json
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from twin_gym.errors import WorkloadError
from twin_gym.workload import UNKNOWN, Status, Trace, Workload

from ._columns import names
from ._dates import Dates, unix_seconds
from ._foreign import finish, jobs_of
from ._lists import Rows
from ._minutes import Minutes, read_minutes, traces
from ._notes import Notes
from ._places import settle
from ._text import Progress
from ._window import Window, span_of

Ints = npt.NDArray[np.int64]

WHAT = "Philly"
DETAIL = pa.list_(pa.struct([("ip", pa.string()), ("gpus", pa.list_(pa.string()))]))
ATTEMPTS = pa.list_(pa.struct([("start_time", pa.string()), ("end_time", pa.string()), ("detail", DETAIL)]))
LOG = pa.schema(
    [(name, pa.string()) for name in ("status", "vc", "jobid", "submitted_time", "user")] + [("attempts", ATTEMPTS)]
)
STATES = {"PASS": Status.COMPLETED, "KILLED": Status.CANCELLED, "FAILED": Status.FAILED}
KINDS = (2, 8)
"""GPUs of the two kinds of machines; the list's number is a stale label where more are in use."""


def load(
    path: str | PathLike[str],
    *,
    window: Window = None,
    time_zone: str = "America/Los_Angeles",
    with_traces: bool = True,
    missing_requests: str = "fallback",
    strict: bool = False,
    progress: Progress | None = None,
) -> Workload:
    """Read the folder of the trace.

    Parameters
    ----------
    path : path
        Folder with the files.
    window : pair of dates, optional
        Only attempts that were submitted, waiting or running between two instants; second 0 becomes the first of them.
    time_zone : str
        Zone of the log's times.
    with_traces : bool
        Whether to read the series of CPUs and GPUs, if they are there.
    missing_requests, strict
        As in `Workload.build`.
    progress : callable, optional
        Called with the number of files read, and of all.

    Returns
    -------
    Workload
        One job for each attempt, numbered from 1. Nobody asks for time there, so that requested times are the runtimes.
        Accounts are virtual clusters. ``extra`` has gpus, attempt (from 1) and log_row, the job's row in the log; nodes
        are numbered in the order of the list of machines. `capacity` is their number.

    Raises
    ------
    WorkloadError
        If a file is missing or wrong, or no job is left.
    """
    span = span_of(window)
    root = Path(path)
    told = progress or (lambda done, total: None)
    table = _log(root / "cluster_job_log")
    told(1, 4)
    attempts = _attempts(table, time_zone, str(root / "cluster_job_log"))
    machines = _machines(root / "cluster_machine_list", attempts)
    told(2, 4)
    notes = Notes(np.arange(1, len(attempts.job) + 1), str(root))
    notes.count("no_attempt", attempts.untried)
    for dates in (attempts.submit, attempts.start, attempts.end):
        notes.dates(dates)
    submit, start, end = attempts.submit.seconds, attempts.start.seconds, attempts.end.seconds
    columns: dict[str, Any] = {
        "id": np.arange(1, len(submit) + 1),
        "submit": submit,
        "start": start,
        "runtime": np.where((start != UNKNOWN) & (end != UNKNOWN), end - start, 0),
        "nodes": attempts.hosts.lengths,
        "user": _taken(names(table, "user"), attempts.job),
        "account": _taken(names(table, "vc"), attempts.job),
        "status": attempts.status,
        "node_ids": settle(
            Rows(machines.place[attempts.hosts.values], attempts.hosts.lengths),
            attempts.hosts.lengths,
            len(machines.gpus),
            notes,
        ),
        "extra": {"gpus": attempts.gpus, "attempt": attempts.number, "log_row": attempts.job},
    }
    workload = jobs_of(
        columns,
        np.arange(len(submit)),
        notes,
        span,
        name="Philly",
        capacity=len(machines.gpus),
        missing_requests=missing_requests,
    )
    if with_traces:
        workload = _with_traces(workload, root, attempts, machines, told)
    return finish(workload, notes, strict)


def _log(path: Path) -> pa.Table:
    """Read the log of jobs."""
    try:
        with open(path, encoding="utf-8") as file:
            entries = json.load(file)
    except FileNotFoundError as error:
        raise WorkloadError(f"{path} does not exist; check the path.") from error
    except (ValueError, OSError) as error:
        raise WorkloadError(f"{path} is no JSON file or is damaged: {error}.") from error
    if not isinstance(entries, list) or not entries:
        raise WorkloadError(f"{path} must hold a list of jobs; is it Philly's cluster_job_log?")
    try:
        return pa.Table.from_pylist(entries, schema=LOG)
    except (pa.ArrowException, TypeError, AttributeError) as error:
        raise WorkloadError(
            f"{path} holds a job of another form than Philly's: {str(error).splitlines()[0]}."
        ) from error


class Attempts(NamedTuple):
    """All attempts, job after job (A of them).

    Attributes
    ----------
    job : ndarray of int64, shape (A,)
        Row of the job in the log.
    number : ndarray of int64, shape (A,)
        1 for its first attempt, and so on.
    submit, start, end : Dates
        Unix seconds.
    status : ndarray of int8, shape (A,)
        `Status`: the job's of its last attempt, failed for those before.
    hosts : Rows of int64
        Machines of each attempt, codes into `names`.
    cards : Rows of int64
        GPUs on each machine of each attempt (one row for each of `hosts.values`), by their index.
    names : list of str
        Names of machines.
    gpus : ndarray of int64, shape (A,)
        GPUs of each attempt.
    untried : int
        Jobs without an attempt.
    """

    job: Ints
    number: Ints
    submit: Dates
    start: Dates
    end: Dates
    status: npt.NDArray[np.int8]
    hosts: Rows
    cards: Rows
    names: list[str]
    gpus: Ints
    untried: int


def _attempts(table: pa.Table, time_zone: str, where: str) -> Attempts:
    """Take the log's lists apart."""
    column = table["attempts"].combine_chunks()
    count = _lengths(column)
    flat = column.flatten()
    job = np.repeat(np.arange(len(count)), count)
    first = np.cumsum(count) - count
    number = np.arange(len(job)) - first[job] + 1
    start, end = (_dates(flat.field(name), name, where, time_zone) for name in ("start_time", "end_time"))
    submitted = _dates(table["submitted_time"].combine_chunks(), "submitted_time", where, time_zone)
    before = np.append(UNKNOWN, end.seconds[:-1]) if len(job) else end.seconds
    submit = Dates(np.where(number == 1, submitted.seconds[job], before), submitted.wrong[job] & (number == 1))
    labels = names(table, "status")
    known = [STATES.get(name.upper(), Status.UNKNOWN) for name in ([] if labels is None else labels.names)]
    ends = np.array([*known, Status.UNKNOWN], dtype=np.int8)[labels.codes if labels else np.full(len(count), -1)]
    status = np.where(number == count[job], ends[job], Status.FAILED).astype(np.int8)
    detail = flat.field("detail")
    hosts = detail.flatten()
    spelled = hosts.field("ip").dictionary_encode()
    codes = np.asarray(spelled.indices.fill_null(len(spelled.dictionary)), dtype=np.int64)
    cards = hosts.field("gpus")
    digits = pc.struct_field(pc.extract_regex(cards.flatten(), r"(?P<n>\d+)$"), "n").cast(pa.int64()).fill_null(-1)
    on_host = Rows(np.asarray(digits), _lengths(cards))
    listed = Rows(codes, _lengths(detail))
    owner = np.repeat(np.arange(len(job)), listed.lengths)
    gpus = np.bincount(owner, on_host.lengths, len(job)).astype(np.int64)
    machines = [*spelled.dictionary.to_pylist(), ""]
    untried = int(np.count_nonzero(count == 0))
    return Attempts(job, number, submit, start, end, status, listed, on_host, machines, gpus, untried)


def _lengths(lists: pa.Array) -> Ints:
    return np.asarray(pc.fill_null(pc.list_value_length(lists), 0), dtype=np.int64)


def _dates(column: pa.Array, name: str, where: str, time_zone: str) -> Dates:
    return unix_seconds(column, name, where, time_zone)


def _taken(labels: Any, rows: Ints) -> Any:
    return None if labels is None else labels.take(rows)


class Machines(NamedTuple):
    """The machines: GPUs of each, names by place, and the place of each code of `Attempts.names` (-1: not listed)."""

    gpus: Ints
    names: dict[str, int]
    place: Ints


def _machines(path: Path, attempts: Attempts) -> Machines:
    """Read the list of machines (``m1, 8, 24 GB``); one on which more GPUs were used than it tells is a large one."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError as error:
        raise WorkloadError(f"{path} does not exist; check the path.") from error
    listed: dict[str, int] = {}
    for line, text in enumerate(lines, 1):
        fields = [field.strip() for field in text.split(",")]
        if not text.strip() or (line == 1 and not fields[1:2][0].isdigit() if len(fields) > 1 else line == 1):
            continue
        if len(fields) < 2 or not fields[1].isdigit():
            raise WorkloadError(f"{path}, line {line}: {text!r} must be a machine, its GPUs and their memory.")
        listed[fields[0]] = int(fields[1])
    if not listed:
        raise WorkloadError(f"{path} lists no machine; fetch it again.")
    place = {name: row for row, name in enumerate(listed)}
    of_code = np.array([place.get(name, -1) for name in attempts.names])
    label = np.array(list(listed.values()))
    used = np.zeros(len(label) + 1, dtype=np.int64)
    host = np.repeat(of_code[attempts.hosts.values], attempts.cards.lengths)
    np.maximum.at(used, host, attempts.cards.values + 1)  # what isn't listed goes to the spare last place
    gpus = np.where(np.maximum(label, used[:-1]) <= KINDS[0], KINDS[0], KINDS[1])
    return Machines(gpus, place, of_code)


def _packed_or_not(path: Path) -> Path:
    """Return a file, or the one with ``.gz`` behind its name if only that is there."""
    packed = path.with_name(f"{path.name}.gz")
    return packed if packed.exists() and not path.exists() else path


def _with_traces(workload: Workload, root: Path, attempts: Attempts, machines: Machines, told: Progress) -> Workload:
    """Give attempts the use of their machines and GPUs while they ran."""
    rows = np.asarray(workload.extra["row"])
    hosts = Rows(machines.place[attempts.hosts.values], attempts.hosts.lengths).take(rows)
    at = Rows(np.arange(len(attempts.hosts.values)), attempts.hosts.lengths).take(rows).values
    cards = attempts.cards.take(at)
    notes = Notes(workload.id, str(root))
    found: dict[str, Trace] = {}
    span = Minutes.of(workload)
    cpu, gpu = (_packed_or_not(root / f"cluster_{kind}_util") for kind in ("cpu", "gpu"))
    if cpu.exists():
        grid = read_minutes(cpu, machines.names, 1, span, notes)
        found["cpu"] = traces(workload, hosts, grid, hosts.lengths, span, notes)
    told(3, 4)
    if gpu.exists():
        grid = read_minutes(gpu, machines.names, KINDS[1], span, notes)
        owner = np.repeat(hosts.values, cards.lengths)
        known = (owner >= 0) & (cards.values >= 0) & (cards.values < KINDS[1])
        place = np.where(known, owner * KINDS[1] + cards.values, -1)
        job = np.repeat(np.arange(len(rows)), hosts.lengths)
        own = np.bincount(job, cards.lengths, len(rows)).astype(np.int64)
        total = np.bincount(job, np.where(hosts.values >= 0, machines.gpus[hosts.values], 0), len(rows))
        found["gpu"] = traces(workload, Rows(place, own), grid, total, span, notes)
    told(4, 4)
    return notes.onto(replace(workload, traces=found))
