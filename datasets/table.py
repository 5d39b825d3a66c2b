"""Anybody's job table, CSV or Parquet, by a mapping of its columns: the way out for logs that have no loader.

A table with our own names (``id, submit, runtime, requested_time, nodes, user ...``) needs no mapping; neither does a
Parquet file that twin_gym wrote. For all others a YAML file says what the columns are::

    columns: {id: JobID, submit: Submit, start: Start, end: End, nodes: NNodes, requested_time: Limit, user: User}
    units: {requested_time: min}
    time_zone: Europe/Rome
    states: {done: COMPLETED, killed: TIMEOUT}
"""

from __future__ import annotations

from collections.abc import Generator
from collections.abc import Mapping as AnyMapping
from contextlib import closing
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from twin_gym.errors import OptionError, WorkloadError, suggest
from twin_gym.validation import refuse
from twin_gym.workload import TRACES, UNKNOWN, Trace, Workload
from twin_gym.workload_io import KEY

from ._dates import unix_seconds
from ._hostlists import numbered, placed
from ._mapping import COLUMNS, SPANS, TIMES, Mapping, mapping_of
from ._notes import Notes
from ._text import OTHERS, Progress
from ._watts import fraction
from ._window import Instant, Span, Window, cut, span_of

Ints = npt.NDArray[np.int64]

CHUNK = 1 << 18
"""Rows converted at a time."""

OWN = {"energy": "J", "cpu": "1", "gpu": "1", "node_power": "W", "network_tx": "B/s", "network_rx": "B/s"}
"""Columns of one number per job that become traces, and their unit."""
HIDDEN = "twin_gym: "
"""Marks further columns that are taken out of `extra` again."""


def load(
    path: str | PathLike[str],
    *,
    mapping: str | PathLike[str] | AnyMapping[str, Any] | None = None,
    window: Window = None,
    capacity: int | None = None,
    missing_requests: str = "fallback",
    strict: bool = False,
    progress: Progress | None = None,
) -> Workload:
    """Read a table with one row per job.

    Parameters
    ----------
    path : path
        ``.parquet``, or text with a line of titles (``.csv`` ..., plain or compressed).
    mapping : path of a YAML file or mapping, optional
        What the columns are, see `twin_gym.datasets._mapping.Mapping`. Besides the columns of `Workload.from_frame`:
        ``wait`` (start - submit), ``node_list`` (names of the nodes, ``n[1-3,7]``), ``energy`` (of the whole job; gives
        the trace ``node_power``), and the traces ``cpu``, ``gpu``, ``node_power``, ``network_tx``, ``network_rx`` as
        one number per job, mean over its nodes. Default: the table uses these names itself; further columns are kept.
    window : pair of dates or numbers, optional
        Only jobs that were submitted, waiting or running between two instants (seconds of the table if its times are
        no dates); second 0 becomes the first of them. Other rows are forgotten while reading.
    capacity : int, optional
        Size of the machine; wins over the mapping's.
    missing_requests, strict
        As in `Workload.build`.
    progress : callable, optional
        Called with the bytes or rows read and of all (0 where that isn't known).

    Raises
    ------
    WorkloadError
        If the file can't be read, a column is missing or wrong, or no job is left; names file and column.
    OptionError
        If the mapping or another option has an unknown key or value.
    """
    span = span_of(window)
    place = Path(path)
    if not place.exists():
        raise WorkloadError(f"{place} does not exist; check the path.")
    if mapping is None and _is_ours(place):
        workload = Workload.load(place)
        if strict:
            refuse(workload.report, str(place))
        return cut(workload if capacity is None else replace(workload, capacity=capacity), span)
    meaning = mapping_of(mapping)
    try:
        return _read(place, meaning, span, capacity, missing_requests, strict, progress)
    except WorkloadError as error:
        raise error if str(place) in str(error) else WorkloadError(f"{place}: {error}") from error


def _read(
    path: Path,
    meaning: Mapping,
    span: Span | None,
    capacity: int | None,
    missing_requests: str,
    strict: bool,
    progress: Progress | None,
) -> Workload:
    epoch = _epoch(meaning)
    parts, wrong, lists, row = [], [], set[str](), 0
    with closing(_chunks(path, meaning, progress)) as chunks:
        for chunk in chunks:
            frame, dates = _converted(chunk, meaning, path)
            if "id" not in frame:
                frame["id"] = np.arange(row + 1, row + len(frame) + 1)
            if "node_list" in frame:
                lists.update(frame["node_list"].dropna().unique())
            keep = np.ones(len(frame), dtype=bool) if span is None else _touched(frame, span)
            parts.append(frame[keep])
            wrong.append(dates[keep])
            row += len(frame)
    table = pd.concat(parts, ignore_index=True)
    notes = Notes(_plain(table["id"]), str(path))
    notes.note("no_date", np.concatenate(wrong))
    listed = table.pop("node_list") if "node_list" in table else None
    table = table.rename(columns={name: f"{HIDDEN}{name}" for name in OWN})
    table[f"{HIDDEN}at"] = np.arange(len(table))
    workload = Workload.from_frame(
        table,
        epoch=epoch,
        capacity=capacity or meaning.capacity,
        unit=meaning.unit,
        name=meaning.name or path.name.split(".")[0],
        missing_requests=missing_requests,
    )
    workload = replace(cut(workload, span), origin=str(path))
    if listed is not None:
        workload = _placed(workload, listed, lists)
    workload = notes.onto(_with_traces(workload, meaning))
    extra = {name: column for name, column in workload.extra.items() if not name.startswith(HIDDEN)}
    if strict:
        refuse(workload.report, str(path))
    return replace(workload, extra=extra)


