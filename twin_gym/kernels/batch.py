"""One step of many environments: apply each one's action, run to its next decision, write what the agent gets.

Environments share the job table and nothing else, so a batch may be cut into ranges and stepped in threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from twin_gym.kernels import observe
from twin_gym.kernels.climate import begin_metering, meter
from twin_gym.kernels.events import begin
from twin_gym.kernels.jit import borrowed, inner, kernel, referred
from twin_gym.kernels.order import MULTIFACTOR
from twin_gym.kernels.state import borrow_jobs, borrow_outages, row_of
from twin_gym.kernels.tally import objectives
from twin_gym.kernels.tasks import (
    BACKFILL,
    DISPATCH,
    INSPECT,
    SELECT,
    WEIGHTS,
    Rules,
    accept,
    backfill_one,
    drive,
    forget,
    is_something_coming,
    mask_candidates,
    mask_queue,
    select,
)

BEGIN, NOTHING = -1_000_000_001, -1_000_000_002  # instead of an action


class Places(NamedTuple):
    """Where each group of features begins in an observation; -1: it is left out."""

    compatible: int  # all of it is in the layout of RLScheduler
    jobs: int
    details: int
    state: int
    releases: int
    facility: int
    price: int
    carbon: int


class Task(NamedTuple):
    """What is decided and what is seen: the same for every environment of a batch."""

    rules: Rules
    policies: npt.NDArray[np.int64]  # (A,) DISPATCH: order of each action
    backfills: npt.NDArray[np.int64]  # (A,) DISPATCH: backfill mode of each action
    initial: npt.NDArray[np.float64]  # (K,) WEIGHTS: weights at the beginning of an episode
    dense: bool  # reward at each step, or all of it at the end
    weights: npt.NDArray[np.float64]  # (COUNT,) of the objectives
    places: Places
    parts: int  # of the profile of releases and of forecasts
    horizon: int  # of both, s
    epoch: int  # Unix time of the clock's 0, s
    longest: float  # longest request, s
    static: npt.NDArray[np.float32]  # (J, 4) request, nodes, power and priority, scaled
    deadline: npt.NDArray[np.int64]  # (J,) s, UNKNOWN without one; (0,) if no job has one


class Buffers(NamedTuple):
    """What a batch writes, E environments."""

    observation: npt.NDArray[np.float32]  # (E, D)
    mask: npt.NDArray[np.int8]  # (E, A)
    reward: npt.NDArray[np.float64]  # (E,)
    terminated: npt.NDArray[np.bool_]  # (E,)
    values: npt.NDArray[np.float64]  # (E, COUNT) of the objectives so far
    terms: npt.NDArray[np.float64]  # (E, COUNT) of the reward of the last step
    filled: npt.NDArray[np.int64]  # (E,) jobs that the observation holds
    plan: npt.NDArray[np.void]  # (E,) PLAN
    decisions: npt.NDArray[np.int64]  # (E,) steps of the episode


@inner()
def write_mask(e, rules, jobs, setup, row, buffers):
    """Write which actions of an environment make sense."""
    mask = borrowed(buffers.mask[e])
    if rules.kind == SELECT:
        mask_queue(rules, jobs, setup, row, mask)
    elif rules.kind == BACKFILL:
        mask_candidates(rules, jobs, setup, row, mask)
    elif rules.kind == INSPECT:
        mask[0] = 1
        mask[1] = is_something_coming(setup, row)
    else:
        mask[:] = 1


@inner()
def write_observation(e, task, climate, jobs, setup, row, buffers):
    """Write one environment's observation, group by group."""
    out, places, rules = borrowed(buffers.observation[e]), task.places, task.rules
    if places.compatible >= 0:
        buffers.filled[e] = observe.observe_compatible(
            rules, np.float32(task.longest), setup, row, buffers.filled[e], out
        )
        return
    if places.jobs >= 0:
        jobs_end = places.jobs + rules.window * observe.JOB_FEATURES
        buffers.filled[e] = observe.observe_jobs(
            rules, task.static, jobs, setup, row, buffers.filled[e], out[places.jobs : jobs_end]
        )
    if places.details >= 0:
        details_end = places.details + rules.window * observe.DETAILS
        observe.observe_details(rules, task.deadline, jobs, setup, row, out[places.details : details_end])
    if places.state >= 0:
        observe.observe_state(rules, task.epoch, setup, row, out[places.state :])
    if places.releases >= 0:
        observe.observe_releases(task.horizon, setup, row, out[places.releases : places.releases + task.parts])
    if places.facility >= 0:
        observe.observe_facility(e, task.horizon, climate, setup, row, out[places.facility :])
    for market in range(2):
        begin = places.price if market == 0 else places.carbon
        if begin >= 0:
            sums = climate.price if market == 0 else climate.carbon
            low, high = climate.price_range if market == 0 else climate.carbon_range
            to = out[begin : begin + 1 + task.parts]
            observe.observe_market(sums, low, high, row.sim[0].clock, task.horizon, climate, to)


