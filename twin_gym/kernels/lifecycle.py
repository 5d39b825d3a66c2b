"""One job's way through the twin: it arrives, joins the queue, leaves its nodes; whose nodes it had and who pays."""

from __future__ import annotations

import math

import numpy as np

from twin_gym.kernels.jit import inner
from twin_gym.kernels.nodes import AMONG, CHOSEN, choose_for, occupy, vacate
from twin_gym.kernels.order import (
    MULTIFACTOR,
    charge,
    fixed_score,
    formula,
    is_formula,
    length_of,
    moves,
    uniform,
)
from twin_gym.kernels.queue import heap_pop, make_room, plan_remove, queue_place
from twin_gym.kernels.state import COUNT, PENDING, QUEUED, REFUSED, submit_of
from twin_gym.kernels.tally import tally_start


@inner()
def vary(who, setup, job):
    """Make a job longer, and what is believed of it noisy, as the setup says."""
    spread = setup.growth
    if setup.noise > 0.0:
        # the sum of twelve uniform numbers, less 6, is all but normal
        total = -6.0
        for k in range(12):
            total += uniform(setup.seed, 12 * (setup.first + who) + k)
        spread *= math.exp(setup.noise * total)
    it = job[who]
    it.request = max(np.int64(it.request * spread), 1)
    it.wait = max(np.int64(it.wait * spread), 1)
    it.plan = max(np.int64(it.plan * spread), 1)
    it.run = max(np.int64(it.run * setup.growth), 1)


@inner(forceinline=True)
def enter(who, policy, jobs, setup, job):
    """Copy what the schedule needs of a job from the shared table, and score it if its score never moves."""
    row = setup.first + who
    job[who].submit = submit_of(jobs, setup, row)
    job[who].nodes = jobs.nodes[row]
    job[who].request = length_of(jobs, row, setup.score_length)
    job[who].wait = length_of(jobs, row, setup.wait_length)
    job[who].plan = length_of(jobs, row, setup.plan_length)
    job[who].run = length_of(jobs, row, setup.run_length)
    if setup.varied:
        vary(who, setup, job)
    if is_formula(policy):
        if not moves(policy):
            t, n = np.float64(job[who].request), np.float64(job[who].nodes)
            s = np.float64(job[who].submit - setup.origin)
            job[who].score = formula(policy, 0, t, n, s, 1.0, 1.0)
    elif policy != MULTIFACTOR:
        job[who].score = fixed_score(policy, jobs, setup, row, who, job)


@inner(forceinline=True)
def join(who, setup, row):
    """Let a job join the queue: sorted in, or appended if the order moves with time anyway."""
    sim, queue, need, wait, job = row.sim[0], row.queue, row.need, row.wait, row.job
    if sim.end == queue.shape[0]:
        shift = sim.first
        for i in range(shift, sim.end):
            queue[i - shift] = queue[i]
            need[i - shift] = need[i]
            wait[i - shift] = wait[i]
        sim.first = 0
        sim.end -= shift
    job[who].phase = QUEUED
    place = sim.end
    if not moves(sim.order):
        place = queue_place(queue, sim.first, sim.end, job, who, setup.cqsim == 0)
        make_room(queue, place, sim.end)
        make_room(need, place, sim.end)
        make_room(wait, place, sim.end)
    queue[place] = who
    need[place] = job[who].nodes
    wait[place] = job[who].wait
    sim.end += 1
    sim.fresh += 1


@inner(forceinline=True)
def submit_next(jobs, setup, row):
    """Let the next job arrive; return whether it was admitted (an initial one is not: it runs already)."""
    sim, job = row.sim[0], row.job
    who = sim.arrived
    sim.arrived = who + 1
    if job[who].phase != PENDING:
        return False
    enter(who, sim.order, jobs, setup, job)
    if job[who].nodes > setup.nodes or (setup.powered and jobs.watts[setup.first + who] > setup.cap):
        job[who].phase = REFUSED
        return False
    join(who, setup, row)
    return True


@inner(forceinline=True)
def finish_next(row):
    """End the running job that ends first, and return it; `release` settles what follows from it."""
    sim, job = row.sim[0], row.job
    who = row.heap[0].job
    heap_pop(row.heap, sim.running)
    plan_remove(row.plan, sim.running, job[who].start + job[who].plan, who)
    sim.running -= 1
    sim.free += job[who].nodes
    sim.grown = 1
    return who


@inner()
def doze(who, setup, row):
    """Set the clocks of the nodes that a job leaves: they will be switched off unless they are needed before."""
    v = row.job[who].first_node
    while v >= 0:
        row.sleep[v].ready = row.sim[0].clock
        row.sleep[v].down = row.sim[0].clock + setup.idle_timeout
        v = row.node[v].next


@inner()
def release(who, jobs, setup, row):
    """Settle what a job that has left its nodes means for their identities and for its user's usage."""
    sim = row.sim[0]
    if jobs.watts.shape[0] > 0:
        sim.drawn -= jobs.watts[setup.first + who]
    if row.sleep.shape[0] > 0:
        doze(who, setup, row)
    if setup.placement != COUNT:
        sim.free -= vacate(who, row)
    if row.share.shape[0] > 0:
        row.share[jobs.user[setup.first + who]].nodes -= row.job[who].nodes
    if row.usage.shape[0] > 1:
        user = jobs.user[setup.first + who]
        charge(row.usage, user, -row.job[who].nodes, sim.clock, setup.half_life)


@inner()
def settle(named, jobs, setup, row):
    """Give the jobs that a pass has started their nodes (unless they are `named` already) and charge their users."""
    sim, rows = row.sim[0], row.step_bits
    for k in range(sim.started):
        who = row.started[k]
        if setup.placement != COUNT and not named:
            rows[AMONG, :] = row.free_bits
            sim.relocated += choose_for(who, jobs, setup, row.job, rows[AMONG], rows[CHOSEN])
            occupy(rows[CHOSEN], who, row)
        if row.usage.shape[0] > 1:
            charge(row.usage, jobs.user[setup.first + who], row.job[who].nodes, sim.clock, setup.half_life)
        if jobs.watts.shape[0] > 0 and not setup.powered:  # else it has been counted when it was started
            sim.drawn += jobs.watts[setup.first + who]
        if row.tally.shape[0] > 0:
            tally_start(who, jobs, setup, row)
    sim.started = 0
