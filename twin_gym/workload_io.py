"""Workloads as Parquet files, exact to the last bit, and their fingerprints."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from twin_gym.assembly import ABOUT, LABELS
from twin_gym.errors import WorkloadError
from twin_gym.ragged import Ragged, Trace
from twin_gym.validation import UNKNOWN, Report

if TYPE_CHECKING:
    from twin_gym.workload import Workload

KEY = b"twin_gym"
"""Where the file's schema keeps all that is no column."""

VERSION = 1

NUMBERS: dict[str, dict[str, str]] = {
    "id": {"meaning": "job number"},
    "submit": {"unit": "s", "meaning": "submit time since the epoch"},
    "runtime": {"unit": "s", "meaning": "recorded runtime"},
    "requested_time": {"unit": "s", "meaning": "requested walltime"},
    "nodes": {"meaning": "requested nodes or processors"},
    "start": {"unit": "s", "meaning": "recorded start since the epoch; null: not recorded"},
    "priority": {"meaning": "recorded priority; NaN: unknown"},
    "status": {"meaning": "recorded final status; 0..5 as in the Standard Workload Format, -1 unknown"},
    "initial": {"meaning": "running when the window began"},
}


def write(workload: Workload, path: str | PathLike[str]) -> None:
    """Write a workload; the file appears whole or not at all."""
    with whole_file(path) as file:
        pq.write_table(_table(workload), file, compression="zstd")


