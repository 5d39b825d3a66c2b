"""The loop: from event to event, one scheduling pass at each instant (or, as CQSim does, after each single event).

At one instant: finished jobs release their nodes, outages end and begin, submitted jobs join the queue, then one pass
orders the queue and starts what may start. `advance` stops before a pass when it is asked to, so that somebody else may
decide; `decide` is the pass by which the twin decides itself.
"""

from __future__ import annotations

import numpy as np

from twin_gym.kernels.jit import inner, kernel, referred
from twin_gym.kernels.lifecycle import enter, finish_next, release, settle, submit_next
from twin_gym.kernels.nodes import STEPS, any_visible, fill
from twin_gym.kernels.order import REPLAY, length_of, order_queue
from twin_gym.kernels.outages import begin_outage, end_outage
from twin_gym.kernels.pace import time_of_end, work_on
from twin_gym.kernels.powered import count_ready, schedule_powered, start_powered
from twin_gym.kernels.schedule import (
    close_gaps,
    idle_pass,
    pass_by_count,
    replay,
    schedule_by_count,
    schedule_by_node,
    start_job,
)
from twin_gym.kernels.state import (
    COMPLETED,
    COUNT,
    CUT,
    DECISION,
    DONE,
    EVENTS,
    GROW,
    NEVER,
    PENDING,
    QUEUED,
    TIMEOUT,
    UNKNOWN,
    UNTIL,
    borrow_jobs,
    borrow_outages,
    row_of,
    submit_of,
)
from twin_gym.kernels.tally import clear, is_initial, tally_time

FINISH, OUTAGE_END, OUTAGE_BEGIN, SUBMIT, RECORDED_START = range(5)


@inner(forceinline=True)
def next_event(jobs, outages, setup, row):
    """Return time and class of the next event (NEVER: none); classes break ties."""
    sim, known = row.sim[0], row.active.shape[0]
    time, kind = NEVER, FINISH
    if sim.running > 0:
        time = row.heap[0].time if row.paces.shape[0] == 0 else time_of_end(setup, row)
    if known > 0:
        if sim.ended < known and outages.end[outages.by_end[sim.ended]] < time:
            time, kind = outages.end[outages.by_end[sim.ended]], OUTAGE_END
        if sim.begun < known and outages.start[outages.by_start[sim.begun]] < time:
            time, kind = outages.start[outages.by_start[sim.begun]], OUTAGE_BEGIN
    if sim.arrived < setup.count:
        submit = submit_of(jobs, setup, setup.first + sim.arrived)
        if submit < time:
            time, kind = submit, SUBMIT
    if setup.policy == REPLAY:
        # the queue is sorted by recorded start; what was due at the last pass has been tried, what is due now will be
        seen = sim.clock if sim.due else sim.tried
        for i in range(sim.first, sim.end):
            start = jobs.recorded_start[setup.first + row.queue[i]]
            if start > seen:
                if start < time:
                    time, kind = start, RECORDED_START
                break
    return max(time, sim.clock), kind


@inner(forceinline=True)
def must_grow(setup, row):
    """Tell whether a log or the profile by node may run out of room in the next pass or outage."""
    sim, known = row.sim[0], row.active.shape[0]
    if sim.runs + sim.free > row.runs.shape[0]:
        return True
    if row.sleep.shape[0] > 0 and sim.naps + sim.free > row.naps.shape[0]:
        return True
    if known == 0 and not setup.by_node:
        return False
    steps = STEPS + sim.running + sim.end - sim.first + 2 * known + 4
    return sim.lost + sim.running > row.lost.shape[0] or steps > row.step_bits.shape[0]


@inner()
def do_pass(jobs, outages, setup, row, policy, backfill):
    """One scheduling pass by a policy and a backfill mode; its jobs have started and have their nodes afterwards."""
    sim = row.sim[0]
    by_node = setup.by_node or any_visible(outages, row.active, sim.clock)
    if policy == REPLAY:
        sim.passes += 1
        sim.tried = sim.clock
        replay(jobs, setup, row)
    elif by_node or setup.powered:
        sim.passes += 1
        sim.head = -1
        sim.fresh = 0
        sim.grown = 0
        order_queue(policy, jobs, setup, row)
        if setup.powered:
            schedule_powered(jobs, setup, row, backfill)
        else:
            schedule_by_node(jobs, outages, setup, row, backfill)
    elif not idle_pass(setup, row, policy, backfill):
        order_queue(policy, jobs, setup, row)
        schedule_by_count(setup, row, backfill)
    settle((by_node or row.sleep.shape[0] > 0) and policy != REPLAY, jobs, setup, row)


