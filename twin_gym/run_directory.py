"""A run directory: what is written of a `Result`, at once and whole or not at all, and how it is read back.

==========================  ====================================================================================
``config.yaml``             what was run: version, system, workload (with fingerprint) and every scheduling choice
``job_history.parquet``     one row for each job, as `Result.jobs`; ``job_history.csv`` on request
``attempts.parquet``        runs that an outage cut short and whose jobs were queued again; only if there were any
``naps.parquet``            when nodes were switched off, on again, and booted; only if there were any
``paces.parquet``           frequency of the running jobs, if a power cap slowed them
``queue_history.parquet``   jobs that wait, one row for each change
``running_history.parquet`` jobs that run, one row for each change
``util.parquet``            busy and free nodes and their share, one row for each change
``stats.json``              `Result.summary`, the clock and what the engine counted
``figures/*.png``           pictures
``power_history`` ...       what `twin_gym.facility_files` writes, if the run was also looked at as a facility
==========================  ====================================================================================

Times are seconds since the workload's epoch, which ``config.yaml`` holds if it is known; units stand in the Parquet
schemas. The same run gives the same bytes: nothing written depends on when or where it was.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import yaml

from twin_gym import metrics
from twin_gym.config import Multifactor, RunConfig, Slowing
from twin_gym.errors import ResultError, TwinGymError
from twin_gym.outcome import Attempts, Naps, Outcome, Paces, Scenario
from twin_gym.ragged import Ragged
from twin_gym.result import Result
from twin_gym.states import JobState
from twin_gym.workload import UNKNOWN

if TYPE_CHECKING:
    from twin_gym.facility import Facility

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_log = logging.getLogger("twin_gym")

_CHUNK = 1 << 20  # jobs in a row group: bounds the memory that writing takes
_MARKS = ("config.yaml", "job_history.parquet", "stats.json")  # what makes a directory a run
_SECONDS = {"unit": "s"}
_COLUMNS = pa.schema(
    [
        pa.field("id", pa.int64(), metadata={"meaning": "job number"}),
        pa.field("submit", pa.int64(), metadata={**_SECONDS, "meaning": "since the epoch"}),
        pa.field("start", pa.int64(), metadata={**_SECONDS, "meaning": "of the last attempt, since the epoch"}),
        pa.field("end", pa.int64(), metadata={**_SECONDS, "meaning": "since the epoch"}),
        pa.field("nodes", pa.int32(), metadata={"meaning": "requested"}),
        pa.field("wait", pa.int64(), metadata={**_SECONDS, "meaning": "start - submit"}),
        pa.field("runtime", pa.int64(), metadata={**_SECONDS, "meaning": "end - start"}),
        pa.field("requested_time", pa.int64(), metadata=_SECONDS),
        pa.field("turnaround", pa.int64(), metadata={**_SECONDS, "meaning": "end - submit"}),
        pa.field("slowdown", pa.float64(), metadata={"unit": "1"}),
        pa.field("bounded_slowdown", pa.float64(), metadata={"unit": "1", "meaning": "bound tau: see config.yaml"}),
        pa.field("state", pa.dictionary(pa.int8(), pa.string()), metadata={"meaning": "at the end of the run"}),
        pa.field("user", pa.dictionary(pa.int32(), pa.string()), metadata={"meaning": "null: unknown"}),
        pa.field("account", pa.dictionary(pa.int32(), pa.string()), metadata={"meaning": "null: unknown"}),
        pa.field("partition", pa.dictionary(pa.int32(), pa.string()), metadata={"meaning": "null: unknown"}),
        pa.field("priority", pa.float64(), metadata={"meaning": "recorded; null: unknown"}),
        pa.field("restarts", pa.int32(), metadata={"meaning": "after an outage"}),
        pa.field("initial", pa.bool_(), metadata={"meaning": "was running when the window began"}),
    ],
    metadata={"twin_gym.format": "1"},
)
_NODE_IDS = pa.field("node_ids", pa.large_list(pa.int32()), metadata={"meaning": "nodes of the last attempt"})


# ---------------------------------------------------------------------------------------------------- writing


def write(
    result: Result, directory: Path, *, csv: bool, figures: bool, overwrite: bool, facility: Facility | None = None
) -> Path:
    """Write a run; see `Result.save`.

    Raises
    ------
    ResultError
        If something else is there already, or the directory can't be written.
    """
    target = directory.expanduser().resolve()
    # beside the target: only within one file system is a rename atomic
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    try:
        replaces = _is_taken(target, overwrite)
        partial.mkdir(parents=True)
        _write_files(result, partial, csv=csv, figures=figures, facility=facility)
        _publish(partial, target, replaces)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else " ".join(str(error).split())
        remedy = "free some space or choose" if error.errno in _FULL else "choose"
        raise ResultError(f"The run can't be written to {directory}: {reason}; {remedy} another directory.") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    if replaces:
        _log.warning("The run that was in %s has been replaced.", directory)
    return directory


def _is_taken(target: Path, overwrite: bool) -> bool:
    """Say whether a run is to be replaced; refuse to touch anything else."""
    if not target.exists():
        return False
    if not target.is_dir():
        raise ResultError(f"{target} is a file; name a directory for the run.")
    if not any(target.iterdir()):
        return False
    if not all((target / mark).exists() for mark in _MARKS):
        raise ResultError(f"{target} holds something else than a run; name a new or empty directory.")
    if not overwrite:
        raise ResultError(f"{target} holds a run already; name another directory, or replace it with overwrite=True.")
    return True


def _publish(partial: Path, target: Path, replaces: bool) -> None:
    """Give a finished directory its name."""
    if not replaces:
        partial.rename(target)
        return
    old = partial.with_suffix(".replaced")
    target.rename(old)
    try:
        partial.rename(target)
    except BaseException:  # Ctrl-C among them
        old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _write_files(result: Result, folder: Path, *, csv: bool, figures: bool, facility: Facility | None) -> None:
    (folder / "config.yaml").write_text(_config(result), encoding="utf-8")
    _write_jobs(result, folder, csv=csv)
    lost = result.attempts
    if len(lost):
        columns = {"id": result.outcome.id[lost.job], "row": lost.job, "start": lost.start, "end": lost.end}
        pq.write_table(pa.table(columns), folder / "attempts.parquet", compression="zstd")
    if len(result.naps):
        naps = {name: getattr(result.naps, name) for name in ("node", "off", "on", "ready")}
        pq.write_table(pa.table(naps), folder / "naps.parquet", compression="zstd")
    if len(result.paces):
        paces = {"time": result.paces.time, "frequency": result.paces.frequency}
        pq.write_table(pa.table(paces), folder / "paces.parquet", compression="zstd")
    _write_history(result, folder, "queue_history", ["queued"])
    _write_history(result, folder, "running_history", ["running"])
    _write_history(result, folder, "util", ["busy_nodes", "free_nodes", "utilization"])
    stats = {"summary": result.summary, "clock": result.clock, "counters": dict(result.counters)}
    if facility is not None:
        stats["facility"] = facility.summary
    (folder / "stats.json").write_text(json.dumps(stats, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    if figures:
        from twin_gym import plots

        (folder / "figures").mkdir()
        for name, figure in plots.portrait(result):
            figure.savefig(folder / "figures" / f"{name}.png")
    if facility is not None:
        facility.write(folder, figures=figures)


def _config(result: Result) -> str:
    scenario = result.scenario
    if scenario.fingerprint is None and result.workload is not None:
        scenario = replace(scenario, fingerprint=result.workload.fingerprint())
    document = {"twin_gym": version("twin-gym"), "scenario": asdict(scenario), "run": result.config.to_dict()}
    text: str = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
    return "# What was run. twin_gym.Result.load reads this directory.\n" + text


def _write_jobs(result: Result, folder: Path, *, csv: bool) -> None:
    schema = _COLUMNS if result.placement is None else _COLUMNS.append(_NODE_IDS)
    with pq.ParquetWriter(folder / "job_history.parquet", schema, compression="zstd") as file:
        for batch in _batches(result, schema):
            file.write_batch(batch)
    if csv:
        plain = pa.schema(
            [pa.field(f.name, pa.string() if pa.types.is_dictionary(f.type) else f.type) for f in _COLUMNS]
        )
        with pyarrow.csv.CSVWriter(folder / "job_history.csv", plain) as file:
            for batch in _batches(result, _COLUMNS):
                file.write_table(pa.Table.from_batches([batch]).cast(plain))


def _batches(result: Result, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the job table in pieces."""
    for first in range(0, len(result.outcome), _CHUNK):
        yield pa.RecordBatch.from_arrays(_job_columns(result, slice(first, first + _CHUNK), schema), schema=schema)


