"""Argonne's (ALCF) public job logs: Mira, Theta, Polaris, Aurora, one CSV file per machine and year.

Data: https://reports.alcf.anl.gov/data, files ``ANL-ALCF-DJC-<MACHINE>_<first day>_<last day>.csv.gz`` (table
DIM_JOB_COMPOSITE), behind a form that asks for name and e-mail. Of their 66 columns and more those needed are read by
name. Times carry no zone; they are taken as UTC unless `time_zone` says otherwise. Verified on the schema and on
hand-made rows, not on the full files.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from twin_gym.errors import OptionError, WorkloadError, suggest
from twin_gym.workload import UNKNOWN, Status, Workload

from ._columns import names, whole
from ._csv import NAME, NUMBER, TEXT, blocks
from ._dates import unix_seconds, zone_of
from ._files import Paths, find, named
from ._foreign import finish, jobs_of
from ._hostlists import numbered, placed
from ._notes import Notes
from ._text import Progress
from ._window import Window, span_of

Ints = npt.NDArray[np.int64]

WHAT = "ALCF's DIM_JOB_COMPOSITE"
NEEDED: dict[str, pa.DataType] = {
    "QUEUED_TIMESTAMP": TEXT, "START_TIMESTAMP": TEXT, "END_TIMESTAMP": TEXT, "WALLTIME_SECONDS": NUMBER,
    "NODES_USED": NUMBER,
}  # fmt: skip
OPTIONAL: dict[str, pa.DataType] = {
    "JOB_NAME": TEXT, "COBALT_JOBID": TEXT, "MACHINE_NAME": NAME, "USERNAME_GENID": NAME, "PROJECT_NAME_GENID": NAME,
    "QUEUE_NAME": NAME, "RUNTIME_SECONDS": NUMBER, "NODES_REQUESTED": NUMBER, "LOCATION": TEXT, "EXIT_STATUS": NUMBER,
    "EXIT_CODE": NUMBER,
}  # fmt: skip

SIZES = {"mira": 49_152, "theta": 4_392, "polaris": 560, "aurora": 10_624}
"""Nodes of the machines."""


def load(
    path: Paths,
    *,
    window: Window = None,
    machine: str | None = None,
    time_zone: str = "UTC",
    with_nodes: bool = True,
    capacity: int | None = None,
    missing_requests: str = "fallback",
    strict: bool = False,
    progress: Progress | None = None,
) -> Workload:
    """Read one or more files of one machine.

    Parameters
    ----------
    path : path or list of paths
        Files (plain or ``.gz``), a pattern, or a folder of them.
    window : pair of dates, optional
        Only jobs that were submitted, waiting or running between two instants; second 0 becomes the first of them.
    machine : str, optional
        Which machine, where the files hold several (column MACHINE_NAME).
    time_zone : str
        Zone of the times.
    with_nodes : bool
        Whether to read LOCATION, the names of the nodes.
    capacity : int, optional
        Size of the machine. Default: that of Mira, Theta, Polaris or Aurora.
    missing_requests, strict
        As in `Workload.build`.
    progress : callable, optional
        Called with the bytes of the files begun so far and of all.

    Returns
    -------
    Workload
        Sizes are nodes: NODES_REQUESTED, and where that is missing NODES_USED. The job's number is COBALT_JOBID or,
        where that is the same in all rows (Polaris), the number in JOB_NAME; tasks of arrays (``123[4]``) get new ones.
        `node_ids` are places in the natural order of the names in LOCATION, which is cut short for large jobs: lists
        that don't have NODES_USED names are forgotten and counted.

    Raises
    ------
    WorkloadError
        If a file or a column is missing or wrong, the files hold several machines, or no job is left.
    """
    span = span_of(window)
    zone_of(time_zone)
    files = find(path, (".csv", ".csv.gz"))
    where = named(files)
    parts, lists = [], set[str]()
    sizes = [file.stat().st_size for file in files]
    for number, file in enumerate(files):
        for batch in blocks(file, NEEDED, OPTIONAL, what=WHAT):
            table = pa.Table.from_batches([batch])
            if with_nodes and "LOCATION" in table.column_names:
                lists.update(text for text in pc.unique(table["LOCATION"]).to_pylist() if text)
            if span is not None:
                submit, end = (
                    unix_seconds(table[name], name, where, time_zone).seconds
                    for name in ("QUEUED_TIMESTAMP", "END_TIMESTAMP")
                )
                table = table.filter(pa.array(span.touches(submit, end)))
            parts.append(table)
        if progress is not None:
            progress(sum(sizes[: number + 1]), sum(sizes))
    if not parts:
        raise WorkloadError(f"{where} holds titles but no jobs; check that it was fetched completely.")
    table = pa.concat_tables(parts, promote_options="permissive").unify_dictionaries()
    table, machine = _of_one_machine(table, machine, where)
    ids = _ids(table)
    notes = Notes(ids, where)
    submit, start, end = (
        notes.dates(unix_seconds(table[name], name, where, time_zone))
        for name in ("QUEUED_TIMESTAMP", "START_TIMESTAMP", "END_TIMESTAMP")
    )
    ran = (start != UNKNOWN) & (end != UNKNOWN)
    runtime = np.where(ran, end - start, UNKNOWN)
    if "RUNTIME_SECONDS" in table.column_names:
        told = whole(table, "RUNTIME_SECONDS", where)
        # times are written to the second or finer, so that a runtime may be off by one
        notes.note(
            "runtime_differs", ran & (told != UNKNOWN) & (np.abs(told - runtime) > 1), recorded=told, taken=runtime
        )
        runtime = np.where(ran, runtime, told)
    used = whole(table, "NODES_USED", where)
    asked = whole(table, "NODES_REQUESTED", where) if "NODES_REQUESTED" in table.column_names else used
    columns: dict[str, Any] = {
        "id": ids,
        "submit": submit,
        "start": start,
        "runtime": runtime,
        "requested_time": whole(table, "WALLTIME_SECONDS", where),
        "nodes": np.where(asked > 0, asked, used),
        "user": names(table, "USERNAME_GENID"),
        "account": names(table, "PROJECT_NAME_GENID"),
        "partition": names(table, "QUEUE_NAME"),
        "status": _status(table, where),
        "extra": {"used_nodes": np.maximum(used, -1)},
    }
    listed = numbered(_locations(table["LOCATION"].to_pylist()), _locations(list(lists))) if lists else None
    workload = jobs_of(
        columns,
        np.arange(len(table)),
        notes,
        span,
        name=machine or "alcf",
        capacity=capacity or SIZES.get(machine),
        missing_requests=missing_requests,
        header={"time_zone": time_zone},
    )
    if listed is not None:
        workload = placed(workload, listed, workload.extra["row"], where)
    return finish(workload, notes, strict)


def _of_one_machine(table: pa.Table, machine: str | None, where: str) -> tuple[pa.Table, str]:
    """Return the rows of the machine asked for, or of the only one there is; and its name in small letters."""
    if "MACHINE_NAME" not in table.column_names:
        return table, (machine or "").lower()
    shown = pc.utf8_lower(table["MACHINE_NAME"].cast(pa.string()))
    present = sorted(name for name in pc.unique(shown).to_pylist() if name)
    if machine is not None:
        if machine.lower() not in present:
            raise OptionError(f"{where} has no jobs of machine={machine!r}.{suggest(machine.lower(), present)}")
        return table.filter(pc.equal(shown, machine.lower())), machine.lower()
    if len(present) > 1:
        raise OptionError(f"{where} holds jobs of {' and '.join(present)}; choose one, such as machine={present[0]!r}.")
    return table, present[0] if present else ""


def _ids(table: pa.Table) -> Ints:
    """Return job numbers: COBALT_JOBID unless it is the same everywhere, else the number that JOB_NAME begins with."""
    found = [np.full(len(table), UNKNOWN)]
    for name in ("COBALT_JOBID", "JOB_NAME"):
        if name in table.column_names:
            digits = pc.struct_field(pc.extract_regex(table[name], r"^\s*(?P<n>\d{1,15})(?:\.|\s*$)"), "n")
            found.append(np.asarray(digits.cast(pa.int64()).fill_null(UNKNOWN)))
    return max(found, key=lambda ids: len(np.unique(ids)))


def _status(table: pa.Table, where: str) -> npt.NDArray[np.int8] | None:
    """Return how jobs ended: exit status 0 is success."""
    name = next((name for name in ("EXIT_STATUS", "EXIT_CODE") if name in table.column_names), None)
    if name is None:
        return None
    code = whole(table, name, where)
    return np.select([code == UNKNOWN, code == 0], [Status.UNKNOWN, Status.COMPLETED], Status.FAILED).astype(np.int8)


def _locations(texts: list[str | None]) -> list[str | None]:
    """Return lists of names; Theta's ranges of numbers, ``12-15,20``, are written out for the parser of lists."""
    return [
        None if not text else re.sub(r"(?:^|(?<=,))(\d+)-(\d+)(?=,|$)", r"[\1-\2]", text.replace(" ", ""))
        for text in texts
    ]