@inner()
def run(jobs, outages, setup, row, until, events, stop):
    """Let time pass in one environment; see `advance`."""
    sim, job = row.sim[0], row.job
    named = setup.placement != COUNT
    counted = row.tally.shape[0] > 0
    plain = not (named or counted or jobs.watts.shape[0] > 0 or row.usage.shape[0] > 1 or setup.policy == REPLAY)
    while True:
        if named and must_grow(setup, row):
            return GROW
        time, kind = next_event(jobs, outages, setup, row)
        if sim.due and (time > sim.clock or setup.cqsim):
            if stop and sim.end > sim.first:
                return DECISION
            if plain and sim.order == setup.policy:
                pass_by_count(setup, row, setup.policy, setup.backfill)
                sim.started = 0
            else:
                do_pass(jobs, outages, setup, row, setup.policy, setup.backfill)
            sim.due = 0
            continue
        if time > until or time == NEVER:
            if until < NEVER and until > sim.clock:
                if counted:
                    tally_time(until, setup, row)
                if row.paces.shape[0] > 0:
                    work_on(until, setup, row)
                sim.clock = until
            return DONE if time == NEVER else UNTIL
        if time > sim.clock or setup.cqsim:
            if events == 0:
                return EVENTS
            events -= 1
        if time > sim.clock:
            if counted:
                tally_time(time, setup, row)
            if row.paces.shape[0] > 0:
                work_on(time, setup, row)
        sim.clock = time
        if kind == FINISH:
            who = finish_next(row)
            length = job[who].end - job[who].start
            if setup.powered:
                length -= row.boot[who]
            if row.paces.shape[0] > 0:
                # slowed or not, it ends when its work is done; one that ran before the beginning is not cut
                length = job[who].run if job[who].start >= setup.clock else jobs.runtime[setup.first + who]
                length -= row.boot[who]
                job[who].end = time
            cut = setup.run_length == CUT and length < jobs.runtime[setup.first + who]
            job[who].phase = TIMEOUT if cut else COMPLETED
            if not plain:
                release(who, jobs, setup, row)
            sim.due = 1
        elif kind == SUBMIT:
            sim.due |= submit_next(jobs, setup, row)
        elif kind == OUTAGE_END:
            end_outage(outages.by_end[sim.ended], outages, row)
            sim.ended += 1
            sim.due = 1
        elif kind == OUTAGE_BEGIN:
            begin_outage(outages.by_start[sim.begun], jobs, outages, setup, row)
            sim.begun += 1
            sim.due = 1
        else:
            sim.due = 1


@kernel()
def advance(jobs, outages, setups, st, e, until, events, stop):
    """Let time pass in one environment.

    Parameters
    ----------
    jobs, outages, setups, st : Jobs, Outages, (E,) SETUP, State
        The arrays; `st` is changed.
    e : int
        The environment.
    until : int
        Go no further than this time, s (NEVER: to the end). Everything at that very time happens.
    events : int
        Come back after this many instants (cqsim: single events); negative: no limit.
    stop : bool
        Come back before each scheduling pass with a job in the queue.

    Returns
    -------
    int
        DONE: nothing is left to happen. UNTIL: the clock stands at `until`. DECISION: a pass is due (do it with
        `decide` or `start_given`, clear `due`, come again). GROW: enlarge the logs, and come again. EVENTS.
    """
    jobs, outages = referred(borrow_jobs(jobs)), referred(borrow_outages(outages))
    return run(jobs, outages, setups[e], referred(row_of(st, e)), until, events, stop)


@kernel()
def decide(jobs, outages, setups, st, e, policy, backfill):
    """Do the pass that is due by a policy and a backfill mode of the caller's choice."""
    row = referred(row_of(st, e))
    do_pass(referred(borrow_jobs(jobs)), referred(borrow_outages(outages)), setups[e], row, policy, backfill)
    row.sim[0].due = 0


@kernel()
def start_given(jobs, setups, st, e, chosen):
    """Start given waiting jobs in the given order, as somebody else has decided; return how many could start.

    Parameters
    ----------
    chosen : (n,) int64
        Local job numbers. The first that does not wait or does not fit ends the series.
    """
    row = referred(row_of(st, e))
    sim, job = row.sim[0], row.job
    jobs, setup = referred(borrow_jobs(jobs)), setups[e]
    started = 0
    ready = count_ready(setup, row)
    for k in range(chosen.shape[0]):
        who = chosen[k]
        if job[who].phase != QUEUED or job[who].nodes > sim.free:
            break
        if setup.powered and sim.drawn + jobs.watts[setup.first + who] > setup.cap:
            break
        ready = start_powered(who, ready, jobs, setup, row)
        started += 1
    close_gaps(row, sim.end - 1)
    sim.head = -1
    sim.passes += 1
    sim.fresh = 0
    sim.grown = 0
    settle(row.sleep.shape[0] > 0, jobs, setup, row)
    return started