def _job_columns(result: Result, rows: slice, schema: pa.Schema) -> list[pa.Array]:
    o = result.outcome
    submit, start, end = o.submit[rows], o.start[rows], o.end[rows]
    waits, runs = start == UNKNOWN, end == UNKNOWN
    wait = np.where(waits, 0, start - submit)
    runtime = np.where(runs, 0, end - start)
    columns = {
        "id": o.id[rows],
        "submit": submit,
        "start": pa.array(start, mask=waits),
        "end": pa.array(end, mask=runs),
        "nodes": o.nodes[rows],
        "wait": pa.array(wait, mask=waits),
        "runtime": pa.array(runtime, mask=runs),
        "requested_time": o.requested_time[rows],
        "turnaround": pa.array(wait + runtime, mask=runs),
        "slowdown": pa.array(metrics.slowdown(wait, runtime), from_pandas=True),
        "bounded_slowdown": pa.array(metrics.bounded_slowdown(wait, runtime, result.config.tau), mask=runs),
        "state": _labels(o.state[rows], tuple(state.name for state in JobState)),
        "user": _labels(o.user[rows], o.users),
        "account": _labels(o.account[rows], o.accounts),
        "partition": _labels(o.partition[rows], o.partitions),
        "priority": pa.array(o.priority[rows], from_pandas=True),
        "restarts": result.restarts[rows],
        "initial": o.initial[rows],
    }
    if result.placement is not None and "node_ids" in schema.names:
        taken = result.placement.take(rows)
        columns["node_ids"] = pa.LargeListArray.from_arrays(pa.array(taken.offsets), pa.array(taken.values, pa.int32()))
    return [pa.array(columns[name]) for name in schema.names]


