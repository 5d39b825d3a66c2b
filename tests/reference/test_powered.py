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


@pytest.mark.parametrize("semantics", ["cycle", "cqsim"])
@pytest.mark.parametrize("estimates", ["requested", "perfect", "hybrid"])
@pytest.mark.parametrize("backfill", ["none", "firstfit", "easy", "conservative"])
def test_a_cap_that_nothing_reaches_changes_nothing(semantics, estimates, backfill):
    system = tg.System.uniform(nodes=64)
    workload = tg.datasets.load("synthetic", None, model="lublin", jobs=600, capacity=64, load=1.0, seed=3)
    for policy in ("fcfs", "wfp3", "multifactor"):
        options = {"policy": policy, "backfill": backfill, "semantics": semantics, "estimates": estimates}
        free = tg.simulate(system, workload, **options)
        capped = tg.simulate(system, workload, power_cap=1e11, **options)
        assert list(free.jobs["start"]) == list(capped.jobs["start"])
