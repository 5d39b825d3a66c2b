"""One step of many environments: apply each one's action, run to its next decision, write what the agent gets.

Environments share the job table and nothing else, so a batch may be cut into ranges and stepped in threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from twin_gym.kernels import observe
from twin_gym.kernels.events import reset
from twin_gym.kernels.jit import borrowed, inner, kernel
from twin_gym.kernels.state import borrow_jobs, borrow_outages, row_of
from twin_gym.kernels.tally import objectives
from twin_gym.kernels.tasks import (
    BACKFILL,
    DISPATCH,
    INSPECT,
    MASK,
    SELECT,
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


class Task(NamedTuple):
    """What is decided and what is seen: the same for every environment of a batch."""

    kind: int  # SELECT, DISPATCH, BACKFILL or INSPECT
    meaning: int  # of a pick that does not fit: BLOCK, RESERVE or MASK
    window: int  # visible jobs
    interval: int  # s between two decisions of DISPATCH (0: each pass); s for which INSPECT lets a rejected job wait
    policies: npt.NDArray[np.int64]  # (A,) DISPATCH: order of each action
    backfills: npt.NDArray[np.int64]  # (A,) DISPATCH: backfill mode of each action
    compatible: bool  # the layout of RLScheduler
    dense: bool  # reward at each step, or all of it at the end
    weights: npt.NDArray[np.float64]  # (COUNT,) of the objectives
    parts: int  # of the profile of releases
    horizon: int  # of the profile of releases, s
    epoch: int  # Unix time of the clock's 0, s
    longest: float  # longest request, s
    static: npt.NDArray[np.float32]  # (J, 4) request, nodes, power and priority, scaled


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
def write_observation(e, task, jobs, setup, row, buffers):
    """Write one environment's observation and mask."""
    out = borrowed(buffers.observation[e])
    mask = borrowed(buffers.mask[e])
    if task.kind == DISPATCH:
        mask[:] = 1
    elif task.kind == INSPECT:
        mask[0] = 1
        mask[1] = is_something_coming(setup, row)
    elif task.kind == BACKFILL:
        mask_candidates(task.window, jobs, setup, row, mask)
    else:
        mask_queue(task.window, task.meaning == MASK, jobs, setup, row, mask)
    if task.compatible:
        buffers.filled[e] = observe.observe_compatible(
            task.window, np.float32(task.longest), jobs, setup, row, buffers.filled[e], out
        )
        return
    jobs_end = task.window * observe.JOB_FEATURES
    state_end = jobs_end + observe.STATE_FEATURES
    buffers.filled[e] = observe.observe_jobs(
        task.window, task.static, jobs, setup, row, buffers.filled[e], out[:jobs_end]
    )
    observe.observe_state(task.window, task.epoch, setup, row, out[jobs_end:state_end])
    observe.observe_releases(task.horizon, setup, row, out[state_end:])


@kernel()
def step(low, high, actions, task, jobs, outages, setups, st, buffers):
    """Step some environments, or begin an episode in them.

    Parameters
    ----------
    low, high : int
        The environments low .. high - 1.
    actions : (E,) int64
        BEGIN: begin an episode; NOTHING: leave it alone.
    task : Task
    jobs, outages, setups, st : Jobs, Outages, (E,) SETUP, State
    buffers : Buffers
        Written, each environment its own row.
    """
    jobs, outages = borrow_jobs(jobs), borrow_outages(outages)
    now = np.zeros(buffers.values.shape[1])
    for e in range(low, high):
        action = actions[e]
        if action == NOTHING:
            continue
        setup, row, plan = setups[e], row_of(st, e), buffers.plan[e]
        fresh = action == BEGIN
        done_so = True
        if fresh:
            reset(jobs, outages, setups, st, e)
            forget(plan)
            # what happens before the first decision counts for the first step
            objectives(row.tally[0], setup, buffers.values[e])
        elif task.kind == SELECT:
            done_so = select(action, task.window, task.meaning, jobs, setup, row, plan)
        elif task.kind == DISPATCH:
            done_so = 0 <= action < task.policies.shape[0]
            if done_so:
                plan.policy, plan.backfill = task.policies[action], task.backfills[action]
                plan.pass_due = 1
                plan.hold = row.sim[0].clock + task.interval
            else:
                row.sim[0].due = 0
        elif task.kind == BACKFILL:
            done_so = backfill_one(action, task.window, jobs, setup, row)
        else:
            done_so = accept(action, task.interval, jobs, setup, row, plan)
        if not done_so:
            row.tally[0].invalid += 1.0
        over = drive(task.kind, task.meaning, task.window, jobs, outages, setups, st, e, plan)
        objectives(row.tally[0], setup, now)
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
        buffers.terminated[e] = over and not fresh
        buffers.decisions[e] = 0 if fresh else buffers.decisions[e] + 1
        write_observation(e, task, jobs, setup, row, buffers)
