"""Random small workloads with everything that a workload may hold."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from twin_gym.ragged import Ragged, Trace
from twin_gym.workload import UNKNOWN, Status, Workload

SECONDS = st.integers(0, 2_000_000)
NAMES = st.sampled_from(["alice", "bob", "Zoë", "7", "007", "a b", ""])


def lists(element: st.SearchStrategy[Any], jobs: int) -> st.SearchStrategy[list[Any]]:
    return st.lists(element, min_size=jobs, max_size=jobs)


@st.composite
def workloads(draw: st.DrawFn, *, rich: bool = True, max_jobs: int = 12) -> Workload:
    """Draw a workload; with `rich`, one with traces, node lists, further columns and priorities."""
    jobs = draw(st.integers(1, max_jobs))
    submit = np.array(sorted(draw(lists(SECONDS, jobs))))
    waits = np.array(draw(lists(st.one_of(st.none(), st.integers(0, 50_000)), jobs)), dtype=object)
    start = np.array([UNKNOWN if wait is None else s + wait for s, wait in zip(submit, waits, strict=True)])
    columns: dict[str, Any] = {
        "id": draw(st.lists(st.integers(1, 10**9), min_size=jobs, max_size=jobs, unique=True)),
        "submit": submit,
        "runtime": draw(lists(st.integers(1, 500_000), jobs)),
        "requested_time": draw(lists(st.integers(1, 500_000), jobs)),
        "nodes": draw(lists(st.integers(1, 2**31 - 1), jobs)),
        "start": start,
        "user": draw(lists(st.one_of(st.none(), NAMES), jobs)),
        "account": draw(lists(st.one_of(st.none(), st.integers(0, 5)), jobs)),
        "partition": draw(lists(NAMES, jobs)),
        "status": draw(lists(st.sampled_from(list(Status)), jobs)),
        "capacity": draw(st.one_of(st.none(), st.integers(1, 10**6))),
        "unit": draw(st.sampled_from(["node", "processor"])),
        "epoch": draw(st.sampled_from([0, 1, 1_600_000_000])),
    }
    if rich:
        rows = lists(st.lists(st.integers(0, 1000), max_size=4), jobs)
        samples = lists(st.lists(st.floats(0, 1e6, width=32), max_size=4), jobs)
        trace = Ragged.from_rows(draw(samples), np.float32)
        columns |= {
            "priority": draw(lists(st.floats(allow_infinity=False), jobs)),
            "node_ids": Ragged.from_rows(draw(rows)),
            "traces": {
                "cpu": Trace.scalars(draw(lists(st.floats(0, 1, width=32), jobs)), "1"),
                "node_power": Trace(
                    trace.values, trace.offsets, np.arange(jobs), np.full(jobs, draw(st.integers(0, 60))), "W"
                ),
            },
            "extra": {
                "node name": np.array(draw(lists(st.text("abcä", max_size=3), jobs)), dtype=np.str_),
                "gpus": np.array(draw(lists(st.integers(-128, 127), jobs)), dtype=np.int8),
                "score": np.array(draw(lists(st.floats(), jobs))),
            },
            "header": draw(st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3)),
            "name": draw(st.text(max_size=5)),
        }
    return Workload.build(**columns)
