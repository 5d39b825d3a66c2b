"""What an agent may decide: each task turns an action into starts, and says when there is something to decide again.

Every task of an environment stops at a pass with jobs in the queue, applies the action, and goes on with the ordinary
event loop; none has scheduling rules of its own. What an action leaves to be done later is noted in a PLAN. Only
`drive` calls the event loop, for whatever calls it is compiled with all of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from twin_gym.kernels.backfill import shadow_of
from twin_gym.kernels.events import do_pass, run
from twin_gym.kernels.jit import inner
from twin_gym.kernels.lifecycle import settle
from twin_gym.kernels.order import moves, order_queue, uniform
from twin_gym.kernels.powered import count_ready, schedule_powered, start_powered
from twin_gym.kernels.queue import queue_place
from twin_gym.kernels.schedule import close_places, schedule_by_count, start_now
from twin_gym.kernels.state import DONE, GROW, NEVER, NONE, QUEUED, UNKNOWN, UNTIL

# what a pick that does not fit means
BLOCK, RESERVE, MASK = range(3)
# tasks
SELECT, DISPATCH, BACKFILL, INSPECT, WEIGHTS = range(5)
# which part of a queue that is longer than the window is visible
HEAD, SPLIT, SAMPLE = range(3)
# a backfill mode for BLOCK alone: jobs that will have ended, as requested, before the time at which the job that blocks
# was to start when it was picked (RLScheduler's; no job is let through for leaving it enough nodes)
ENDING_BEFORE = 4


class Rules(NamedTuple):
    """What an action means, in whole numbers."""

    kind: int  # SELECT, DISPATCH, BACKFILL, INSPECT or WEIGHTS
    meaning: int  # of a pick that does not fit: BLOCK, RESERVE or MASK
    window: int  # visible jobs
    sight: int  # HEAD, SPLIT or SAMPLE
    interval: int  # s for which a choice of DISPATCH or WEIGHTS holds; s for which INSPECT lets a rejected job wait


# What an action has left to be done before the next decision.
PLAN = np.dtype(
    [
        ("block", np.int64),  # job that must start before anything else is decided, -1 none
        ("shadow", np.int64),  # when it may start, as believed when it was picked, s
        ("pass_due", np.int64),  # 1: the pass that is due is done by `policy` and `backfill`
        ("hold", np.int64),  # so is every pass before this time, s
        ("policy", np.int64),
        ("backfill", np.int64),
        ("ask", np.int64),  # a pass is due at this time, whatever happens, s (NEVER: none)
    ]
)


@inner()
def forget(plan):
    """Leave nothing to be done."""
    plan.block = -1
    plan.shadow = UNKNOWN
    plan.pass_due = 0
    plan.hold = UNKNOWN
    plan.ask = NEVER


@inner(forceinline=True)
def order_once(jobs, setup, row):
    """Sort the queue for the pass that is due, unless an earlier decision of the same pass has done so."""
    sim = row.sim[0]
    if sim.tried != sim.clock and (moves(setup.policy) or sim.order != setup.policy):
        order_queue(setup.policy, jobs, setup, row)
    sim.tried = sim.clock


@inner(forceinline=True)
def fits(who, jobs, setup, row):
    """Tell whether a waiting job could start now."""
    if row.job[who].nodes > row.sim[0].free:
        return False
    return not setup.powered or row.sim[0].drawn + jobs.watts[setup.first + who] <= setup.cap


@inner()
def start_at(place, jobs, setup, row):
    """Start the waiting job at a place of the queue."""
    who = row.queue[place]
    if setup.powered:
        start_powered(who, count_ready(setup, row), jobs, setup, row)
    else:
        start_now(who, row)
    row.picks[0] = place
    close_places(row, 1)
    row.sim[0].head = -1
    settle(row.sleep.shape[0] > 0, jobs, setup, row)


@inner()
def move_in_queue(place, target, row):
    """Move the waiting job at one place of the queue to an earlier one."""
    queue, need, wait = row.queue, row.need, row.wait
    who, nodes, length = queue[place], need[place], wait[place]
    for i in range(place, target, -1):
        queue[i], need[i], wait[i] = queue[i - 1], need[i - 1], wait[i - 1]
    queue[target], need[target], wait[target] = who, nodes, length


@inner()
def back_to_order(setup, row):
    """Put the first job of a queue that is kept sorted back to its place in the order."""
    sim, queue, need, wait, job = row.sim[0], row.queue, row.need, row.wait, row.job
    who = queue[sim.first]
    if moves(sim.order) or sim.first == sim.end or job[who].phase != QUEUED:
        return
    sim.first += 1
    place = queue_place(queue, sim.first, sim.end, job, who, setup.cqsim == 0)
    sim.first -= 1
    for i in range(sim.first, place - 1):
        queue[i], need[i], wait[i] = queue[i + 1], need[i + 1], wait[i + 1]
    queue[place - 1], need[place - 1], wait[place - 1] = who, job[who].nodes, job[who].wait


@inner()
def pass_with_head(place, backfill, jobs, setup, row):
    """Do a pass in which the job at a place of the queue is protected like the head, and the others are backfilled."""
    sim = row.sim[0]
    who = row.queue[place]
    move_in_queue(place, sim.first, row)
    if setup.powered:
        schedule_powered(jobs, setup, row, backfill)
    else:
        schedule_by_count(setup, row, backfill)
    sim.head = -1
    settle(row.sleep.shape[0] > 0, jobs, setup, row)
    if row.job[who].phase == QUEUED:
        back_to_order(setup, row)


@inner(forceinline=True)
def is_something_coming(setup, row):
    """Tell whether anything will happen without anybody's doing."""
    return row.sim[0].running > 0 or row.sim[0].arrived < setup.count


