"""What the fields of Slurm's ``sacct`` mean: numbers of jobs, lengths of time, sizes, TRES, states."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from twin_gym.errors import WorkloadError
from twin_gym.workload import UNKNOWN

from ._columns import whole
from ._dates import Dates, unix_seconds
from ._hostlists import numbered
from ._sacct import HOW

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

UNFINISHED = ("PENDING", "RUNNING", "SUSPENDED", "CONFIGURING", "COMPLETING", "RESIZING", "STOPPED", "SIGNALING")
NO_NODES = ("", "None assigned", "None", "(null)", "Unknown")
SPAN = r"^(?:(?P<d>\d+)-)?(?:(?P<h>\d+):)?(?P<m>\d+):(?P<s>\d+(?:\.\d+)?)$"
UNLIMITED = 365 * 86_400
"""How sacct itself mostly writes a job without limit, s."""
MINUTE = 60

SIZES = {
    "node": {"allocated": ("nnodes", "allocnodes", "alloctres"), "requested": ("reqnodes", "reqtres")},
    "processor": {"allocated": ("ncpus", "alloccpus", "alloctres"), "requested": ("reqcpus", "reqtres")},
}
"""Where the size of a job stands, best first. NNodes and NCPUS of a job that waits are what it asked for."""
TRES = {"node": "node", "processor": "cpu"}


def require(table: pa.Table, where: str, unit: str, arrivals: str) -> None:
    """Check that the fields suffice.

    Raises
    ------
    WorkloadError
        If one without which there are no jobs is missing.
    """
    have = set(table.column_names)
    sizes = [name for kind in SIZES[unit].values() for name in kind] + (["nodelist"] if unit == "node" else [])
    for what, fields in (
        (f"when jobs were {'submitted' if arrivals == 'submit' else 'eligible'}", [arrivals]),
        ("when jobs ended, or how long they ran", ["end", "elapsedraw", "elapsed"]),
        (f"how many {unit}s jobs had", sizes),
    ):
        if not have & set(fields):
            raise WorkloadError(f"{where} doesn't tell {what}: it lacks {' or '.join(fields)}; {HOW}.")
    if "start" not in have and not have & {"elapsedraw", "elapsed"}:
        raise WorkloadError(f"{where} doesn't tell how long jobs ran: it lacks start or elapsedraw; {HOW}.")


def job_numbers(table: pa.Table, where: str) -> Ints:
    """Return job numbers: JobIDRaw, or else JobID if it is a plain number; `UNKNOWN` for tasks of an array."""
    if "jobidraw" in table.column_names:
        return whole(table, "jobidraw", where)
    text = table["jobid"]
    plain = pc.match_substring_regex(text, r"^\d+$")
    return np.asarray(pc.if_else(plain, text, pa.scalar(None, text.type)).cast(pa.int64()).fill_null(UNKNOWN))


def dates_of(table: pa.Table, name: str, where: str, time_zone: str) -> Dates:
    """Return a field of dates, local or (``SLURM_TIME_FORMAT=%s``) Unix seconds, as Unix seconds."""
    if name not in table.column_names:
        return Dates(np.full(len(table), UNKNOWN), np.zeros(len(table), dtype=bool))
    text = table[name]
    unix = pc.match_substring_regex(text, r"^\d+$").fill_null(False)
    dates = unix_seconds(pc.if_else(unix, pa.scalar(None, text.type), text), name, where, time_zone)
    if pc.any(unix).as_py():
        numbers = np.asarray(pc.if_else(unix, text, pa.scalar(None, text.type)).cast(pa.int64()).fill_null(UNKNOWN))
        dates = dates._replace(seconds=np.where(numbers == UNKNOWN, dates.seconds, numbers))
    return dates


def unfinished(table: pa.Table, start: Ints, end: Ints) -> npt.NDArray[np.bool_]:
    """Tell which jobs still waited or ran; without states, those that have no end."""
    if "state" not in table.column_names:
        return end == UNKNOWN if "end" in table.column_names else np.zeros(len(end), dtype=bool)
    word = pc.utf8_rtrim(pc.list_element(pc.split_pattern(pc.fill_null(table["state"], "x"), " "), 0), "+")
    going = np.asarray(pc.is_in(word, pa.array(UNFINISHED)))
    return going | ((start != UNKNOWN) & (end == UNKNOWN)) if "end" in table.column_names else going


def durations(text: pa.ChunkedArray) -> Floats:
    """Return lengths of time such as ``1-02:03:04`` or ``03:04.567`` in seconds; NaN for anything else."""
    parts = pc.extract_regex(text, SPAN)
    total = np.zeros(len(text))
    for name, seconds in (("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)):
        part = pc.struct_field(parts, name)
        part = pc.if_else(pc.equal(part, ""), pa.scalar("0", part.type), part)
        total += np.asarray(part.cast(pa.float64()).fill_null(np.nan)) * seconds
    return total


def elapsed(table: pa.Table, where: str) -> Ints:
    """Return how long jobs ran without suspensions, s."""
    if "elapsedraw" in table.column_names:
        return whole(table, "elapsedraw", where)
    return _seconds(table, "elapsed")


def time_limit(table: pa.Table, where: str) -> Ints:
    """Return time limits, s: Timelimit, or TimelimitRaw, which counts minutes."""
    name = next((name for name in ("timelimitraw", "timelimit") if name in table.column_names), None)
    if name is None:
        return np.full(len(table), UNKNOWN)
    text = table[name]
    endless = np.asarray(pc.equal(text, "UNLIMITED").fill_null(False))
    if name == "timelimit":
        limit = _seconds(table, name)
    else:
        known = pc.match_substring_regex(text, r"^\d+$").fill_null(False)
        minutes = pc.if_else(known, text, pa.scalar(None, text.type)).cast(pa.int64())
        limit = np.asarray(pc.multiply(minutes, MINUTE).fill_null(UNKNOWN))
    return np.where(endless, UNLIMITED, limit)


def _seconds(table: pa.Table, name: str) -> Ints:
    if name not in table.column_names:
        return np.full(len(table), UNKNOWN)
    values = durations(table[name])
    known = np.isfinite(values)
    return np.where(known, np.where(known, values, 0).astype(np.int64), UNKNOWN)


def sizes_of(table: pa.Table, where: str, unit: str, wanted: str) -> Ints:
    """Return sizes of jobs in nodes or processors; `UNKNOWN` where nothing tells.

    A job that was given nothing keeps what it asked for, so that it is seen why it is left out: it never ran.
    """
    kinds = SIZES[unit]
    order = (*kinds[wanted], *kinds["allocated" if wanted == "requested" else "requested"])
    result = np.full(len(table), UNKNOWN)
    for name in order:
        if name in table.column_names:
            found = tres(table[name], TRES[unit]) if name.endswith("tres") else whole(table, name, where)
            result = np.where((result == UNKNOWN) & (found > 0), found, result)
    if unit == "node" and "nodelist" in table.column_names and np.any(result == UNKNOWN):
        listed = numbered(node_lists(table)).rows.lengths
        result = np.where((result == UNKNOWN) & (listed > 0), listed, result)
    return result


def tres(text: pa.ChunkedArray, name: str) -> Ints:
    """Return one resource of a list such as ``billing=8,cpu=8,gres/gpu=4,node=2``; `UNKNOWN` where it isn't listed."""
    found = pc.struct_field(pc.extract_regex(text, rf"(?:^|,){name}=(?P<n>\d+)"), "n")
    return np.asarray(found.cast(pa.int64()).fill_null(UNKNOWN))


