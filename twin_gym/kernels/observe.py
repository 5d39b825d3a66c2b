"""What an agent sees, written straight into the caller's float32 buffer; every value lies in [0, 1].

Durations and other unbounded amounts are squashed by x / (x + scale), so that nothing is ever clipped. No value depends
on what the scheduler could not know: recorded runtimes count only as far as the twin's `estimates` let it believe them.
"""

from __future__ import annotations

import numpy as np

from twin_gym.kernels.backfill import shadow_of
from twin_gym.kernels.climate import mean_over
from twin_gym.kernels.jit import inner
from twin_gym.kernels.state import NEVER, UNKNOWN
from twin_gym.kernels.tasks import fits, place_of, visible_count

HOUR, DAY, WEEK = 3600, 86_400, 604_800
WAIT_SCALE = np.float32(4 * 3600.0)  # s
QUEUE_SCALE = np.float32(64.0)  # jobs
WORK_SCALE = np.float32(24 * 3600.0)  # s of the whole machine

# columns of a visible job
WAIT, REQUEST, NODES, FITS, BEHIND, POWER, USER, PRIORITY, PRESENT = range(9)
JOB_FEATURES = 9
# columns after the jobs
FREE, RUNNING, QUEUED, HIDDEN, RUNNING_WORK, QUEUED_WORK, HIDDEN_WORK = range(7)
HEAD_WAIT, DRAWN, HOUR_SIN, HOUR_COS, WEEKDAY_SIN, WEEKDAY_COS = range(7, 13)
STATE_FEATURES = 13
# more columns of a visible job
ENERGY, USER_NODES, USER_QUEUED, FAIR_SHARE, SLACK = range(5)
DETAILS = 5
# the building
POWER_SHARE, HEADROOM, RAMP, PUE, COOLING, SUPPLY, TOWER_RETURN, FAN, WET_BULB, WET_BULB_AHEAD = range(10)
FACILITY_FEATURES = 10
HOTTEST = 60.0  # degC of water that counts as 1
COLDEST_AIR, HOTTEST_AIR = -30.0, 40.0  # degC of the wet bulb that count as 0 and 1
RAMP_SCALE = 0.05  # of the machine's range of power, each minute


@inner(forceinline=True)
def squash(x, scale):
    """Return x / (x + scale) for x >= 0."""
    return x / (x + scale)


@inner(forceinline=True)
def clip(x):
    """Return the nearest value in [0, 1]."""
    return min(max(x, 0.0), 1.0)


