"""The walk over events against seconds one by one, on random jobs, traces and machines."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import twin_gym as tg
from reference import power as reference
from twin_gym.power import PowerModel, power_history
from twin_gym.ragged import Trace


def small(missing: bool, down: bool) -> tg.System:
    """Two CDUs of two racks of two chassis of two nodes."""
    data = tg.System.load("frontier").to_dict()
    data |= {"name": "small", "cooling": None}
    (part,) = data["partitions"].values()
    part["topology"] |= {
        "cdus": 2, "racks_per_cdu": 2, "nodes_per_rack": 4, "chassis_per_rack": 2, "nodes_per_blade": 1,
        "missing_racks": [1] if missing else [], "down_nodes": [9] if down else [],
    }  # fmt: skip
    part["conversion"]["load_sharing_threshold_w"] = 2000.0
    part["jobs"]["max_nodes"] = None
    return tg.System.from_dict(data)


SYSTEMS = [small(missing, down) for missing in (False, True) for down in (False, True)]


@st.composite
def traces(draw, jobs):
    rows = [draw(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), max_size=6)) for _ in range(jobs)]
    quantum = [draw(st.sampled_from([0, 1, 3, 7])) if len(row) == 1 else draw(st.integers(1, 9)) for row in rows]
    start = [draw(st.integers(-4, 12)) for _ in rows]
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    return Trace(np.concatenate([np.zeros(0), *rows]), offsets, np.array(start), np.array(quantum), "1")


@settings(max_examples=150)
@given(data=st.data(), system=st.sampled_from(SYSTEMS), smart=st.booleans(), backfill=st.sampled_from(["none", "easy"]))
def test_every_second_of_every_run(data, system, smart, backfill):
    jobs = data.draw(st.integers(1, 6))
    column = lambda low, high: data.draw(st.lists(st.integers(low, high), min_size=jobs, max_size=jobs))  # noqa: E731
    workload = tg.Workload.build(
        id=range(jobs),
        submit=sorted(column(0, 40)),
        runtime=column(1, 30),
        requested_time=column(1, 30),
        nodes=column(1, system.nodes),
        traces={"cpu": data.draw(traces(jobs)), "gpu": data.draw(traces(jobs))},
    )
    result = tg.simulate(system, workload, "fcfs", backfill, placement="lowest")
    model = PowerModel(system, load_sharing="smart" if smart else "equal")
    resolution = data.draw(st.sampled_from([1, 4, 15]))
    history = power_history(result, model, per_cdu=resolution)
    start, end = (result.jobs[name].tolist() for name in ("start", "end"))
    seconds = range(result.begin, result.finish)
    truth = [
        reference.machine(system, workload, start, end, list(map(result.placement.__getitem__, range(jobs))), s,
                          smart=smart) for s in seconds
    ]  # fmt: skip
    total, it, cdus = (np.array(values) for values in zip(*truth, strict=True))
    place = np.searchsorted(history.time, np.array(seconds), side="right") - 1
    np.testing.assert_allclose(history.total[place], total, rtol=1e-10)
    np.testing.assert_allclose(history.it[place], it, rtol=1e-10)
    np.testing.assert_allclose(history.total - history.it - history.loss, model.pumps, rtol=1e-9, atol=1e-6)
    assert history.energy() == pytest.approx(total.sum(), rel=1e-10)

    edges = range(0, len(total), resolution)
    table = history.bins(resolution)
    np.testing.assert_allclose(table["total"], [total[e : e + resolution].mean() for e in edges], rtol=1e-10)
    np.testing.assert_allclose(table["total_min"], [total[e : e + resolution].min() for e in edges], rtol=1e-10)
    np.testing.assert_allclose(table["total_max"], [total[e : e + resolution].max() for e in edges], rtol=1e-10)
    heat = [cdus[e : e + resolution].mean(axis=0) for e in edges]
    np.testing.assert_allclose(history.heat(), heat, rtol=1e-10)