def _is_ours(path: Path) -> bool:
    if path.suffix != ".parquet":
        return False
    try:
        return KEY in (pq.read_schema(path).metadata or {})
    except (pa.ArrowException, OSError):
        return True  # its own reader says what is wrong


def _chunks(path: Path, meaning: Mapping, progress: Progress | None) -> Generator[pd.DataFrame, None, None]:
    """Yield the columns that have a meaning (all of them without a mapping), some rows at a time."""
    if path.suffix == ".parquet":
        try:
            file = pq.ParquetFile(path)
            _require(file.schema_arrow.names, meaning, path)
            done = 0
            for batch in file.iter_batches(CHUNK, columns=_wanted(file.schema_arrow.names, meaning)):
                done += len(batch)
                yield batch.to_pandas()
                if progress is not None:
                    progress(done, file.metadata.num_rows)
        except (pa.ArrowException, OSError) as error:
            raise WorkloadError(f"{path} is no Parquet file or is damaged: {str(error).splitlines()[0]}.") from error
        return
    try:
        with open(path, "rb") as file:
            head = file.read(8)
        for magic, kind in OTHERS.items():
            if head.startswith(magic) and kind == "Parquet":
                raise WorkloadError(f"{path} is a Parquet file; give it a name that ends in .parquet.")
        delimiter = meaning.delimiter or ("\t" if ".tsv" in path.suffixes else ",")
        options: dict[str, Any] = {"sep": delimiter, "engine": "c" if len(delimiter) == 1 else "python"}
        titles = [str(name) for name in pd.read_csv(path, nrows=0, **options).columns]
        _require(titles, meaning, path)
        wanted, done = _wanted(titles, meaning), 0
        # all columns are parsed: asked for some only, pandas takes lines with too many fields without a word
        with pd.read_csv(path, chunksize=CHUNK, **options) as chunks:
            for chunk in chunks:
                done += len(chunk)
                yield chunk[wanted]
                if progress is not None:
                    progress(done, 0)
        if not done:
            yield pd.read_csv(path, **options)[wanted]
    except (ValueError, OSError, EOFError) as error:  # pandas' parser: not a table
        if isinstance(error, WorkloadError | OptionError):
            raise
        reason = " ".join(str(error).split(". ")[0].split()).rstrip(".")
        raise WorkloadError(f"{path} can't be read as a table of jobs with a header line: {reason}.") from error


def _wanted(titles: list[str], meaning: Mapping) -> list[str]:
    if not meaning.columns:
        return titles
    return list(dict.fromkeys([*map(str, meaning.columns.values()), *meaning.keep]))


def _require(titles: list[str], meaning: Mapping, path: Path) -> None:
    for name, title in [*meaning.columns.items(), *((title, title) for title in meaning.keep)]:
        if str(title) not in titles:
            shown = ", ".join(titles[:12]) + (" ..." if len(titles) > 12 else "")
            raise WorkloadError(
                f"{path} has no column '{title}', which the mapping calls {name}; it has {shown}."
                f"{suggest(str(title), titles) if len(titles) > 12 else ''}"
            )


def _converted(chunk: pd.DataFrame, meaning: Mapping, path: Path) -> tuple[pd.DataFrame, npt.NDArray[np.bool_]]:
    """Return a chunk under our names and in our units, and which rows hold something that is no date."""
    names = {name: str(title) for name, title in meaning.columns.items()}
    if not names:
        names = {name: name for name in COLUMNS if name in chunk.columns}
    wrong = np.zeros(len(chunk), dtype=bool)
    found: dict[str, Any] = {}
    for name, title in names.items():
        column = chunk[title].reset_index(drop=True)
        if name in TIMES:
            column, bad = _times(column, name, title, meaning, path)
            wrong |= bad
        elif name in SPANS:
            column = _spans(column, name, title, meaning, path)
        elif name in OWN:
            column = _numbers(column, title, path) * meaning.scale(name)
        elif name == "status" and meaning.states:
            words = {str(word): state for word, state in meaning.states.items()}
            column = column.map(lambda word, words=words: words.get(_text(word)))
        elif name == "node_list":
            column = column.astype("string").str.strip()
        found[name] = column
    for title in meaning.keep if meaning.columns else [title for title in chunk.columns if title not in names.values()]:
        found[str(title)] = chunk[title].reset_index(drop=True)
    if "wait" in found:
        wait = found.pop("wait")
        if "start" not in found and "submit" in found:
            dated = found["submit"].dtype.kind == "M"
            found["start"] = found["submit"] + (pd.to_timedelta(wait, unit="s") if dated else wait)
    return pd.DataFrame(found), wrong


