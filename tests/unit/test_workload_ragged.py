"""Ragged columns and traces against lists of lists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twin_gym.errors import WorkloadError
from twin_gym.ragged import Ragged, Trace

ROWS = st.lists(st.lists(st.integers(0, 99), max_size=5), max_size=8)


def rows_of(ragged: Ragged) -> list[list[int]]:
    return [ragged[row].tolist() for row in range(len(ragged))]


@given(ROWS, st.data())
def test_taking_rows(rows: list[list[int]], data: st.DataObject) -> None:
    ragged = Ragged.from_rows(rows)
    assert rows_of(ragged) == rows
    assert ragged.lengths.tolist() == list(map(len, rows))
    start, stop = data.draw(st.integers(0, 9)), data.draw(st.integers(0, 9))
    step = data.draw(st.integers(1, 3))
    assert rows_of(ragged.take(slice(start, stop, step))) == rows[start:stop:step]
    if rows:
        index = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=6))
        assert rows_of(ragged.take(np.array(index, dtype=np.int64))) == [rows[i] for i in index]


@given(st.lists(ROWS, min_size=1, max_size=3))
def test_joining(parts: list[list[list[int]]]) -> None:
    assert rows_of(Ragged.join([Ragged.from_rows(part) for part in parts])) == [row for part in parts for row in part]


def test_rows_count_from_the_end_too() -> None:
    ragged = Ragged.from_rows([[1], [2, 3]])
    assert ragged[-1].tolist() == [2, 3]
    with pytest.raises(IndexError):
        ragged[2]


@pytest.mark.parametrize("offsets", [[], [1, 2], [0, 3], [0, 2, 1, 2]])
def test_offsets_must_fit(offsets: list[int]) -> None:
    with pytest.raises(WorkloadError, match="must rise from 0 to 2"):
        Ragged(np.array([7, 8]), np.array(offsets))


def test_scalars_have_one_value_or_none() -> None:
    trace = Trace.scalars([0.5, np.nan, 1.0], "1")
    assert rows_of(trace) == [[0.5], [], [1.0]]
    assert trace.quantum.tolist() == [0, 0, 0]
    assert trace.values.dtype == np.float32


def test_a_trace_keeps_its_clock() -> None:
    ragged = Ragged.from_rows([[1.0, 2.0], [3.0]], np.float32)
    trace = Trace(ragged.values, ragged.offsets, np.array([0, 7]), np.array([15, 20]), "W")
    part = trace.take(np.array([1]))
    assert (rows_of(part), part.start.tolist(), part.quantum.tolist(), part.unit) == ([[3.0]], [7], [20], "W")
    with pytest.raises(WorkloadError, match="W and kW"):
        Trace.join([trace, Trace.scalars([1.0], "kW")])
    with pytest.raises(WorkloadError, match="2 jobs needs as many values of 'start', not 1"):
        Trace(ragged.values, ragged.offsets, np.array([0]), np.array([15, 20]), "W")
    with pytest.raises(WorkloadError, match="quantum of a trace is negative"):
        Trace(ragged.values, ragged.offsets, np.array([0, 0]), np.array([15, -1]), "W")
