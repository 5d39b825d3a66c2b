"""The scheduling pass: order the queue, start what may start from its head, backfill behind a blocked head.

A pass works on counts of nodes and writes the jobs that it has started to `started`; who gets which nodes is settled
after it. Only while an outage is visible does it plan by node (`schedule_by_node`).
"""

from __future__ import annotations

import numpy as np

from twin_gym.kernels.backfill import (
    best_window,
    first_fit,
    pick_easy,
    pick_firstfit,
    pick_reserving,
    profile,
    shadow_of,
)
from twin_gym.kernels.jit import inner, kernel
from twin_gym.kernels.nodes import (
    AMONG,
    CHOSEN,
    STEPS,
    available,
    choose_for,
    find_by_node,
    occupy,
    profile_by_node,
    reserve_by_node,
)
from twin_gym.kernels.order import moves, refresh, rescore
from twin_gym.kernels.pace import MILLI
from twin_gym.kernels.queue import heap_push, plan_insert, sort_queue
from twin_gym.kernels.state import CONSERVATIVE, EASY, FIRSTFIT, NEVER, NONE, QUEUED, RUNNING, UNKNOWN


@inner()
def start_job(who, start, end, row):
    """Let a job run from `start` to `end` (s): nodes counted, entered among the running jobs and in `started`."""
    sim, job = row.sim[0], row.job
    turn, running = sim.sequence, sim.running
    job[who].start = start
    job[who].end = end
    job[who].phase = RUNNING
    job[who].turn = turn
    key = end if row.paces.shape[0] == 0 else sim.work + (end - sim.clock) * MILLI
    heap_push(row.heap, running, key, who, turn)
    plan_insert(row.plan, running, start + job[who].plan, who, turn)
    row.started[sim.started] = who
    sim.started += 1
    sim.sequence = turn + 1
    sim.running = running + 1
    sim.free -= job[who].nodes


@inner()
def start_now(who, row):
    """Start a waiting job at the present time."""
    start_job(who, row.sim[0].clock, row.sim[0].clock + row.job[who].run, row)


@inner()
def close_gaps(row, last):
    """Close the gaps that started jobs have left in the queue up to place `last`: what stands before them moves up."""
    sim, queue, need, wait, job = row.sim[0], row.queue, row.need, row.wait, row.job
    hole = last
    for i in range(last, sim.first - 1, -1):
        if job[queue[i]].phase == QUEUED:
            queue[hole] = queue[i]
            need[hole] = need[i]
            wait[hole] = wait[i]
            hole -= 1
    sim.first = hole + 1


@kernel()
def shift(array, low, high, by):
    """Move array[low:high] by `by` places, up or (negative) down."""
    if by > 0:
        for i in range(high - 1, low - 1, -1):
            array[i + by] = array[i]
    else:
        for i in range(low, high):
            array[i + by] = array[i]


@inner()
def close_places(row, count):
    """Close the gaps at the first `count` places of `picks` (ascending), from the side on which less has to move."""
    sim, picks = row.sim[0], row.picks
    first, end = sim.first, sim.end
    if picks[count - 1] - first < end - picks[0]:
        for c in range(count - 1, -1, -1):
            low = picks[c - 1] + 1 if c > 0 else first
            shift(row.queue, low, picks[c], count - c)
            shift(row.need, low, picks[c], count - c)
            shift(row.wait, low, picks[c], count - c)
        sim.first = first + count
    else:
        for c in range(count):
            high = picks[c + 1] if c + 1 < count else end
            shift(row.queue, picks[c] + 1, high, -c - 1)
            shift(row.need, picks[c] + 1, high, -c - 1)
            shift(row.wait, picks[c] + 1, high, -c - 1)
        sim.end = end - count


@inner()
def nothing_fits(row):
    """Tell whether every waiting job needs more nodes than are free."""
    return first_fit(row.need, row.sim[0].first, row.sim[0].end, row.sim[0].free) == row.sim[0].end


@inner()
def replay(jobs, setup, row):
    """Start every job whose recorded start has come and that fits, in the order of recorded starts; nothing blocks."""
    sim, queue, job = row.sim[0], row.queue, row.job
    for i in range(sim.first, sim.end):
        who = queue[i]
        due = jobs.recorded_start[setup.first + who]
        if due > sim.clock:
            break
        if job[who].nodes <= sim.free:
            start_now(who, row)
    close_gaps(row, sim.end - 1)


@inner(forceinline=True)
def newcomer(setup, row, backfill):
    """Do the pass if only one job has arrived since the last one and the head is still blocked.

    Nothing else can start then: the head could not, and what stood behind it has only become less likely to end before
    the head's shadow time. Returns False if the pass must be done in full.
    """
    sim, queue, job = row.sim[0], row.queue, row.job
    who = np.int64(sim.arrived - 1)
    if job[who].phase != QUEUED:
        return False  # a refused job came after it
    need = np.int64(job[who].nodes)
    if backfill == NONE:
        return True
    if backfill == FIRSTFIT:
        if need > sim.free:
            return True
    elif backfill == EASY and setup.depth == 1 and sim.shadow > sim.clock:
        if need > sim.free:
            return True
        if sim.clock + job[who].wait > sim.shadow:
            if need > sim.extra:
                return True
            sim.extra -= need
        if setup.wait_length != setup.plan_length:
            sim.shadow = UNKNOWN  # it is planned to run longer than it was believed to
    elif backfill == CONSERVATIVE or setup.depth > 1:
        # among many reservations only the last in order can't change anything for the others
        exact = setup.overdue == 0 and setup.wait_length == setup.plan_length
        return exact and need > sim.free and queue[sim.end - 1] == who
    else:
        return False
    start_now(who, row)
    place = sim.end - 1
    while queue[place] != who:
        place -= 1
    row.picks[0] = place
    close_places(row, 1)
    return True