@contextmanager
def whole_file(path: str | PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for writing that takes its name only when it is complete.

    Raises
    ------
    WorkloadError
        If it can't be written; what stood there before is left as it was.
    """
    path = Path(path)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(unfinished, "wb") as file:
            yield file
        unfinished.replace(path)
    except OSError as error:
        raise WorkloadError(f"{path} can't be written: {error.strerror or error}.") from error
    finally:
        with suppress(OSError):  # where nothing can be written nothing is left to remove
            unfinished.unlink(missing_ok=True)


def read(path: str | PathLike[str]) -> dict[str, Any]:
    """Read a file written by `write` as the fields of a workload."""
    path = Path(path)
    try:
        table = pq.read_table(path, use_threads=True)
    except FileNotFoundError as error:
        raise WorkloadError(f"{path} does not exist; check the path.") from error
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise WorkloadError(f"{path} is no Parquet file or is damaged; write it anew with Workload.save.") from error
    except OSError as error:
        raise WorkloadError(f"{path} can't be read: {error.strerror or error}.") from error
    about = json.loads((table.schema.metadata or {}).get(KEY, b"null"))
    if about is None:
        raise WorkloadError(
            f"{path} was not written by twin_gym; read it with pandas.read_parquet and hand it to Workload.from_frame."
        )
    if about["version"] != VERSION:
        raise WorkloadError(
            f"{path} has format version {about['version']}, this twin_gym reads {VERSION}; write it anew."
        )
    return _fields(table, about)


def fingerprint(workload: Workload) -> str:
    """Return the SHA-256 (hex) of a workload's content."""
    digest = hashlib.sha256()
    for name, array in _arrays(workload):
        digest.update(f"{name} {array.dtype.str} {array.shape};".encode())
        digest.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
    names = {labels: getattr(workload, labels) for labels in LABELS.values()}
    units = {name: workload.traces[name].unit for name in sorted(workload.traces)}
    facts = [names, units, workload.epoch, workload.epoch_known, workload.capacity, workload.unit]
    digest.update(json.dumps(facts).encode())
    return digest.hexdigest()


def _arrays(workload: Workload) -> list[tuple[str, npt.NDArray[Any]]]:
    found = [(name, getattr(workload, name)) for name in (*NUMBERS, *LABELS)]
    if workload.node_ids is not None:
        found += [("node_ids", workload.node_ids.values), ("node_ids offsets", workload.node_ids.offsets)]
    for name in sorted(workload.traces):
        trace = workload.traces[name]
        found += [(f"{name} {part}", getattr(trace, part)) for part in ("values", "offsets", "start", "quantum")]
    return found + [(f"extra {name}", workload.extra[name]) for name in sorted(workload.extra)]


def _table(workload: Workload) -> pa.Table:
    columns: list[pa.Array] = []
    fields: list[pa.Field] = []

    def add(name: str, column: pa.Array, **notes: str) -> None:
        columns.append(column)
        fields.append(pa.field(name, column.type, metadata=notes))

    for name, notes in NUMBERS.items():
        values = getattr(workload, name)
        if name == "nodes":
            notes = notes | {"unit": workload.unit}
        add(name, pa.array(values, mask=values == UNKNOWN if name == "start" else None), **notes)
    for name, labels in LABELS.items():
        codes = getattr(workload, name)
        column = pa.DictionaryArray.from_arrays(
            pa.array(codes, mask=codes < 0), pa.array(getattr(workload, labels), pa.string())
        )
        add(name, column, meaning=f"{name}; null: unknown")
    if workload.node_ids is not None:
        add("node_ids", _lists(workload.node_ids), meaning="recorded node numbers")
    for name, trace in workload.traces.items():
        add(f"trace.{name}", _lists(trace), unit=trace.unit)
        add(f"trace.{name}.start", pa.array(trace.start), unit="s", meaning="first sample after the job's start")
        add(f"trace.{name}.quantum", pa.array(trace.quantum), unit="s", meaning="between samples; 0: one for the job")
    for name, values in workload.extra.items():
        add(f"extra.{name}", pa.array(values), dtype=values.dtype.str)
    about = {
        "version": VERSION,
        **{key: getattr(workload, key) for key in ABOUT},
        "report": workload.report.to_dict(),
        "names": {labels: list(getattr(workload, labels)) for labels in LABELS.values()},
    }
    return pa.Table.from_arrays(columns, schema=pa.schema(fields, metadata={KEY: json.dumps(about)}))


def _fields(table: pa.Table, about: dict[str, Any]) -> dict[str, Any]:
    fields: dict[str, Any] = {key: about[key] for key in ABOUT}
    fields["report"] = Report.from_dict(about["report"])
    for name in NUMBERS:
        column = table[name]
        fields[name] = (column.fill_null(UNKNOWN) if name == "start" else column).to_numpy()
    for name, labels in LABELS.items():
        fields[labels] = tuple(about["names"][labels])
        place = {text: code for code, text in enumerate(fields[labels])}
        fields[name] = _codes(table[name], place)
    if "node_ids" in table.column_names:
        fields["node_ids"] = Ragged(*_flat(table["node_ids"], np.int32))
    fields["traces"], fields["extra"] = {}, {}
    for name in table.column_names:
        kind, _, key = name.partition(".")
        notes = {text.decode(): value.decode() for text, value in (table.schema.field(name).metadata or {}).items()}
        if kind == "extra":
            fields["extra"][key] = table[name].to_numpy().astype(notes["dtype"])
        elif kind == "trace" and "." not in key:
            start, quantum = (table[f"{name}.{part}"].to_numpy() for part in ("start", "quantum"))
            fields["traces"][key] = Trace(*_flat(table[name], np.float32), start, quantum, notes["unit"])
    return fields


def _lists(ragged: Ragged) -> pa.Array:
    return pa.LargeListArray.from_arrays(pa.array(ragged.offsets), pa.array(ragged.values))


def _flat(column: pa.ChunkedArray, dtype: type[np.generic]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    lengths = [np.asarray(chunk.value_lengths(), dtype=np.int64) for chunk in column.chunks]
    values = [np.asarray(chunk.flatten(), dtype=dtype) for chunk in column.chunks]
    offsets = np.concatenate([np.zeros(1, dtype=np.int64), *lengths])
    return np.concatenate([np.empty(0, dtype=dtype), *values]), np.cumsum(offsets)


def _codes(column: pa.ChunkedArray, place: dict[str, int]) -> npt.NDArray[np.int32]:
    """Return codes in the order of the names that were written; the file may have ordered them anew."""
    parts = []
    for chunk in column.chunks:
        anew = np.array([*(place[text] for text in chunk.dictionary.to_pylist()), -1], dtype=np.int32)
        parts.append(anew[chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False)])
    return np.concatenate(parts)
