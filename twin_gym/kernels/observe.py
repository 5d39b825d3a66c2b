"""What an agent sees, written straight into the caller's float32 buffer; every value lies in [0, 1].

Durations and other unbounded amounts are squashed by x / (x + scale), so that nothing is ever clipped. No value depends
on what the scheduler could not know: recorded runtimes count only as far as the twin's `estimates` let it believe them.
"""

from __future__ import annotations

import numpy as np

from twin_gym.kernels.backfill import shadow_of
from twin_gym.kernels.jit import inner
from twin_gym.kernels.state import NEVER
from twin_gym.kernels.tasks import fits

HOUR, DAY, WEEK = 3600, 86_400, 604_800
WAIT_SCALE = np.float32(4 * 3600.0)  # s
QUEUE_SCALE = np.float32(64.0)  # jobs
WORK_SCALE = np.float32(24 * 3600.0)  # s of the whole machine

# columns of a visible job
WAIT, REQUEST, NODES, FITS, BEHIND, POWER, USER, PRIORITY, PRESENT = range(9)
JOB_FEATURES = 9
# columns after the jobs
FREE, RUNNING, QUEUED, HIDDEN, QUEUED_WORK, HEAD_WAIT, DRAWN, HOUR_SIN, HOUR_COS, WEEKDAY_SIN, WEEKDAY_COS = range(11)
STATE_FEATURES = 11


@inner(forceinline=True)
def squash(x, scale):
    """Return x / (x + scale) for x >= 0."""
    return x / (x + scale)


@inner()
def observe_jobs(window, static, jobs, setup, row, filled, out):
    """Write the visible jobs, one after the other, and clear what an earlier observation has left behind them.

    Parameters
    ----------
    window : int
        Visible jobs, W.
    static : (J, 4) float32
        Request, nodes, power and priority of each row of the job table, scaled.
    filled : int
        Jobs that `out` holds from before.
    out : (W * JOB_FEATURES,) float32

    Returns
    -------
    int
        Jobs that it holds now.
    """
    sim, job = row.sim[0], row.job
    first = sim.first
    count = min(window, sim.end - first)
    now, free = sim.clock, np.int64(sim.free)
    queue, needs, waits, share = row.queue, row.need, row.wait, row.share
    shadow, extra = now, free
    if count > 0 and not fits(queue[first], jobs, setup, row):
        shadow, extra = shadow_of(np.int64(needs[first]), free, now, False, row.plan, sim.running, job)
    spare = shadow - now
    room = setup.cap - sim.drawn if setup.powered else NEVER
    at = 0
    for i in range(first, first + count):
        known = setup.first + queue[i]
        fit = needs[i] <= free
        if setup.powered:
            fit &= jobs.watts[known] <= room
        waited = np.float32(now - jobs.submit[known])
        started = np.float32(share[jobs.user[known]].jobs)
        out[at] = waited / (waited + WAIT_SCALE)
        out[at + REQUEST] = static[known, 0]
        out[at + NODES] = static[known, 1]
        out[at + FITS] = np.float32(fit)
        out[at + BEHIND] = np.float32(fit & ((waits[i] <= spare) | (needs[i] <= extra)))
        out[at + POWER] = static[known, 2]
        out[at + USER] = started / (started + QUEUE_SCALE)
        out[at + PRIORITY] = static[known, 3]
        out[at + PRESENT] = np.float32(1.0)
        at += JOB_FEATURES
    for k in range(count * JOB_FEATURES, filled * JOB_FEATURES):
        out[k] = 0.0
    return count


@inner()
def observe_state(window, epoch, setup, row, out):
    """Write what describes the machine, the queue as a whole and the clock; `epoch`: Unix time of the clock's 0, s."""
    sim, job = row.sim[0], row.job
    nodes = np.float32(setup.nodes)
    waiting = sim.end - sim.first
    work = np.int64(0)
    for i in range(sim.first, sim.end):
        work += row.need[i] * row.wait[i]
    out[FREE] = sim.free / nodes
    out[RUNNING] = squash(np.float32(sim.running), QUEUE_SCALE)
    out[QUEUED] = squash(np.float32(waiting), QUEUE_SCALE)
    out[HIDDEN] = squash(np.float32(max(waiting - window, 0)), QUEUE_SCALE)
    out[QUEUED_WORK] = squash(np.float32(work) / nodes, WORK_SCALE)
    oldest = np.float32(sim.clock - job[row.queue[sim.first]].submit) if waiting > 0 else np.float32(0.0)
    out[HEAD_WAIT] = squash(max(oldest, np.float32(0.0)), WAIT_SCALE)
    out[DRAWN] = min(sim.drawn / max(setup.full_watts, 1.0), 1.0)
    hour = 2.0 * np.pi * ((sim.clock + epoch) % DAY) / DAY
    day = 2.0 * np.pi * ((sim.clock + epoch) % WEEK) / WEEK
    out[HOUR_SIN] = 0.5 + 0.5 * np.sin(hour)
    out[HOUR_COS] = 0.5 + 0.5 * np.cos(hour)
    out[WEEKDAY_SIN] = 0.5 + 0.5 * np.sin(day)
    out[WEEKDAY_COS] = 0.5 + 0.5 * np.cos(day)


@inner()
def observe_releases(horizon, setup, row, out):
    """Write the share of nodes believed free at the end of each of B equal parts of a horizon; `out`: (B,) float32."""
    sim, plan, job = row.sim[0], row.plan, row.job
    parts = out.shape[0]
    free = np.int64(sim.free)
    i = 0
    for part in range(parts):
        limit = sim.clock + ((part + 1) * horizon) // parts
        while i < sim.running and plan[i].time <= limit:
            free += job[plan[i].job].nodes
            i += 1
        out[part] = min(np.float32(free) / np.float32(setup.nodes), np.float32(1.0))


@inner()
def observe_compatible(window, longest, jobs, setup, row, filled, out):
    """Write the 128x8 layout of RLScheduler: wait, request, processors, memory, user, group, program, fits now."""
    sim, queue, job = row.sim[0], row.queue, row.job
    count = min(window, sim.end - sim.first)
    for i in range(count):
        who = queue[sim.first + i]
        at = 8 * i
        out[at] = min(np.float32(sim.clock - job[who].submit) / np.float32(12 * HOUR), np.float32(1.0 - 1e-5))
        out[at + 1] = min(np.float32(job[who].request) / longest, np.float32(1.0 - 1e-5))
        out[at + 2] = min(np.float32(job[who].nodes) / np.float32(setup.nodes), np.float32(1.0 - 1e-5))
        out[at + 3] = out[at + 4] = out[at + 5] = out[at + 6] = 0.0
        out[at + 7] = 1.0 - 1e-5 if job[who].nodes <= sim.free else 1e-5
    for k in range(8 * count, 8 * filled):
        out[k] = 0.0
    return count
