"""The pass under a power cap and with sleeping nodes against its plain-Python twin, and against the ordinary passes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import twin_gym as tg
from reference import powered
from twin_gym.power import PowerModel
from twin_gym.twin import Twin

NODES = 6
SYSTEM = tg.System.uniform(nodes=NODES)
IDLE = PowerModel(SYSTEM).idle
KEYS = {
    "fcfs": lambda job: job.submit,
    "sjf": lambda job: (job.request, job.submit),
    "largest": lambda job: (-job.nodes, job.submit),
}
ROWS = st.lists(
    st.tuples(
        st.integers(0, 60),
        st.integers(1, 60),
        st.integers(1, 60),
        st.integers(1, NODES + 1),
        st.integers(0, 110),
    ),
    min_size=1,
    max_size=12,
)


def system_with(boot: int, shutdown: int) -> tg.System:
    part = SYSTEM.partitions[0]
    return replace(SYSTEM, partitions=(replace(part, states=replace(part.states, boot_s=boot, shutdown_s=shutdown)),))


@pytest.mark.parametrize("backfill", ["none", "firstfit", "easy", "conservative"])
@settings(max_examples=100)
@given(
    rows=ROWS,
    policy=st.sampled_from(sorted(KEYS)),
    depth=st.integers(1, 3),
    cap=st.sampled_from([None, 100, 250]),
    timeout=st.sampled_from([None, 0, 7, 40]),
    boot=st.integers(0, 20),
    shutdown=st.integers(0, 9),
)
def test_every_start_and_every_nap_is_the_definitions(backfill, rows, policy, depth, cap, timeout, boot, shutdown):
    if cap is None and timeout is None:
        cap = 10**6
    rows = sorted(rows, key=lambda row: row[0])
    submit, runtime, request, nodes, watts = (list(column) for column in zip(*rows, strict=True))
    workload = tg.Workload.build(
        id=list(range(len(rows))), submit=submit, runtime=runtime, requested_time=request, nodes=nodes
    )
    twin = Twin(
        system_with(boot, shutdown),
        workload,
        policy=policy,
        backfill=backfill,
        depth=depth if backfill == "easy" else 1,
        power_cap=None if cap is None else IDLE + cap,
        idle_timeout=timeout,
        power=np.array(watts) if cap is not None else None,
    )
    assert twin.advance() == "done"
    result = twin.result()

    jobs = [powered.Job(*row) for row in rows]
    naps = powered.schedule(
        jobs,
        NODES,
        10**9 if cap is None else cap,
        KEYS[policy],
        backfill,
        depth=depth,
        timeout=timeout,
        boot=boot,
        shutdown=shutdown,
    )
    times = result.jobs[["start", "end"]].fillna(-1).to_numpy()
    assert times.tolist() == [[job.start, job.end] for job in jobs]
    end = result.clock
    taken = [
        nap
        for nap in zip(*(getattr(result.naps, f) for f in ("node", "off", "on", "ready")), strict=True)
        if nap[2] != end
    ]
    assert sorted(tuple(int(x) for x in nap) for nap in taken) == sorted(nap for nap in naps if nap[2] != end)


@settings(max_examples=150)
@given(
    rows=ROWS,
    backfill=st.sampled_from(["none", "firstfit", "easy", "conservative"]),
    cap=st.sampled_from([60, 100, 250]),
    floor=st.sampled_from([0.3, 0.5, 0.9]),
    exponent=st.sampled_from([1.0, 2.0, 3.0]),
    sensitivity=st.sampled_from([0.0, 0.5, 1.0]),
)
def test_slowed_jobs_do_all_their_work_and_keep_the_cap(rows, backfill, cap, floor, exponent, sensitivity):
    rows = sorted(rows, key=lambda row: row[0])
    submit, runtime, request, nodes, watts = (list(column) for column in zip(*rows, strict=True))
    workload = tg.Workload.build(
        id=list(range(len(rows))), submit=submit, runtime=runtime, requested_time=request, nodes=nodes
    )
    slowing = tg.Slowing(floor=floor, exponent=exponent, sensitivity=sensitivity)
    result = tg.simulate(
        SYSTEM, workload, "fcfs", backfill, power_cap=IDLE + cap, over_cap="slow", slowing=slowing, power=watts
    )
    start, end = (result.jobs[name].fillna(-1).to_numpy(np.int64) for name in ("start", "end"))
    seconds = np.arange(int(end.max(initial=0)))
    place = np.searchsorted(result.paces.time, seconds, side="right") - 1
    frequency = result.paces.frequency[np.maximum(place, 0)] if len(result.paces) else np.ones(len(seconds))
    frequency[place < 0] = 1.0
    rate = 1 / (sensitivity / frequency + 1 - sensitivity)
    for j in np.flatnonzero(start >= 0):
        done, work = rate[start[j] : end[j]].sum(), min(runtime[j], request[j])
        assert work - 0.01 <= done <= work + 1.01  # ends are whole seconds
    for second in range(len(seconds)):
        drawn = sum(w for w, a, b in zip(watts, start, end, strict=True) if a <= second < b)
        assert drawn * frequency[second] ** exponent <= cap * (1 + 1e-9)
        assert frequency[second] == 1.0 or drawn * (frequency[second] + 1e-6) ** exponent >= cap * (1 - 1e-3)
        assert floor - 1e-12 <= frequency[second] <= 1.0
    refused = {j for j in range(len(rows)) if nodes[j] > NODES or watts[j] > cap / floor**exponent}
    assert set(np.flatnonzero(start < 0)) == refused


@pytest.mark.parametrize("semantics", ["cycle", "cqsim"])
@pytest.mark.parametrize("estimates", ["requested", "perfect", "hybrid"])
@pytest.mark.parametrize("backfill", ["none", "firstfit", "easy", "conservative"])
def test_a_cap_that_nothing_reaches_changes_nothing(semantics, estimates, backfill):
    system = tg.System.uniform(nodes=64)
    workload = tg.datasets.load("synthetic", None, model="lublin", jobs=600, capacity=64, load=1.0, seed=3)
    for policy in ("fcfs", "wfp3", "multifactor"):
        options = {"policy": policy, "backfill": backfill, "semantics": semantics, "estimates": estimates}
        free = tg.simulate(system, workload, **options)
        for over in ("wait", "slow"):
            capped = tg.simulate(system, workload, power_cap=1e11, over_cap=over, **options)
            assert list(free.jobs["start"]) == list(capped.jobs["start"])
            assert list(free.jobs["end"]) == list(capped.jobs["end"])
            assert list(free.jobs["state"]) == list(capped.jobs["state"])