@inner(forceinline=True)
def write_reward(e, over, fresh, task, now, buffers):
    """Write what an environment's objectives, as they are `now`, mean for its reward."""
    reward = 0.0
    for k in range(now.shape[0]):
        term = 0.0
        if fresh:
            pass
        elif task.dense:
            term = task.weights[k] * (now[k] - buffers.values[e, k])
        elif over:
            term = task.weights[k] * now[k]
        buffers.terms[e, k] = term
        reward += term
        if not fresh:
            buffers.values[e, k] = now[k]
    buffers.reward[e] = reward


@inner(forceinline=True)
def set_weights(weights, setup):
    """Give the priority function of a setup other weights."""
    if setup.policy == MULTIFACTOR:
        setup.age, setup.size, setup.fairshare, setup.queue = weights[0], weights[1], weights[2], weights[3]
    else:
        for k in range(weights.shape[0]):
            setup.weights[k] = weights[k]


@inner(forceinline=True)
def do_pass_by(policy, backfill, until, plan):
    """Let the pass that is due, and every other one before a time, be done by a policy and a backfill mode."""
    plan.policy, plan.backfill = policy, backfill
    plan.pass_due = 1
    plan.hold = until


@inner()
def act(e, action, weights, task, jobs, setup, row, plan):
    """Apply an environment's action; return whether it could be done."""
    rules = task.rules
    if rules.kind == SELECT:
        return select(action, rules, jobs, setup, row, plan)
    if rules.kind == DISPATCH:
        if not 0 <= action < task.policies.shape[0]:
            row.sim[0].due = 0
            return False
        do_pass_by(task.policies[action], task.backfills[action], row.sim[0].clock + rules.interval, plan)
        return True
    if rules.kind == WEIGHTS:
        set_weights(weights[e], setup)
        do_pass_by(setup.policy, setup.backfill, row.sim[0].clock + rules.interval, plan)
        return True
    if rules.kind == BACKFILL:
        return backfill_one(action, rules, jobs, setup, row)
    return accept(action, rules, jobs, setup, row, plan)


@kernel()
def step(low, high, actions, weights, task, climate, jobs, outages, setups, st, buffers):
    """Step some environments, or begin an episode in them.

    Parameters
    ----------
    low, high : int
        The environments low .. high - 1.
    actions : (E,) int64
        BEGIN: begin an episode; NOTHING: leave it alone.
    weights : (E, K) float64
        Of the priority function, for WEIGHTS; (E, 0) else.
    task : Task
    climate : Climate
    jobs, outages, setups, st : Jobs, Outages, (E,) SETUP, State
    buffers : Buffers
        Written, each environment its own row.

    Returns
    -------
    int
        How many episodes have ended.
    """
    ended = 0
    jobs, outages = referred(borrow_jobs(jobs)), referred(borrow_outages(outages))
    task, climate, buffers = referred(task), referred(climate), referred(buffers)
    now = np.zeros(buffers.values.shape[1])
    metered = climate.meters.shape[0] > 0
    for e in range(low, high):
        action = actions[e]
        if action == NOTHING:
            continue
        setup, row, plan = setups[e], referred(row_of(st, e)), buffers.plan[e]
        fresh = action == BEGIN
        done_so = True
        if fresh:
            if task.rules.kind == WEIGHTS:
                set_weights(task.initial, setup)
            begin(jobs, outages, setup, row)
            if metered:
                begin_metering(e, setup.clock, climate)
            forget(plan)
            # what happens before the first decision counts for the first step
            objectives(row.tally[0], setup, now)
            for k in range(now.shape[0]):
                buffers.values[e, k] = now[k]
        else:
            done_so = act(e, action, weights, task, jobs, setup, row, plan)
        if not done_so:
            row.tally[0].invalid += 1.0
        over = drive(task.rules, jobs, outages, setup, row, plan)
        if metered:
            meter(e, climate, setup, row)
        objectives(row.tally[0], setup, now)
        write_reward(e, over, fresh, task, now, buffers)
        buffers.terminated[e] = over and not fresh
        ended += over and not fresh
        buffers.decisions[e] = 0 if fresh else buffers.decisions[e] + 1
        write_mask(e, task.rules, jobs, setup, row, buffers)
        write_observation(e, task, climate, jobs, setup, row, buffers)
    return ended
