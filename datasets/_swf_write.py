"""Workloads as logs in the Standard Workload Format, as far as it can hold them."""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Iterator, Mapping
from os import PathLike
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import csv

from twin_gym.errors import WorkloadError
from twin_gym.workload import UNKNOWN, Status, Workload
from twin_gym.workload_io import whole_file

from ._numbers import MISSING
from ._swf_format import CALENDAR, FIELDS, KEPT, leading, names_of, unit_of, write_header
from ._text import label

LINES = 1 << 18
"""Jobs turned into text at a time."""


def save(workload: Workload, target: str | PathLike[str] | IO[bytes] | IO[str]) -> None:
    """Write a log that `load` reads back, with names, calendar and machine in its header.

    What SWF can't hold is left out: priorities, node lists, traces, further columns of other sources, the mark of
    initial jobs. Of the states, TIMEOUT, NODE_FAIL and OUT_OF_MEMORY become failed (0). Submits before second 0 (of a
    window) move the log's begin to the first of them.

    Parameters
    ----------
    workload : Workload
        What to write.
    target : path or file object (binary or text)
        A path that ends in ``.gz`` is compressed. A file appears whole or not at all.

    Raises
    ------
    WorkloadError
        If it can't be written.
    """
    if isinstance(target, str | PathLike):
        with whole_file(target) as file:
            if os.fspath(target).endswith(".gz"):  # neither name nor time inside: equal logs are equal files
                with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                    packed.writelines(_pieces(workload))
            else:
                file.writelines(_pieces(workload))
        return
    text = isinstance(target, io.TextIOBase)
    try:
        for piece in _pieces(workload):
            target.write(piece.decode() if text else piece)  # type: ignore[arg-type]
    except OSError as error:
        raise WorkloadError(f"{label(target)} can't be written: {error.strerror or error}.") from error


def _pieces(workload: Workload) -> Iterator[bytes]:
    """Yield the text of the header, then of the jobs."""
    header = dict(workload.header)
    first = int(workload.submit[0])
    shift = first if first < 0 or int(np.median(workload.submit)) >= CALENDAR else 0
    if workload.epoch_known:
        header["UnixStartTime"] = str(workload.epoch + shift)
    else:
        header.pop("UnixStartTime", None)
    _machine(header, workload)
    fields = _fields(workload, shift, header)
    yield write_header(header).encode()
    options = csv.WriteOptions(include_header=False, delimiter=" ")
    for begin in range(0, len(workload), LINES):
        columns = [pa.array(fields[name][begin : begin + LINES]) for name in FIELDS]
        sink = io.BytesIO()
        csv.write_csv(pa.Table.from_arrays(columns, names=list(FIELDS)), sink, options)
        yield sink.getvalue()


def _fields(workload: Workload, shift: int, header: dict[str, str]) -> dict[str, npt.NDArray[Any]]:
    """Return the 18 columns; names that aren't numbers are numbered in the header."""
    missing = np.broadcast_to(np.int8(MISSING), (len(workload),))
    known = workload.start != UNKNOWN
    status = workload.status
    fields: dict[str, npt.NDArray[Any]] = {name: workload.extra.get(kept, missing) for name, kept in KEPT.items()}
    fields |= {
        "id": workload.id,
        "submit": workload.submit - shift,
        "wait": np.where(known, workload.start - np.where(known, workload.submit, 0), MISSING),
        "runtime": workload.runtime,
        "requested_procs": workload.nodes,
        "requested_time": workload.requested_time,
        "status": np.where(status > Status.CANCELLED, Status.FAILED, status),
        "user": _numbers(workload.user, workload.users, "User", header),
        "group": _numbers(workload.account, workload.accounts, "Group", header),
    }
    kept = next((name for name in ("queue", "partition") if np.any(fields[name] >= 0)), None)
    if kept is None or not _tells(fields[kept], workload, header.get(kept.capitalize(), "")):
        fields["queue"] = _numbers(workload.partition, workload.partitions, "Queue", header)
        fields["partition"] = missing
    return fields


def _tells(numbers: npt.NDArray[Any], workload: Workload, value: str) -> bool:
    """Tell whether numbers kept from a log still lead to the workload's partitions."""
    pairs = np.unique(np.stack([numbers.astype(np.int64), workload.partition.astype(np.int64)]), axis=1)
    known = pairs[:, pairs[0] >= 0]
    names = names_of(map(str, known[0]), value)
    return bool(np.all((pairs[0] >= 0) == (pairs[1] >= 0))) and names == tuple(
        workload.partitions[code] for code in known[1]
    )


def _numbers(
    codes: npt.NDArray[np.int32], names: tuple[str, ...], key: str, header: dict[str, str]
) -> npt.NDArray[np.int64]:
    """Return names as numbers: as those that they are, or else counted from 1 and listed in the header."""
    if not names:
        return np.full(len(codes), MISSING, dtype=np.int64)
    if all(name.isdecimal() and name.isascii() and str(int(name)) == name and len(name) < 16 for name in names):
        header.pop(key, None)
        numbers = [int(name) for name in names]
    else:
        numbers = list(range(1, len(names) + 1))
        header[key] = "\n".join(
            f"{number} {' '.join(name.split())}" for number, name in zip(numbers, names, strict=True)
        )
    return np.array([*numbers, MISSING], dtype=np.int64)[codes]


def _machine(header: dict[str, str], workload: Workload) -> None:
    """Let the header tell capacity and unit."""
    size = workload.capacity
    key = "MaxNodes" if workload.unit == "node" else "MaxProcs"
    if size is None:
        header.pop("MaxProcs", None)
        header.pop("MaxNodes", None)
    elif _size(header) != size:
        header[key] = str(size)
        if key == "MaxNodes":
            header["MaxProcs"] = str(size)
    if unit_of(header) != workload.unit:
        header["Unit"] = workload.unit


def _size(header: Mapping[str, str]) -> int | None:
    return leading(header.get("MaxProcs")) or leading(header.get("MaxNodes"))
