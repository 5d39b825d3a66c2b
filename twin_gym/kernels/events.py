"""The loop: from event to event, one scheduling pass at each instant (or, as CQSim does, after each single event).

At one instant: finished jobs release their nodes, outages end and begin, submitted jobs join the queue, then one pass
orders the queue and starts what may start. `advance` stops before a pass when it is asked to, so that somebody else may
decide; `decide` is the pass by which the twin decides itself.
"""

from __future__ import annotations

import numpy as np

from twin_gym.kernels.jit import kernel
from twin_gym.kernels.nodes import (
    AMONG,
    CHOSEN,
    STEPS,
    add,
    any_visible,
    choose_for,
    discard,
    fill,
    occupy,
    vacate,
)
from twin_gym.kernels.order import (
    LAST_FORMULA,
    MULTIFACTOR,
    REPLAY,
    charge,
    fixed_score,
    formula,
    length_of,
    moves,
    order_queue,
)
from twin_gym.kernels.queue import heap_pop, heap_remove, plan_remove, queue_insert
from twin_gym.kernels.schedule import (
    close_gaps,
    idle_pass,
    pass_by_count,
    replay,
    schedule_by_count,
    schedule_by_node,
    start_job,
    start_now,
)
from twin_gym.kernels.state import (
    COMPLETED,
    COUNT,
    CUT,
    DECISION,
    DONE,
    DRAIN,
    EVENTS,
    FAIL,
    FAILED,
    GROW,
    NEVER,
    PENDING,
    QUEUED,
    REFUSED,
    TIMEOUT,
    UNKNOWN,
    UNTIL,
)

FINISH, OUTAGE_END, OUTAGE_BEGIN, SUBMIT, RECORDED_START = range(5)


@kernel()
def join(who, policy, setup, sim, queue, job):
    """Let a job join the queue: sorted in, or appended if the order moves with time anyway."""
    if sim.end == queue.shape[0]:
        shift = sim.first
        for i in range(shift, sim.end):
            queue[i - shift] = queue[i]
        sim.first = 0
        sim.end -= shift
    job[who].phase = QUEUED
    if moves(policy):
        queue[sim.end] = who
    else:
        queue_insert(queue, sim.first, sim.end, job, who, setup.cqsim == 0)
    sim.end += 1
    sim.fresh += 1


@kernel(forceinline=True)
def enter(jobs, setup, job, row, who, policy):
    """Copy what the schedule needs of a job from the shared table."""
    job[who].submit = jobs.submit[row]
    job[who].nodes = jobs.nodes[row]
    job[who].request = length_of(jobs, row, setup.score_length)
    job[who].wait = length_of(jobs, row, setup.wait_length)
    job[who].plan = length_of(jobs, row, setup.plan_length)
    job[who].run = length_of(jobs, row, setup.run_length)
    if policy <= LAST_FORMULA:
        if not moves(policy):
            t, n = np.float64(job[who].request), np.float64(job[who].nodes)
            s = np.float64(job[who].submit - jobs.submit[setup.first])
            job[who].score = formula(policy, 0, t, n, s, 1.0, 1.0)
    elif policy != MULTIFACTOR:
        job[who].score = fixed_score(policy, jobs, setup, row, who)


@kernel(forceinline=True)
def submit_next(jobs, setup, sim, queue, job):
    """Let the next job arrive; return whether it was admitted (an initial one is not: it runs already)."""
    who = sim.arrived
    sim.arrived = who + 1
    row = setup.first + who
    if job[who].phase != PENDING:
        return False
    enter(jobs, setup, job, row, who, sim.order)
    if job[who].nodes > setup.nodes:
        job[who].phase = REFUSED
        return False
    join(who, sim.order, setup, sim, queue, job)
    return True


@kernel()
def finish_next(setup, sim, job, heap, plan):
    """End the running job that ends first, and return it; its node identities are the caller's business."""
    who = heap[0].job
    heap_pop(heap, sim.running)
    plan_remove(plan, sim.running, job[who].start + job[who].plan, who)
    sim.running -= 1
    sim.free += job[who].nodes
    sim.grown = 1
    return who


@kernel()
def release(who, jobs, setup, sim, job, node, free_bits, usage):
    """Settle what a job that has left its nodes means for their identities and for its user's usage."""
    if setup.placement != COUNT:
        sim.free -= vacate(who, job, node, free_bits)
    if usage.shape[0] > 1:
        charge(usage, jobs.user[setup.first + who], -job[who].nodes, sim.clock, setup.half_life)


