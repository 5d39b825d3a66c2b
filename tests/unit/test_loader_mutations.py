"""Spoilt files: every loader answers with a clear sentence or counts what it leaves out; nothing else gets through."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from twin_gym import datasets
from twin_gym.datasets.lookalike import fake
from twin_gym.errors import TwinGymError
from twin_gym.workload import Workload

JOBS = 60

# the file of jobs of each look-alike that has one with titles, its submit, start and end, and number
TABLES = {
    "pm100": ("job_table.parquet", "submit_time", "start_time", "end_time", "job_id"),
    "fdata": ("23_03.parquet", "adt", "sdt", "edt", "jid"),
    "adastra": ("AdastaJobsMI250_15days.parquet", "submit_time", "start_time", "end_time", "job_id"),
    "kestrel": ("kestrel_jobs.parquet", "submit_time", "start_time", "end_time", "job_id"),
    "frontier": ("joblive/part-0.parquet", "time_submission", "time_start", "time_end", "allocation_id"),
    "last": (
        "final_csm_allocation_history_hashed.csv", "job_submit_time", "begin_time", "end_time", "allocation_id",
    ),
    "supercloud": ("slurm-log.csv", "time_submit", "time_start", "time_end", "id_job"),
    "aurora": (
        "ANL-ALCF-DJC-AURORA_20250127_20251031.csv", "QUEUED_TIMESTAMP", "START_TIMESTAMP", "END_TIMESTAMP", "JOB_NAME",
    ),
}  # fmt: skip
NAMES = sorted(TABLES)

SERIES = ("cpu", "gpu")
"""Folders that aren't copied: hundreds of files, and not those that are spoilt."""

Change = Callable[[pa.Table], pa.Table]


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("originals")
    for name in NAMES:
        fake(name, jobs=JOBS, out=folder / name, seed=5)
    return {name: folder / name for name in NAMES}


def read(path: Path) -> pa.Table:
    return pq.read_table(path) if path.suffix == ".parquet" else pc.read_csv(path)


