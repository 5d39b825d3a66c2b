"""A pass that sees more than nodes: a cap on the power of the running jobs, and idle nodes that are switched off.

Power is counted in whole watts above the machine's idle power, so that sums are exact. An idle node is switched off
`idle_timeout` s after it became idle (or when its keeper says so), which takes `shutdown` s; it boots, in `boot` s,
when a job gets it. As in Slurm, nodes that are off count as free: a job may get them at once, holds them while they
boot, and runs when the last one is up. No event is needed for any of this: what an idle node does follows from two
times, since when it is ready and when it is switched off.
"""

from __future__ import annotations

import numpy as np

from twin_gym.kernels.backfill import believed_end
from twin_gym.kernels.jit import inner, kernel, referred
from twin_gym.kernels.nodes import AMONG, CHOSEN, ONE, STEPS, choose_for, discard, has, lowest_bit, occupy, size_of
from twin_gym.kernels.schedule import close_gaps, start_now
from twin_gym.kernels.state import EASY, FIRSTFIT, NEVER, NONE, row_of

READY = STEPS  # row of `step_bits`: free nodes that are on


@inner(forceinline=True)
def is_awake(v, setup, row):
    """Tell whether a free node is on and ready."""
    return row.sleep[v].ready <= row.sim[0].clock <= row.sleep[v].down


@inner()
def rouse(v, setup, row):
    """Switch a free node on for good, note that it was off, and return how long it takes, s."""
    sleep, now = row.sleep, row.sim[0].clock
    if now <= sleep[v].down:
        return max(sleep[v].ready - now, 0)
    delay = max(sleep[v].down + setup.shutdown - now, 0) + setup.boot
    entry = row.sim[0].naps
    row.naps[entry].node = v
    row.naps[entry].off = sleep[v].down
    row.naps[entry].on = now
    row.naps[entry].ready = now + delay
    row.sim[0].naps = entry + 1
    return delay


@inner()
def count_ready(setup, row):
    """Write the free nodes that are on to row READY and return their number; all free ones are on if none sleeps."""
    if row.sleep.shape[0] == 0:
        return row.sim[0].free
    ready = row.step_bits[READY]
    ready[:] = row.free_bits
    for v in range(setup.nodes):
        if has(ready, v) and not is_awake(v, setup, row):
            discard(ready, v)
    return size_of(ready)


@inner()
def start_powered(who, ready, jobs, setup, row):
    """Start a job and return how many of the `ready` nodes are left.

    Where nodes sleep it gets nodes that are on, if there are enough of them, else any.
    """
    if setup.powered:
        row.sim[0].drawn += jobs.watts[setup.first + who]
    if row.sleep.shape[0] == 0:
        start_now(who, row)
        return ready - row.job[who].nodes
    job, rows = row.job, row.step_bits
    rows[AMONG, :] = rows[READY] if ready >= job[who].nodes else row.free_bits
    row.sim[0].relocated += choose_for(who, jobs, setup, job, rows[AMONG], rows[CHOSEN])
    longest = 0
    for k in range(rows.shape[1]):
        word = rows[CHOSEN, k]
        while word != 0:
            longest = max(longest, rouse(64 * k + lowest_bit(word), setup, row))
            word &= word - ONE
        rows[READY, k] &= ~rows[CHOSEN, k]
    row.boot[who] = longest
    job[who].run += longest
    job[who].plan += longest
    start_now(who, row)
    occupy(rows[CHOSEN], who, row)
    return size_of(rows[READY])


@inner()
def profile_powered(jobs, setup, row):
    """Build the availability profile of nodes and watts and return its number of steps."""
    sim, job, plan, steps, room = row.sim[0], row.job, row.plan, row.steps, row.headroom
    steps[0].time = sim.clock
    steps[0].free = sim.free
    room[0] = setup.cap - sim.drawn
    count = 1
    for i in range(sim.running):
        end = believed_end(plan[i].time, sim.clock, setup.cqsim == 1)
        if count == 1 or steps[count - 1].time != end:
            steps[count].time = end
            steps[count].free = steps[count - 1].free
            room[count] = room[count - 1]
            count += 1
        steps[count - 1].free += job[plan[i].job].nodes
        room[count - 1] += jobs.watts[setup.first + plan[i].job]
    return count


@inner()
def fits_powered(steps, room, count, step, need, watts, length):
    """Tell whether nodes and watts suffice from a step on for `length` s."""
    end = steps[step].time + length
    while step < count and steps[step].time < end:
        if steps[step].free < need or room[step] < watts:
            return False
        step += 1
    return True


@inner()
def reserve_powered(steps, room, count, step, need, watts, length):
    """Take nodes and watts out of the profile from a step on for `length` s; return the number of steps."""
    end = steps[step].time + length
    place = count
    while steps[place - 1].time > end:
        place -= 1
    if steps[place - 1].time != end:
        for i in range(count, place, -1):
            steps[i] = steps[i - 1]
            room[i] = room[i - 1]
        steps[place].time = end
        steps[place].free = steps[place - 1].free
        room[place] = room[place - 1]
        count += 1
    while step < count and steps[step].time < end:
        steps[step].free -= need
        room[step] -= watts
        step += 1
    return count


@inner()
def schedule_powered(jobs, setup, row, backfill):
    """Pass over a sorted queue: a job starts if its nodes and its watts are there as long as it is believed to run.

    The reservations of EASY and conservative keep nodes and watts; a job that would have to boot nodes is believed to
    take that much longer.
    """
    sim, queue, job, steps, room = row.sim[0], row.queue, row.job, row.steps, row.headroom
    ready = count_ready(setup, row)
    count = profile_powered(jobs, setup, row)
    depth = NEVER
    if backfill == EASY:
        depth = setup.depth
    elif backfill == FIRSTFIT:
        depth = 0
    reserved, blocked = 0, False
    end = sim.end
    for i in range(sim.first, end):
        who = queue[i]
        need, watts = np.int64(job[who].nodes), jobs.watts[setup.first + who]
        length = job[who].wait + (setup.boot if need > ready else 0)
        if fits_powered(steps, room, count, 0, need, watts, length):
            count = reserve_powered(steps, room, count, 0, need, watts, length)
            ready = start_powered(who, ready, jobs, setup, row)
            continue
        if backfill == NONE:
            break
        if not blocked:
            blocked = True
            count = profile_powered(jobs, setup, row)  # what runs by now is planned as running jobs are
        if reserved < depth:
            step = 1
            while step < count and not fits_powered(steps, room, count, step, need, watts, job[who].wait):
                step += 1
            if step < count:
                count = reserve_powered(steps, room, count, step, need, watts, job[who].wait)
            reserved += 1
    close_gaps(row, end - 1)


@kernel()
def switch_off(setups, st, e, nodes):
    """Switch free nodes off at the present time; return how many were on and idle. `nodes`: (n,) int64."""
    row, setup, switched = referred(row_of(st, e)), setups[e], 0
    for v in nodes:
        if row.node[v].owner < 0 and is_awake(v, setup, row):
            row.sleep[v].down = row.sim[0].clock
            switched += 1
    return switched


@kernel()
def switch_on(setups, st, e, nodes):
    """Boot nodes that are off or shutting down; return how many were. `nodes`: (n,) int64."""
    row, setup, switched = referred(row_of(st, e)), setups[e], 0
    for v in nodes:
        if row.node[v].owner < 0 and row.sim[0].clock > row.sleep[v].down:
            row.sleep[v].ready = row.sim[0].clock + rouse(v, setup, row)
            row.sleep[v].down = row.sleep[v].ready + setup.idle_timeout
            switched += 1
    return switched
