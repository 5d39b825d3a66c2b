"""Outages: nodes go down, the jobs on them run on, are queued again or fail; nodes come back."""

from __future__ import annotations

from twin_gym.kernels.jit import inner
from twin_gym.kernels.lifecycle import enter, join, release
from twin_gym.kernels.nodes import add, discard
from twin_gym.kernels.queue import heap_remove, plan_remove
from twin_gym.kernels.state import DRAIN, FAIL, FAILED, UNKNOWN
from twin_gym.kernels.tally import count_job, is_initial


@inner()
def kill(who, mode, jobs, setup, row):
    """Kill a running job: back to the queue (the attempt is logged), or failed for good."""
    sim, job = row.sim[0], row.job
    counted = row.tally.shape[0] > 0 and not is_initial(who, jobs, setup)
    if counted:
        count_job(who, -1.0, jobs, setup, row)
    heap_remove(row.heap, sim.running, who)
    plan_remove(row.plan, sim.running, job[who].start + job[who].plan, who)
    sim.running -= 1
    sim.free += job[who].nodes
    release(who, jobs, setup, row)
    if mode == FAIL:
        job[who].phase = FAILED
        job[who].end = sim.clock
        if counted:
            count_job(who, 1.0, jobs, setup, row)
        return
    entry = sim.lost
    row.lost[entry].job = who
    row.lost[entry].start = job[who].start
    row.lost[entry].end = sim.clock
    sim.lost = entry + 1
    job[who].start = UNKNOWN
    job[who].end = UNKNOWN
    enter(who, sim.order, jobs, setup, job)
    join(who, setup, row)


@inner()
def begin_outage(k, jobs, outages, setup, row):
    """Take the nodes of outage k down; busy ones at once (their jobs are killed) or, draining, when they are left."""
    sim, node = row.sim[0], row.node
    row.active[k] = 1
    sim.grown = 1
    for i in range(outages.offsets[k], outages.offsets[k + 1]):
        v = outages.values[i]
        node[v].down += 1
        if node[v].down == 1 and node[v].owner < 0:
            discard(row.free_bits, v)
            sim.free -= 1
    if outages.mode[k] == DRAIN:
        return
    while True:
        first = -1  # of the jobs in its way, the one that started first
        for i in range(outages.offsets[k], outages.offsets[k + 1]):
            who = node[outages.values[i]].owner
            if who >= 0 and (first < 0 or row.job[who].turn < row.job[first].turn):
                first = who
        if first < 0:
            return
        kill(first, outages.mode[k], jobs, setup, row)


@inner()
def end_outage(k, outages, row):
    """Bring the nodes of outage k up again, those that no other outage holds."""
    sim, node = row.sim[0], row.node
    row.active[k] = 0
    sim.grown = 1
    for i in range(outages.offsets[k], outages.offsets[k + 1]):
        v = outages.values[i]
        node[v].down -= 1
        if node[v].down == 0 and node[v].owner < 0:
            add(row.free_bits, v)
            sim.free += 1