def spoilt(folder: Path, name: str, tmp_path: Path, change: Change) -> Path:
    """Copy a look-alike with its table of jobs changed."""
    target = tmp_path / name
    for file in folder.rglob("*"):
        if file.is_file() and file.parent.name not in SERIES:
            copy = target / file.relative_to(folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(file.read_bytes())
    path = target / TABLES[name][0]
    table = change(read(path))
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        pc.write_csv(table, path)
    return target


def answer(name: str, folder: Path) -> Workload | str:
    """Return what was loaded, or the one sentence that says why not; anything else is an error of the test."""
    try:
        return datasets.load(name, folder, cache=False)
    except TwinGymError as error:
        text = str(error)
        assert "\n" not in text
        assert text.endswith(".")
        return text


def replaced(table: pa.Table, column: str, values: pa.Array) -> pa.Table:
    return table.set_column(table.column_names.index(column), column, values)


@pytest.mark.parametrize("name", NAMES)
def test_a_column_is_gone(name: str, originals: dict[str, Path], tmp_path: Path) -> None:
    folder = originals[name]
    whole = datasets.load(name, folder, cache=False)
    for column in read(folder / TABLES[name][0]).column_names:
        answered = answer(
            name, spoilt(folder, name, tmp_path, lambda table, column=column: table.drop_columns([column]))
        )
        if isinstance(answered, str):
            assert f"'{column}'" in answered
        else:
            assert len(answered) == len(whole)


@pytest.mark.parametrize("name", NAMES)
def test_a_column_is_empty(name: str, originals: dict[str, Path], tmp_path: Path) -> None:
    folder = originals[name]
    for column in read(folder / TABLES[name][0]).column_names:

        def emptied(table: pa.Table, column: str = column) -> pa.Table:
            return replaced(table, column, pa.nulls(len(table), table[column].type))

        answered = answer(name, spoilt(folder, name, tmp_path, emptied))
        if isinstance(answered, Workload):
            assert len(answered) + answered.report.dropped == answered.report.read


@pytest.mark.parametrize("name", NAMES)
def test_a_column_holds_words(name: str, originals: dict[str, Path], tmp_path: Path) -> None:
    folder = originals[name]
    for column in read(folder / TABLES[name][0]).column_names:

        def worded(table: pa.Table, column: str = column) -> pa.Table:
            return replaced(table, column, pa.array(["words"] * len(table)))

        answered = answer(name, spoilt(folder, name, tmp_path, worded))
        if isinstance(answered, Workload):
            assert len(answered) + answered.report.dropped == answered.report.read


@pytest.mark.parametrize("name", NAMES)
def test_times_run_backwards(name: str, originals: dict[str, Path], tmp_path: Path) -> None:
    _, submit, start, end, _ = TABLES[name]

    def swapped(table: pa.Table) -> pa.Table:
        starts, ends = table[start], table[end]
        return replaced(
            replaced(table, start, ends.cast(starts.type, safe=False)), end, starts.cast(ends.type, safe=False)
        )

    answered = answer(name, spoilt(originals[name], name, tmp_path, swapped))
    assert isinstance(answered, str)
    assert "never_ran" in answered

    def late(table: pa.Table) -> pa.Table:
        return replaced(table, submit, table[end].cast(table[submit].type, safe=False))

    answered = answer(name, spoilt(originals[name], name, tmp_path, late))
    assert isinstance(answered, Workload)
    assert answered.report.count("start_before_submit") > len(answered) / 2


@pytest.mark.parametrize("name", NAMES)
def test_a_number_stands_twice(name: str, originals: dict[str, Path], tmp_path: Path) -> None:
    def doubled(table: pa.Table) -> pa.Table:
        return pa.concat_tables([table, table.slice(len(table) - 5)])

    whole = datasets.load(name, originals[name], cache=False)
    answered = answer(name, spoilt(originals[name], name, tmp_path, doubled))
    assert isinstance(answered, Workload)
    assert len(set(answered.id.tolist())) == len(answered)
    again = (
        answered.report.count("duplicate_id") + answered.report.count("repeated_row") + answered.report.count("no_id")
    )
    assert again >= 4
    assert len(whole) <= len(answered) <= len(whole) + 5


@pytest.mark.parametrize("name", NAMES)
def test_no_row(name: str, originals: dict[str, Path], tmp_path: Path) -> None:
    answered = answer(name, spoilt(originals[name], name, tmp_path, lambda table: table.slice(0, 0)))
    assert isinstance(answered, str)


@pytest.mark.parametrize("name", NAMES)
def test_half_a_file(name: str, originals: dict[str, Path], tmp_path: Path) -> None:
    folder = spoilt(originals[name], name, tmp_path, lambda table: table)
    path = folder / TABLES[name][0]
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    answered = answer(name, folder)
    if path.suffix == ".parquet":
        assert isinstance(answered, str)
    path.write_bytes(b"")
    assert isinstance(answer(name, folder), str)


@pytest.mark.parametrize("name", ["pm100", "adastra", "kestrel"])
def test_empty_arrays(name: str, originals: dict[str, Path], tmp_path: Path) -> None:
    def emptied(table: pa.Table) -> pa.Table:
        for column in table.column_names:
            if pa.types.is_list(table[column].type):
                empty = pa.array([[]] * len(table), table[column].type)
                table = replaced(table, column, empty)
        return table

    answered = answer(name, spoilt(originals[name], name, tmp_path, emptied))
    assert isinstance(answered, Workload)
    assert answered.report.count("no_samples") == len(answered)
    assert all(len(trace.values) == 0 for trace in answered.traces.values())


@pytest.mark.parametrize("name", ["pm100", "adastra", "kestrel"])
def test_numbers_beyond_reason_in_arrays(name: str, originals: dict[str, Path], tmp_path: Path) -> None:
    def huge(table: pa.Table) -> pa.Table:
        for column in table.column_names:
            if "power" in column:
                lists = table[column].combine_chunks()
                values = np.full(len(lists.flatten()), 10**12)
                values[::2] = -(10**12)
                kind = lists.type.value_type
                table = replaced(table, column, pa.ListArray.from_arrays(lists.offsets, pa.array(values).cast(kind)))
        return table

    folder = spoilt(originals[name], name, tmp_path, huge)
    options = {"arrays": "W"} if name == "adastra" else {}
    answered = datasets.load(name, folder, cache=False, **options)
    for trace in ("cpu", "gpu"):
        if trace in answered.traces:
            assert np.all((answered.traces[trace].values >= 0) & (answered.traces[trace].values <= 1))
    assert np.all(answered.traces["node_power"].values >= 0)
    assert answered.report.count("clipped") > 0
    assert answered.report.count("negative_counter") > 0