def node_lists(table: pa.Table) -> list[str | None]:
    """Return the lists of nodes as text; None where a job had none."""
    if "nodelist" not in table.column_names:
        return []
    return recorded(table["nodelist"].to_pylist())


def recorded(lists: Iterable[str | None]) -> list[str | None]:
    """Return lists of nodes, None for the words that stand for no list."""
    return [None if text in NO_NODES else text for text in lists]


def further(table: pa.Table, cpus: Ints) -> dict[str, Ints]:
    """Return CPUs and GPUs of jobs, and number and task of their array, as far as any job has them."""
    extra = {"cpus": cpus}
    if "alloctres" in table.column_names:
        gpus = tres(table["alloctres"], "gres/gpu")
        told = np.asarray(pc.not_equal(table["alloctres"], "").fill_null(False))
        if (gpus > 0).any():
            extra["gpus"] = np.where(told & (gpus == UNKNOWN), 0, gpus)
    if "jobid" in table.column_names:
        parts = pc.extract_regex(table["jobid"], r"^(?P<job>\d+)_(?P<task>\d+)$")
        for name, field in (("array_job", "job"), ("array_task", "task")):
            extra[name] = np.asarray(pc.struct_field(parts, field).cast(pa.int64()).fill_null(UNKNOWN))
    return {name: np.where(column == UNKNOWN, -1, column) for name, column in extra.items() if (column > UNKNOWN).any()}