@kernel()
def settle(named, jobs, setup, sim, job, started, node, free_bits, runs, rows, usage):
    """Give the jobs that a pass has started their nodes (unless they are `named` already) and charge their users."""
    for k in range(sim.started):
        who = started[k]
        row = setup.first + who
        if setup.placement != COUNT and not named:
            rows[AMONG, :] = free_bits
            sim.relocated += choose_for(who, jobs, setup, job, rows[AMONG], rows[CHOSEN])
            occupy(rows[CHOSEN], who, sim, job, node, free_bits, runs)
        if usage.shape[0] > 1:
            charge(usage, jobs.user[row], job[who].nodes, sim.clock, setup.half_life)
    sim.started = 0


# ------------------------------------------------------------------------------------------------ outages


@kernel()
def kill(who, mode, jobs, setup, st, e):
    """Kill a running job: back to the queue (the attempt is logged), or failed for good."""
    sim, job = st.sim[e], st.job[e]
    heap_remove(st.heap[e], sim.running, who)
    plan_remove(st.plan[e], sim.running, job[who].start + job[who].plan, who)
    sim.running -= 1
    sim.free += job[who].nodes
    release(who, jobs, setup, sim, job, st.node[e], st.free_bits[e], st.usage[e])
    if mode == FAIL:
        job[who].phase = FAILED
        job[who].end = sim.clock
        return
    entry = sim.lost
    st.lost[e, entry].job = who
    st.lost[e, entry].start = job[who].start
    st.lost[e, entry].end = sim.clock
    sim.lost = entry + 1
    job[who].start = UNKNOWN
    job[who].end = UNKNOWN
    enter(jobs, setup, job, setup.first + who, who, sim.order)
    join(who, sim.order, setup, sim, st.queue[e], job)


@kernel()
def begin_outage(k, jobs, outages, setup, st, e):
    """Take the nodes of outage k down; busy ones at once (their jobs are killed) or, draining, when they are left."""
    sim, node, free_bits = st.sim[e], st.node[e], st.free_bits[e]
    st.active[e, k] = 1
    sim.grown = 1
    for i in range(outages.offsets[k], outages.offsets[k + 1]):
        v = outages.values[i]
        node[v].down += 1
        if node[v].down == 1 and node[v].owner < 0:
            discard(free_bits, v)
            sim.free -= 1
    if outages.mode[k] == DRAIN:
        return
    while True:
        first = -1  # of the jobs in its way, the one that started first
        for i in range(outages.offsets[k], outages.offsets[k + 1]):
            who = node[outages.values[i]].owner
            if who >= 0 and (first < 0 or st.job[e, who].turn < st.job[e, first].turn):
                first = who
        if first < 0:
            return
        kill(first, outages.mode[k], jobs, setup, st, e)


@kernel()
def end_outage(k, outages, st, e):
    """Bring the nodes of outage k up again, those that no other outage holds."""
    sim, node, free_bits = st.sim[e], st.node[e], st.free_bits[e]
    st.active[e, k] = 0
    sim.grown = 1
    for i in range(outages.offsets[k], outages.offsets[k + 1]):
        v = outages.values[i]
        node[v].down -= 1
        if node[v].down == 0 and node[v].owner < 0:
            add(free_bits, v)
            sim.free += 1


# ------------------------------------------------------------------------------------------------ the pass


@kernel()
def decide(jobs, outages, setups, st, e, policy, backfill):
    """One scheduling pass by a policy and a backfill mode; its jobs have started and have their nodes afterwards."""
    setup, sim = setups[e], st.sim[e]
    queue, job, heap, plan, started = st.queue[e], st.job[e], st.heap[e], st.plan[e], st.started[e]
    named = False
    visible = st.active.shape[1] > 0 and any_visible(outages, st.active[e], sim.clock)
    if policy == REPLAY:
        sim.passes += 1
        replay(jobs, setup, sim, queue, job, heap, plan, started)
    elif visible or not idle_pass(setup, sim, queue, job, heap, plan, started, policy, backfill):
        order_queue(policy, jobs, setup, sim, st.usage[e], queue, job, st.picks[e])
        if visible:
            named = True
            sim.passes += 1
            sim.head = -1
            sim.fresh = 0
            sim.grown = 0
            schedule_by_node(
                jobs, outages, st.active[e], setup, sim, queue, job, heap, plan, started,
                st.node[e], st.free_bits[e], st.runs[e], st.steps[e], st.step_bits[e], backfill,
            )  # fmt: skip
        else:
            schedule_by_count(setup, sim, queue, job, heap, plan, started, st.picks[e], st.steps[e], backfill)
    if setup.placement != COUNT or st.usage.shape[1] > 1:
        settle(
            named, jobs, setup, sim, job, started,
            st.node[e], st.free_bits[e], st.runs[e], st.step_bits[e], st.usage[e],
        )  # fmt: skip
    sim.started = 0