def _labels(codes: npt.NDArray[Any], names: tuple[str, ...]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), pa.array(names, pa.string()))


def _write_history(result: Result, folder: Path, name: str, columns: list[str]) -> None:
    """Write some columns of the timeline, only the rows in which one of them changes."""
    timeline = result.timeline
    values = timeline[columns[0]].to_numpy()  # the others of a file follow from it
    changes = np.append(True, values[1:] != values[:-1])
    table = pa.table({column: timeline[column].to_numpy()[changes] for column in ("time", *columns)})
    units = {"time": "s since the epoch", "queued": "jobs", "running": "jobs", "utilization": "1"}
    fields = [field.with_metadata({"unit": units.get(field.name, "nodes")}) for field in table.schema]
    pq.write_table(table.cast(pa.schema(fields)), folder / f"{name}.parquet", compression="zstd")


# ---------------------------------------------------------------------------------------------------- reading


def read(directory: Path) -> Result:
    """Read a run; see `Result.load`.

    Raises
    ------
    ResultError
        If the directory is no run, or a file in it is damaged.
    """
    folder = directory.expanduser()
    if not folder.is_dir():
        raise ResultError(f"{directory} is no directory; name one that Result.save or twin-gym simulate has written.")
    missing = [mark for mark in _MARKS if not (folder / mark).is_file()]
    if missing:
        raise ResultError(f"{directory} is no run: {missing[0]} is missing.")
    config, scenario = _parse(folder / "config.yaml", _read_config)
    clock, counters = _parse(folder / "stats.json", _read_stats)
    outcome, placement = _parse(folder / "job_history.parquet", _read_jobs)
    attempts = Attempts()
    if (folder / "attempts.parquet").exists():
        attempts = _parse(folder / "attempts.parquet", _read_attempts)
    naps = Naps()
    if (folder / "naps.parquet").exists():
        naps = _parse(folder / "naps.parquet", _read_naps)
    paces = Paces()
    if (folder / "paces.parquet").exists():
        paces = _parse(folder / "paces.parquet", _read_paces)
    return Result(config, scenario, outcome, attempts, placement, counters, clock, naps=naps, paces=paces)


def _parse(path: Path, reader: Any) -> Any:
    try:
        return reader(path)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "it is damaged"
        raise ResultError(f"{path} can't be read: {reason}.") from None
    except TwinGymError as error:
        raise ResultError(f"{path} can't be used: {error}") from None
    except (ValueError, KeyError, TypeError, AttributeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ResultError(f"{path} is damaged or of another version of twin_gym ({reason}).") from None


def _read_config(path: Path) -> tuple[RunConfig, Scenario]:
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    run = document["run"]
    parts = {"multifactor": Multifactor(**run["multifactor"]), "slowing": Slowing(**run["slowing"])}
    return RunConfig(**{**run, **parts}), Scenario(**document["scenario"])


def _read_stats(path: Path) -> tuple[int, dict[str, int]]:
    stats = json.loads(path.read_text(encoding="utf-8"))
    return int(stats["clock"]), {str(name): int(count) for name, count in stats["counters"].items()}


def _read_attempts(path: Path) -> Attempts:
    table = pq.read_table(path)
    return Attempts(*(table[name].to_numpy() for name in ("row", "start", "end")))


def _read_naps(path: Path) -> Naps:
    table = pq.read_table(path)
    return Naps(*(table[name].to_numpy() for name in ("node", "off", "on", "ready")))


def _read_paces(path: Path) -> Paces:
    table = pq.read_table(path)
    return Paces(table["time"].to_numpy(), table["frequency"].to_numpy())


def _read_jobs(path: Path) -> tuple[Outcome, Ragged | None]:
    table = pq.read_table(path)
    state, states = _codes(table["state"])
    places = np.array([JobState[name] for name in states], np.int8)
    columns: dict[str, Any] = {"state": places[state]}
    for name in ("id", "submit", "nodes", "requested_time", "priority", "initial"):
        columns[name] = table[name].to_numpy()
    for name in ("start", "end"):
        columns[name] = table[name].fill_null(UNKNOWN).to_numpy()
    for name, names in (("user", "users"), ("account", "accounts"), ("partition", "partitions")):
        columns[name], columns[names] = _codes(table[name])
    placement = None
    if "node_ids" in table.column_names:
        lists = table["node_ids"].combine_chunks()
        placement = Ragged(lists.flatten().to_numpy(), lists.offsets.to_numpy())
    return Outcome(**columns), placement


def _codes(column: pa.ChunkedArray) -> tuple[npt.NDArray[np.int32], tuple[str, ...]]:
    merged = column.unify_dictionaries().combine_chunks()
    return merged.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32), tuple(
        merged.dictionary.to_pylist()
    )