@inner(forceinline=True)
def visible_count(rules, row):
    """Return how many jobs are visible."""
    return min(rules.window, row.sim[0].end - row.sim[0].first)


@inner(forceinline=True)
def place_of(slot, rules, setup, row):
    """Return the place in the queue of the job that a slot of the window shows (0 <= slot < visible_count)."""
    sim = row.sim[0]
    hidden = sim.end - sim.first - rules.window
    if rules.sight == HEAD or hidden <= 0:
        return sim.first + slot
    tail = rules.window // 2
    behind = slot - (rules.window - tail)
    if behind < 0:
        return sim.first + slot
    if rules.sight == SPLIT:
        return sim.end - tail + behind
    # one of each of as many equal parts of what lies behind the head, by lot, the same for all looks at one time
    rest = hidden + tail
    low, high = behind * rest // tail, (behind + 1) * rest // tail
    lot = uniform(setup.seed + np.uint64(sim.clock), behind)
    return sim.end - rest + low + np.int64(lot * (high - low))


@inner()
def wait(rules, jobs, setup, row):
    """End the pass; where nothing is left to come, start the first job that fits instead and return False."""
    sim = row.sim[0]
    if is_something_coming(setup, row):
        sim.due = 0
        return True
    for slot in range(visible_count(rules, row)):
        place = place_of(slot, rules, setup, row)
        if fits(row.queue[place], jobs, setup, row):
            start_at(place, jobs, setup, row)
            return False
    sim.due = 0
    return True


@inner()
def select(action, rules, jobs, setup, row, plan):
    """Pick the job in a slot of the window, or (`action == window`) wait for the next event.

    Returns whether the action could be done as it was meant. A job that is to start is left to `drive`.
    """
    sim = row.sim[0]
    if 0 <= action < visible_count(rules, row):
        place = place_of(action, rules, setup, row)
        who = row.queue[place]
        able = fits(who, jobs, setup, row)
        if able or rules.meaning == BLOCK:
            plan.block = who
            if not able and setup.backfill == ENDING_BEFORE:
                plan.shadow, _ = shadow_of(
                    np.int64(row.job[who].nodes), sim.free, sim.clock, False, row.plan, sim.running, row.job
                )
            return True
        if rules.meaning == RESERVE:
            pass_with_head(place, setup.backfill, jobs, setup, row)
            sim.due = 0
            return True
    waited = wait(rules, jobs, setup, row)
    return waited and action == rules.window


@inner()
def start_ending_before(shadow, jobs, setup, row):
    """Start waiting jobs that fit and will have ended before a time, in the order in which they came."""
    sim, last = row.sim[0], -1
    while True:
        # what did not fit will not do so after another one has started: the next one is simply the next that does
        found = -1
        for place in range(sim.first, sim.end):
            who = row.queue[place]
            if last < who and (found < 0 or who < row.queue[found]):
                if sim.clock + row.job[who].request < shadow and fits(who, jobs, setup, row):
                    found = place
        if found < 0:
            return
        last = row.queue[found]
        start_at(found, jobs, setup, row)


@inner()
def block_on(jobs, setup, row, plan):
    """Start the job on which everything waits, if it fits; else backfill others behind it as the twin is set up."""
    sim = row.sim[0]
    place = sim.first
    while row.queue[place] != plan.block:
        place += 1
    if fits(plan.block, jobs, setup, row):
        start_at(place, jobs, setup, row)
        plan.block = -1
        return
    if setup.backfill == ENDING_BEFORE:
        start_ending_before(plan.shadow, jobs, setup, row)
    elif setup.backfill != NONE:
        pass_with_head(place, setup.backfill, jobs, setup, row)
    sim.due = 0


@inner()
def start_in_order(jobs, setup, row):
    """Start waiting jobs in the queue's order up to the first that does not fit; return whether that one exists."""
    sim = row.sim[0]
    while sim.end > sim.first:
        if not fits(row.queue[sim.first], jobs, setup, row):
            return True
        start_at(sim.first, jobs, setup, row)
    return False