@kernel()
def sort_waiting(jobs, setups, st, e, policy):
    """Sort the queue by a policy at the present time, without starting anything."""
    order_queue(policy, referred(borrow_jobs(jobs)), setups[e], referred(row_of(st, e)))


@inner()
def begin(jobs, outages, setup, row):
    """Put an environment to its beginning: initial jobs on their nodes, everything else still to come.

    Initial jobs for which there is no room are counted and wait like jobs submitted at the beginning.
    """
    sim, queue, job, node = row.sim[0], row.queue, row.job, row.node
    base, count, clock = setup.first, setup.count, setup.clock
    sim.clock = clock
    sim.free = setup.nodes
    sim.arrived = sim.sequence = sim.due = sim.fresh = sim.extra = sim.first = sim.end = sim.running = sim.started = 0
    sim.passes = sim.displaced = sim.relocated = sim.begun = sim.ended = sim.runs = sim.lost = 0
    sim.drawn = sim.naps = sim.work = sim.paces = sim.loads = 0
    sim.grown = 1
    sim.order = setup.policy
    sim.head = -1
    sim.shadow = UNKNOWN
    sim.tried = UNKNOWN
    for j in range(count):
        job[j].start = UNKNOWN
        job[j].end = UNKNOWN
        job[j].phase = PENDING
        job[j].first_node = -1
    row.active[:] = 0
    row.boot[:] = 0
    for u in range(row.share.shape[0]):
        row.share[u].jobs = 0.0
        row.share[u].bounded = 0.0
        row.share[u].nodes = 0.0
        row.share[u].queued = 0.0
        row.share[u].work = 0.0
    if row.tally.shape[0] > 0:
        clear(row.tally[0], np.float64(clock))
    for v in range(row.sleep.shape[0]):
        row.sleep[v].ready = clock
        row.sleep[v].down = clock + setup.idle_timeout
    for user in range(row.usage.shape[0]):
        row.usage[user].amount = 0.0
        row.usage[user].time = clock
        row.usage[user].nodes = 0
    if setup.placement != COUNT:
        fill(row.free_bits, setup.nodes)
        for v in range(node.shape[0]):
            node[v].owner = -1
            node[v].down = 0
    # initial jobs in the order of their starts: the queue's room serves to sort them
    waiting = 0
    settled = 0
    for j in range(setup.before):
        start = jobs.recorded_start[base + j]
        if UNKNOWN < start < clock:
            settled += 1
            if start + length_of(jobs, base + j, setup.run_length) <= clock:
                job[j].phase = COMPLETED
    setup.counted = count - settled
    for j in range(count):
        if is_initial(j, jobs, setup) and job[j].phase == PENDING:
            place = waiting
            while place > 0 and jobs.recorded_start[base + queue[place - 1]] > jobs.recorded_start[base + j]:
                queue[place] = queue[place - 1]
                place -= 1
            queue[place] = j
            waiting += 1
    for i in range(waiting):
        who = queue[i]
        if jobs.nodes[base + who] > setup.nodes:
            continue  # refused when it arrives
        if jobs.nodes[base + who] > sim.free:
            sim.displaced += 1
            continue
        enter(who, sim.order, jobs, setup, job)
        start = jobs.recorded_start[base + who]
        run = jobs.runtime[base + who] if jobs.initial[base + who] else job[who].run
        start_job(who, start, start + run, row)
        if setup.powered:
            sim.drawn += jobs.watts[base + who]
    settle(False, jobs, setup, row)
    while sim.begun < row.active.shape[0] and outages.start[outages.by_start[sim.begun]] <= clock:
        begin_outage(outages.by_start[sim.begun], jobs, outages, setup, row)
        sim.begun += 1
        sim.due = 1
    # what has been submitted by now joins at once (cqsim: each as an event of its own)
    while setup.cqsim == 0 and sim.arrived < count and submit_of(jobs, setup, base + sim.arrived) <= clock:
        sim.due |= submit_next(jobs, setup, row)


@kernel()
def reset(jobs, outages, setups, st, e):
    """Put an environment to its beginning; see `begin`."""
    jobs, outages = referred(borrow_jobs(jobs)), referred(borrow_outages(outages))
    begin(jobs, outages, setups[e], referred(row_of(st, e)))