@inner()
def observe_jobs(rules, static, jobs, setup, row, filled, out):
    """Write the visible jobs, one after the other, and clear what an earlier observation has left behind them.

    Parameters
    ----------
    rules : Rules
        Say which W jobs are visible.
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
    first, count = sim.first, visible_count(rules, row)
    now, free = sim.clock, np.int64(sim.free)
    queue, needs, waits, share = row.queue, row.need, row.wait, row.share
    shadow, extra = now, free
    if count > 0 and not fits(queue[first], jobs, setup, row):
        shadow, extra = shadow_of(np.int64(needs[first]), free, now, False, row.plan, sim.running, job)
    spare = shadow - now
    room = setup.cap - sim.drawn if setup.powered else NEVER
    at = 0
    for slot in range(count):
        i = place_of(slot, rules, setup, row)
        known = setup.first + queue[i]
        fit = needs[i] <= free
        if setup.powered:
            fit &= jobs.watts[known] <= room
        waited = np.float32(now - jobs.submit[known])
        request = static[known, 0]
        if setup.varied:
            waited = np.float32(now - job[queue[i]].submit)
            request = squash(np.float32(job[queue[i]].request), np.float32(HOUR))
        started = np.float32(share[jobs.user[known]].jobs)
        out[at] = waited / (waited + WAIT_SCALE)
        out[at + REQUEST] = request
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
def observe_details(rules, deadline, jobs, setup, row, out):
    """Write more about the visible jobs: their energy and their users; `deadline`: (J,) int64, or (0,) without any.

    A fair share is 2^(-(user's share of all requested node-seconds that have started) times the number of users that
    have), as in Slurm's classic fair share.
    """
    sim, job, share = row.sim[0], row.job, row.share
    total, users = 0.0, 0.0
    for u in range(share.shape[0]):
        share[u].queued = 0.0
        total += share[u].work
        users += min(share[u].jobs, 1.0)
    for i in range(sim.first, sim.end):
        share[jobs.user[setup.first + row.queue[i]]].queued += 1.0
    count = visible_count(rules, row)
    for slot in range(count):
        who = row.queue[place_of(slot, rules, setup, row)]
        known = setup.first + who
        user = share[jobs.user[known]]
        at = DETAILS * slot
        energy = jobs.watts[known] / max(setup.full_watts, 1.0) * job[who].wait
        out[at + ENERGY] = energy / (energy + HOUR)
        out[at + USER_NODES] = clip(user.nodes / setup.nodes)
        out[at + USER_QUEUED] = user.queued / (user.queued + QUEUE_SCALE)
        out[at + FAIR_SHARE] = np.exp2(-user.work / total * users) if total > 0.0 else 1.0
        slack = 1.0
        if deadline.shape[0] > 0 and deadline[known] != UNKNOWN:
            left = np.float64(deadline[known] - sim.clock - job[who].wait)
            slack = 0.5 + 0.5 * left / (abs(left) + WAIT_SCALE)
        out[at + SLACK] = slack
    out[DETAILS * count :] = 0.0


@inner()
def observe_state(rules, epoch, setup, row, out):
    """Write what describes the machine, the queue as a whole and the clock; `epoch`: Unix time of the clock's 0, s."""
    sim, job = row.sim[0], row.job
    nodes = np.float32(setup.nodes)
    waiting = sim.end - sim.first
    work = np.int64(0)
    for i in range(sim.first, sim.end):
        work += row.need[i] * row.wait[i]
    seen = work
    if waiting > rules.window:
        seen = np.int64(0)
        for slot in range(rules.window):
            i = place_of(slot, rules, setup, row)
            seen += row.need[i] * row.wait[i]
    left = np.int64(0)
    for i in range(sim.running):
        left += max(row.plan[i].time - sim.clock, 0) * job[row.plan[i].job].nodes
    out[FREE] = sim.free / nodes
    out[RUNNING] = squash(np.float32(sim.running), QUEUE_SCALE)
    out[QUEUED] = squash(np.float32(waiting), QUEUE_SCALE)
    out[HIDDEN] = squash(np.float32(max(waiting - rules.window, 0)), QUEUE_SCALE)
    out[RUNNING_WORK] = squash(np.float32(left) / nodes, WORK_SCALE)
    out[QUEUED_WORK] = squash(np.float32(work) / nodes, WORK_SCALE)
    out[HIDDEN_WORK] = squash(np.float32(work - seen) / nodes, WORK_SCALE)
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
def observe_facility(e, horizon, climate, setup, row, out):
    """Write what describes the building: power, plant and weather; without a plant what only it has is 0."""
    sim, it = row.sim[0], climate.meters[e]
    above = np.float64(sim.drawn)
    power, full = setup.idle_watts + above, max(setup.full_watts, 1.0)
    out[POWER_SHARE] = clip(power / (setup.idle_watts + full))
    out[HEADROOM] = clip((setup.cap - above) / full) if setup.powered else 1.0
    out[RAMP] = 0.5 + 0.5 * it.change / (abs(it.change) + RAMP_SCALE * full)
    computing = climate.it_idle + climate.it_share * above
    out[PUE] = clip(computing / (power + it.cooling))
    out[COOLING] = it.cooling / (it.cooling + power)
    if climate.memory.shape[0] > 0:
        memory = climate.memory[e]
        out[SUPPLY] = clip(climate.supply[e, 0] / HOTTEST)
        out[TOWER_RETURN] = clip(memory.hot / HOTTEST)
        out[FAN] = clip(memory.fan)
    else:
        out[SUPPLY] = out[TOWER_RETURN] = out[FAN] = 0.0
    now = mean_over(climate.wet_bulb, sim.clock, sim.clock + 1, climate)
    ahead = mean_over(climate.wet_bulb, sim.clock, sim.clock + horizon, climate)
    out[WET_BULB] = clip((now - COLDEST_AIR) / (HOTTEST_AIR - COLDEST_AIR))
    out[WET_BULB_AHEAD] = clip((ahead - COLDEST_AIR) / (HOTTEST_AIR - COLDEST_AIR))


@inner()
def observe_market(sums, low, high, clock, horizon, climate, out):
    """Write a price or carbon intensity now, and its mean in each of B equal parts of a horizon; `out`: (1 + B,)."""
    span, parts = max(high - low, 1e-12), out.shape[0] - 1
    out[0] = clip((mean_over(sums, clock, clock + 1, climate) - low) / span)
    for part in range(parts):
        begin, end = clock + part * horizon // parts, clock + (part + 1) * horizon // parts
        out[1 + part] = clip((mean_over(sums, begin, max(end, begin + 1), climate) - low) / span)


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
def observe_compatible(rules, longest, setup, row, filled, out):
    """Write the 128x8 layout of RLScheduler: wait, request, processors, memory, user, group, program, fits now."""
    sim, queue, job = row.sim[0], row.queue, row.job
    count = visible_count(rules, row)
    for slot in range(count):
        who = queue[place_of(slot, rules, setup, row)]
        at = 8 * slot
        out[at] = min(np.float32(sim.clock - job[who].submit) / np.float32(12 * HOUR), np.float32(1.0 - 1e-5))
        out[at + 1] = min(np.float32(job[who].request) / longest, np.float32(1.0 - 1e-5))
        out[at + 2] = min(np.float32(job[who].nodes) / np.float32(setup.nodes), np.float32(1.0 - 1e-5))
        out[at + 3] = out[at + 4] = out[at + 5] = out[at + 6] = 0.0
        out[at + 7] = 1.0 - 1e-5 if job[who].nodes <= sim.free else 1e-5
    for k in range(8 * count, 8 * filled):
        out[k] = 0.0
    return count