@inner()
def is_candidate(place, shadow, extra, jobs, setup, row):
    """Tell whether the job at a place of the queue may start without delaying the protected head."""
    sim = row.sim[0]
    if not fits(row.queue[place], jobs, setup, row):
        return False
    return sim.clock + row.wait[place] <= shadow or row.need[place] <= extra


@inner()
def head_shadow(setup, row):
    """Return when the head of the queue may start and how many nodes it leaves over then."""
    sim, job = row.sim[0], row.job
    head = np.int64(job[row.queue[sim.first]].nodes)
    return shadow_of(head, sim.free, sim.clock, False, row.plan, sim.running, job)


@inner()
def has_candidate(rules, jobs, setup, row):
    """Start jobs up to the first that does not fit; tell whether others may be backfilled behind it."""
    if start_in_order(jobs, setup, row):
        shadow, extra = head_shadow(setup, row)
        for slot in range(1, visible_count(rules, row)):
            if is_candidate(place_of(slot, rules, setup, row), shadow, extra, jobs, setup, row):
                return True
    return False


@inner()
def backfill_one(action, rules, jobs, setup, row):
    """Start one candidate, or (`action == window`) end the pass; return whether the action was one of both."""
    sim = row.sim[0]
    if action == rules.window:
        sim.due = 0
        return True
    if 0 < action < visible_count(rules, row):
        place = place_of(action, rules, setup, row)
        shadow, extra = head_shadow(setup, row)
        if is_candidate(place, shadow, extra, jobs, setup, row):
            start_at(place, jobs, setup, row)
            return True
    sim.due = 0
    return False


@inner()
def accept(action, rules, jobs, setup, row, plan):
    """Start the first job of the queue (action 0), or reject it for now (1) and look again after the interval at most.

    Returns whether the action could be done: where nothing is left to come, nothing can be rejected.
    """
    sim = row.sim[0]
    if action == 1 and is_something_coming(setup, row):
        sim.due = 0
        if rules.interval > 0:
            plan.ask = sim.clock + rules.interval
        return True
    if sim.end > sim.first:
        start_at(sim.first, jobs, setup, row)
    else:
        sim.due = 0
    return action == 0


@inner()
def is_decision(rules, jobs, setup, row):
    """Tell whether the pass that is due, with jobs in the queue, holds something to decide on.

    Where only fitting jobs may be picked, a pass in which no visible job fits is none.
    """
    sim = row.sim[0]
    order_once(jobs, setup, row)
    if rules.kind == BACKFILL:
        return has_candidate(rules, jobs, setup, row)
    if rules.kind == INSPECT:
        if fits(row.queue[sim.first], jobs, setup, row):
            return True
        if setup.backfill != NONE:
            pass_with_head(sim.first, setup.backfill, jobs, setup, row)
        return False
    if rules.kind != SELECT or rules.meaning != MASK:
        return True
    for slot in range(visible_count(rules, row)):
        if fits(row.queue[place_of(slot, rules, setup, row)], jobs, setup, row):
            return True
    return False


@inner()
def drive(rules, jobs, outages, setup, row, plan):
    """Do what is left to be done and let time run to the next decision; return True when the episode is over."""
    sim = row.sim[0]
    while True:
        if sim.due and sim.end > sim.first:
            if plan.block >= 0:
                block_on(jobs, setup, row, plan)
                continue
            if plan.pass_due or sim.clock < plan.hold:
                do_pass(jobs, outages, setup, row, plan.policy, plan.backfill)
                plan.pass_due = 0
            elif is_decision(rules, jobs, setup, row):
                plan.ask = NEVER
                return False
        sim.due = 0
        code = run(jobs, outages, setup, row, plan.ask, -1, True)
        if code == UNTIL:
            plan.ask = NEVER
            sim.due = 1
        elif code == GROW:
            sim.runs = sim.lost = 0  # nobody reads the logs of an environment
        elif code == DONE:
            return True


@inner()
def mask_queue(rules, jobs, setup, row, mask):
    """Write which actions of SELECT make sense: the visible jobs (of MASK: only those that fit), and to wait.

    Waiting makes sense as long as something is to come, or where nothing can be picked.
    """
    count = visible_count(rules, row)
    any_job = count > 0
    if rules.meaning == MASK:
        any_job = False
        for slot in range(count):
            able = fits(row.queue[place_of(slot, rules, setup, row)], jobs, setup, row)
            mask[slot] = able
            any_job |= able
    else:
        mask[:count] = 1
    mask[count : rules.window] = 0
    mask[rules.window] = is_something_coming(setup, row) or not any_job


@inner()
def mask_candidates(rules, jobs, setup, row, mask):
    """Write which actions of BACKFILL make sense: the candidates, and to end the pass."""
    mask[: rules.window] = 0
    mask[rules.window] = 1
    if row.sim[0].end == row.sim[0].first:
        return
    shadow, extra = head_shadow(setup, row)
    for slot in range(1, visible_count(rules, row)):
        mask[slot] = is_candidate(place_of(slot, rules, setup, row), shadow, extra, jobs, setup, row)