def _text(word: Any) -> str:
    return str(int(word)) if isinstance(word, float) and word.is_integer() else str(word)


def _times(
    column: pd.Series, name: str, title: str, meaning: Mapping, path: Path
) -> tuple[pd.Series, npt.NDArray[np.bool_]]:
    """Return times as they are, as seconds, or as dates in UTC."""
    right = np.zeros(len(column), dtype=bool)
    if pd.api.types.is_numeric_dtype(column.dtype):
        if name in meaning.units:
            column = column * meaning.scale(name)
        if meaning.epoch == "unix" and column.notna().any():
            column = pd.to_datetime(column, unit="s", utc=True)
        return column, right
    dates = unix_seconds(pa.array(column, from_pandas=True), title, str(path), meaning.time_zone)
    known = dates.seconds != UNKNOWN
    seconds = pd.Series(np.where(known, dates.seconds, 0), dtype="int64")
    return pd.to_datetime(seconds, unit="s", utc=True).where(known), dates.wrong


def _spans(column: pd.Series, name: str, title: str, meaning: Mapping, path: Path) -> pd.Series:
    """Return lengths of time in seconds: numbers in the unit of the mapping, or text such as ``1-02:03:04``."""
    if column.dtype.kind == "m":
        return column.dt.total_seconds()
    if not pd.api.types.is_numeric_dtype(column.dtype):
        parts = column.astype("string").str.extract(r"^\s*(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)\s*$")
        clock = parts[3].notna()
        if clock.any():
            numbers = parts.astype("Float64").fillna(0)
            total = numbers[0] * 86_400 + numbers[1] * 3600 + numbers[2] * 60 + numbers[3]
            return total.where(clock).astype("float64")
    return _numbers(column, title, path) * (meaning.scale(name) if name in meaning.units else 1)


def _numbers(column: pd.Series, title: str, path: Path) -> pd.Series:
    numbers = pd.to_numeric(column, errors="coerce")
    wrong = np.flatnonzero(numbers.isna() & column.notna() & (column.astype("string").str.strip() != ""))
    if wrong.size:
        raise WorkloadError(
            f"{path}, column '{title}', row {wrong[0] + 1}: {column.iloc[wrong[0]]!r} is not a number; "
            "correct or remove it."
        )
    return numbers


def _touched(frame: pd.DataFrame, span: Span) -> npt.NDArray[np.bool_]:
    """Tell which rows may matter to a window."""
    if "submit" not in frame:
        return np.ones(len(frame), dtype=bool)
    submit = _plain(frame["submit"])
    if "end" in frame:
        end = _plain(frame["end"])
    elif {"start", "runtime"} <= set(frame) and pd.api.types.is_numeric_dtype(frame["runtime"].dtype):
        start, runtime = _plain(frame["start"]), _plain(frame["runtime"])
        end = np.where((start == UNKNOWN) | (runtime == UNKNOWN), UNKNOWN, start + np.maximum(runtime, 0))
    else:
        end = np.full(len(frame), UNKNOWN)
    return span.touches(submit, end)


def _plain(column: pd.Series) -> Ints:
    if column.dtype.kind == "M":
        numbers = column.dt.tz_localize(None).to_numpy().astype("datetime64[s]").astype(np.int64)
        return np.where(column.isna(), UNKNOWN, numbers)
    values = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    known = np.isfinite(values)
    return np.where(known, np.where(known, values, 0).astype(np.int64), UNKNOWN)


def _epoch(meaning: Mapping) -> int | None:
    if meaning.epoch is None or meaning.epoch == "unix":
        return None
    instant: Instant = meaning.epoch
    span = span_of((instant, None))
    return None if span is None else span.begin


def _placed(workload: Workload, listed: pd.Series, others: set[str]) -> Workload:
    """Give jobs the numbers of their nodes: places in the natural order of all names of the table."""
    nodes = numbered([None if pd.isna(text) or not text else str(text) for text in listed], sorted(others))
    return placed(workload, nodes, np.asarray(workload.extra[f"{HIDDEN}at"]), workload.origin)


def _with_traces(workload: Workload, meaning: Mapping) -> Workload:
    """Turn the columns of one number per job into traces."""
    given = {name: np.asarray(workload.extra.get(f"{HIDDEN}{name}", np.nan), dtype=np.float64) for name in OWN}
    given = {name: values for name, values in given.items() if values.shape and np.isfinite(values).any()}
    energy = given.pop("energy", None)
    if energy is not None and "node_power" not in given:
        given["node_power"] = energy / (workload.runtime * workload.nodes.astype(np.float64))
    elif "node_power" in given and meaning.per_job("node_power"):
        given["node_power"] = given["node_power"] / workload.nodes
    notes = Notes(workload.id, workload.origin)
    for name in ("cpu", "gpu"):
        if name in given:
            values, outside = fraction(given[name])
            given[name] = values.astype(np.float64)
            notes.note("clipped", outside)
    traces = {name: Trace.scalars(given[name], OWN[name]) for name in TRACES if name in given}
    return notes.onto(replace(workload, traces=traces))