# ------------------------------------------------------------------------------------------------ the loop


@kernel(forceinline=True)
def next_event(jobs, outages, setup, sim, queue, heap, known):
    """Return time and class of the next event (NEVER: none); classes break ties.

    `known` is the number of outages of the environment.
    """
    time, kind = NEVER, FINISH
    if sim.running > 0:
        time = heap[0].time
    if known > 0:
        if sim.ended < known and outages.end[outages.by_end[sim.ended]] < time:
            time, kind = outages.end[outages.by_end[sim.ended]], OUTAGE_END
        if sim.begun < known and outages.start[outages.by_start[sim.begun]] < time:
            time, kind = outages.start[outages.by_start[sim.begun]], OUTAGE_BEGIN
    if sim.arrived < setup.count:
        submit = jobs.submit[setup.first + sim.arrived]
        if submit < time:
            time, kind = submit, SUBMIT
    if setup.policy == REPLAY:
        # the queue is sorted by recorded start, and what is due has been tried
        for i in range(sim.first, sim.end):
            start = jobs.recorded_start[setup.first + queue[i]]
            if start > sim.clock:
                if start < time:
                    time, kind = start, RECORDED_START
                break
    return max(time, sim.clock), kind


@kernel()
def must_grow(setup, sim, runs, lost, rows, known):
    """Tell whether a log or the profile by node may run out of room in the next pass or outage."""
    if sim.runs + sim.free > runs:
        return True
    if known == 0:
        return False
    return sim.lost + sim.running > lost or STEPS + sim.running + sim.end - sim.first + 2 * known + 4 > rows


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
    setup, sim = setups[e], st.sim[e]
    queue, job, heap, plan = st.queue[e], st.job[e], st.heap[e], st.plan[e]
    node, free_bits, usage = st.node[e], st.free_bits[e], st.usage[e]
    known = st.active.shape[1]
    named = setup.placement != COUNT
    runs, lost, rows = st.runs.shape[1], st.lost.shape[1], st.step_bits.shape[1]
    # without identities, outages and usage a pass needs few arrays, and handing over all would cost as much as the pass
    started, picks, steps = st.started[e], st.picks[e], st.steps[e]
    plain = not named and usage.shape[0] == 1 and setup.policy != REPLAY
    while True:
        if named and must_grow(setup, sim, runs, lost, rows, known):
            return GROW
        time, kind = next_event(jobs, outages, setup, sim, queue, heap, known)
        if sim.due and (time > sim.clock or setup.cqsim):
            if stop and sim.end > sim.first:
                return DECISION
            if plain and sim.order == setup.policy:
                pass_by_count(setup, sim, queue, job, heap, plan, started, picks, steps, setup.policy, setup.backfill)
                sim.started = 0
            else:
                decide(jobs, outages, setups, st, e, setup.policy, setup.backfill)
            sim.due = 0
            continue
        if time > until or time == NEVER:
            if until < NEVER:
                sim.clock = max(sim.clock, until)
            return DONE if time == NEVER else UNTIL
        if time > sim.clock or setup.cqsim:
            if events == 0:
                return EVENTS
            events -= 1
        sim.clock = time
        if kind == FINISH:
            who = finish_next(setup, sim, job, heap, plan)
            cut = setup.run_length == CUT and job[who].end - job[who].start < jobs.runtime[setup.first + who]
            job[who].phase = TIMEOUT if cut else COMPLETED
            if named or usage.shape[0] > 1:
                release(who, jobs, setup, sim, job, node, free_bits, usage)
            sim.due = 1
        elif kind == SUBMIT:
            sim.due |= submit_next(jobs, setup, sim, queue, job)
        elif kind == OUTAGE_END:
            end_outage(outages.by_end[sim.ended], outages, st, e)
            sim.ended += 1
            sim.due = 1
        elif kind == OUTAGE_BEGIN:
            begin_outage(outages.by_start[sim.begun], jobs, outages, setup, st, e)
            sim.begun += 1
            sim.due = 1
        else:
            sim.due = 1