@inner(forceinline=True)
def schedule_by_count(setup, row, backfill):
    """Pass over a sorted queue by counts of nodes."""
    sim, queue, job, plan, picks, steps = row.sim[0], row.queue, row.job, row.plan, row.picks, row.steps
    first, end, now, cqsim = sim.first, sim.end, sim.clock, setup.cqsim == 1
    i = first
    blocked = False
    if setup.window > 1 and end - first > 1:
        width = min(setup.window, end - first)
        best_window(queue, first, width, job, steps, sim.free, now, cqsim, plan, sim.running, row.started, picks)
        for k in range(width):
            if job[picks[k]].nodes > sim.free:
                blocked = True
                break
            start_now(picks[k], row)
            i += 1
    if not blocked:
        while i < end and job[queue[i]].nodes <= sim.free:
            start_now(queue[i], row)
            i += 1
    if i > first and setup.window > 1:
        close_gaps(row, i - 1 if not blocked else min(first + setup.window, end) - 1)
    else:
        sim.first = i
    first = sim.first
    if first == end:
        return
    head = queue[first]
    sim.head = head
    sim.shadow = UNKNOWN
    if backfill == NONE:
        return
    if backfill == FIRSTFIT:
        count = pick_firstfit(row.need, first + 1, end, sim.free, picks)
    else:
        shadow, extra = shadow_of(np.int64(job[head].nodes), sim.free, now, cqsim, plan, sim.running, job)
        if backfill == EASY and setup.depth == 1:
            count, extra = pick_easy(row.need, row.wait, first + 1, end, sim.free, shadow - now, extra, picks)
            sim.extra = extra
            if count == 0 or setup.wait_length == setup.plan_length:
                sim.shadow = shadow  # holds until nodes come back, unless a job is planned to run longer than believed
        elif sim.free > 0 and end - first > 1:
            number = profile(steps, sim.free, now, cqsim, plan, sim.running, job)
            depth = setup.depth if backfill == EASY else NEVER
            count = pick_reserving(
                row.need, row.wait, first, end, steps, number, depth, shadow - now, extra, row.bounds, picks
            )
        else:
            return
    if count > 0:
        for k in range(count):
            start_now(queue[picks[k]], row)
        close_places(row, count)


@inner(forceinline=True)
def pass_by_count(setup, row, policy, backfill):
    """Do one pass by a policy that needs nothing but the jobs and the clock, on counts of nodes."""
    sim = row.sim[0]
    if idle_pass(setup, row, policy, backfill):
        return
    if moves(policy):
        rescore(policy, setup, row)
        sort_queue(row.queue, sim.first, sim.end, row.job, row.picks, setup.cqsim == 0)
        refresh(row)
        sim.order = policy
    schedule_by_count(setup, row, backfill)


@inner()
def start_by_node(who, jobs, setup, row):
    """Start a job on nodes chosen among row AMONG."""
    rows = row.step_bits
    row.sim[0].relocated += choose_for(who, jobs, setup, row.job, rows[AMONG], rows[CHOSEN])
    start_now(who, row)
    occupy(rows[CHOSEN], who, row)


@inner()
def schedule_by_node(jobs, outages, setup, row, backfill):
    """Pass over a sorted queue while an outage is visible.

    What starts must find nodes that stay up as long as it is believed to run; reservations are kept on named nodes.
    """
    sim, queue, job, steps, rows = row.sim[0], row.queue, row.job, row.steps, row.step_bits
    count = profile_by_node(outages, setup.nodes, row)
    end = sim.end
    head = np.int64(-1)
    for i in range(sim.first, end):
        who = queue[i]
        need = np.int64(job[who].nodes)
        if need <= sim.free and available(rows, steps, count, 0, job[who].wait) >= need:
            start_by_node(who, jobs, setup, row)
            for word in range(rows.shape[1]):
                rows[STEPS, word] &= ~rows[CHOSEN, word]
        elif head < 0:
            head = i
            if backfill != FIRSTFIT:
                break
    if head >= 0 and head + 1 < end and (backfill == EASY or backfill == CONSERVATIVE):
        count = profile_by_node(outages, setup.nodes, row)
        depth = setup.depth if backfill == EASY else NEVER
        reserved = 0
        for i in range(head, end):
            who = queue[i]
            need, length = np.int64(job[who].nodes), job[who].wait
            if i > head and available(rows, steps, count, 0, length) >= need:
                start_by_node(who, jobs, setup, row)
                count = reserve_by_node(rows, steps, count, 0, length)
            elif reserved < depth:
                step = find_by_node(rows, steps, count, need, length)
                if step < count:
                    choose_for(who, jobs, setup, job, rows[AMONG], rows[CHOSEN])
                    count = reserve_by_node(rows, steps, count, step, length)
                    reserved += 1
    close_gaps(row, end - 1)


@inner(forceinline=True)
def idle_pass(setup, row, policy, backfill):
    """Do the passes that need no look at the whole queue; return False for all others.

    Such are: no job waits; only one job has come behind a head that is still blocked; under an order that moves with
    time, no waiting job fits (its order need not be known then, unless ties remember the order of the last pass).
    """
    sim = row.sim[0]
    known = sim.head
    fresh, grown = sim.fresh, sim.grown
    sim.passes += 1
    sim.fresh = 0
    sim.grown = 0
    if sim.first == sim.end:
        sim.head = -1
        return True
    if moves(policy):
        sim.head = -1
        return setup.cqsim == 0 and nothing_fits(row)
    if grown == 0 and fresh == 1 and known >= 0 and row.queue[sim.first] == known and sim.order == policy:
        if setup.window == 0 and newcomer(setup, row, backfill):
            return True
    sim.head = -1
    return False