@kernel()
def start_given(jobs, setups, st, e, chosen):
    """Start given waiting jobs in the given order, as somebody else has decided; return how many could start.

    Parameters
    ----------
    chosen : (n,) int64
        Local job numbers. The first that does not wait or does not fit ends the series.
    """
    setup, sim, queue, job = setups[e], st.sim[e], st.queue[e], st.job[e]
    started = 0
    for k in range(chosen.shape[0]):
        who = chosen[k]
        if job[who].phase != QUEUED or job[who].nodes > sim.free:
            break
        start_now(who, sim, job, st.heap[e], st.plan[e], st.started[e])
        started += 1
    close_gaps(sim, queue, job, sim.end - 1)
    sim.head = -1
    sim.passes += 1
    sim.fresh = 0
    sim.grown = 0
    settle(
        False, jobs, setup, sim, job, st.started[e],
        st.node[e], st.free_bits[e], st.runs[e], st.step_bits[e], st.usage[e],
    )  # fmt: skip
    return started


@kernel()
def reset(jobs, outages, setups, st, e):
    """Put an environment to its beginning: initial jobs on their nodes, everything else still to come.

    Initial jobs for which there is no room are counted and wait like jobs submitted at the beginning.
    """
    setup, sim = setups[e], st.sim[e]
    queue, job, node = st.queue[e], st.job[e], st.node[e]
    base, count, clock = setup.first, setup.count, setup.clock
    sim.clock = clock
    sim.free = setup.nodes
    sim.arrived = sim.sequence = sim.due = sim.fresh = sim.extra = sim.first = sim.end = sim.running = sim.started = 0
    sim.passes = sim.displaced = sim.relocated = sim.begun = sim.ended = sim.runs = sim.lost = 0
    sim.grown = 1
    sim.order = setup.policy
    sim.head = -1
    sim.shadow = UNKNOWN
    for j in range(count):
        job[j].start = UNKNOWN
        job[j].end = UNKNOWN
        job[j].phase = PENDING
        job[j].first_node = -1
    st.active[e, :] = 0
    for user in range(st.usage.shape[1]):
        st.usage[e, user].amount = 0.0
        st.usage[e, user].time = clock
        st.usage[e, user].nodes = 0
    if setup.placement != COUNT:
        fill(st.free_bits[e], setup.nodes)
        for v in range(node.shape[0]):
            node[v].owner = -1
            node[v].down = 0
    # initial jobs in the order of their starts: the queue's room serves to sort them
    waiting = 0
    for j in range(count):
        if jobs.initial[base + j]:
            place = waiting
            while place > 0 and jobs.recorded_start[base + queue[place - 1]] > jobs.recorded_start[base + j]:
                queue[place] = queue[place - 1]
                place -= 1
            queue[place] = j
            waiting += 1
    for i in range(waiting):
        who = queue[i]
        row = base + who
        if jobs.nodes[row] > setup.nodes:
            continue  # refused when it arrives
        if jobs.nodes[row] > sim.free:
            sim.displaced += 1
            continue
        enter(jobs, setup, job, row, who, sim.order)
        start = jobs.recorded_start[row]
        start_job(who, start, start + jobs.runtime[row], sim, job, st.heap[e], st.plan[e], st.started[e])
    settle(False, jobs, setup, sim, job, st.started[e], node, st.free_bits[e], st.runs[e], st.step_bits[e], st.usage[e])
    while sim.begun < st.active.shape[1] and outages.start[outages.by_start[sim.begun]] <= clock:
        begin_outage(outages.by_start[sim.begun], jobs, outages, setup, st, e)
        sim.begun += 1
        sim.due = 1
    # what has been submitted by now joins at once (cqsim: each as an event of its own)
    while setup.cqsim == 0 and sim.arrived < count and jobs.submit[base + sim.arrived] <= clock:
        sim.due |= submit_next(jobs, setup, sim, queue, job)
