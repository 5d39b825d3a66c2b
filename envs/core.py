"""`TwinVectorEnv`: many twins over one log, stepped by one kernel call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from twin_gym.arrays import allocate, check_run, job_table, outage_table, setup_table, user_count
from twin_gym.config import BACKFILLS
from twin_gym.errors import OptionError
from twin_gym.kernels import batch, observe, tally, tasks
from twin_gym.kernels.order import MULTIFACTOR, REPLAY
from twin_gym.policies import find_policy
from twin_gym.power import PowerModel
from twin_gym.power_budget import believed_watts, power_budget
from twin_gym.system import System
from twin_gym.twin import announce_compilation
from twin_gym.workload import Workload

from .episodes import Episodes
from .options import EnvOptions, env_options
from .rewards import weights_of
from .spaces import Layout

Floats = npt.NDArray[np.float32]
_TASKS = {"select": tasks.SELECT, "dispatch": tasks.DISPATCH, "backfill": tasks.BACKFILL, "inspect": tasks.INSPECT}
_PICKS = {"block": tasks.BLOCK, "reserve": tasks.RESERVE, "mask": tasks.MASK}


@dataclass(frozen=True)
class World:
    """What all environments of a batch share: machine, jobs and task; never changed."""

    options: EnvOptions
    system: System
    workload: Workload

    @staticmethod
    def of(options: EnvOptions) -> World:
        """Read the log and the machine."""
        workload = options.workload
        if isinstance(workload, Mapping):
            from twin_gym import datasets

            arguments = dict(workload)
            workload = datasets.load(arguments.pop("loader", "swf"), arguments.pop("path", None), **arguments)
        if not isinstance(workload, Workload):
            raise OptionError("workload must be a Workload, or a mapping such as {'loader': 'swf', 'path': 'log.swf'}.")
        return World(options, _system(options.system, workload), workload)


def _system(system: Any, workload: Workload) -> System:
    if system is None:
        return System.uniform(nodes=workload.capacity or int(workload.nodes.max(initial=1)))
    if isinstance(system, System):
        return system
    if isinstance(system, int) and not isinstance(system, bool):
        return System.uniform(nodes=system)
    return System.from_dict(system) if isinstance(system, Mapping) else System.load(system)


class TwinVectorEnv(gym.vector.VectorEnv[Any, npt.NDArray[np.int64], npt.NDArray[Any]]):
    """N twins of one machine over one log, each in an episode of its own.

    Parameters
    ----------
    num_envs : int
        N.
    autoreset_mode : AutoresetMode or str
        ``NextStep`` (the step after an end begins a new episode), ``SameStep`` (the same step does; the last
        observation is in ``infos["final_obs"]``) or ``Disabled`` (`reset` with ``options={"reset_mask": ...}``).
    threads : int
        Threads among which the environments are divided. Results do not depend on it.
    copy : bool
        Whether observations are copies. If not, they are views that the next step overwrites.
    buf : array, optional
        (N, D) float32 to write observations to, where the caller keeps them.
    render_mode : str, optional
        Of the first environment: see `TwinEnv`.
    **options
        See `EnvOptions`.

    Notes
    -----
    ``reset(seed=s)`` gives environment i the seed s + i; from then on it draws its episodes from its own stream, so
    what it does depends neither on N nor on the other environments. ``options={"first": rows}`` pins episodes by the
    row of their first job.

    Every `info` holds ``action_mask`` (N, A) int8, ``clock`` (N,) int64 [s since the log's epoch], ``invalid`` (N,)
    [actions that could not be done so far] and ``reward/<objective>`` (N,) for each objective with a weight: their sum
    is the reward. At an end there is ``objective/<name>`` for every objective.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        threads: int = 1,
        copy: bool = True,
        buf: Floats | None = None,
        render_mode: str | None = None,
        world: World | None = None,
        **options: Any,
    ) -> None:
        if num_envs < 1:
            raise OptionError(f"num_envs={num_envs} must be at least 1.")
        self.num_envs = num_envs
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = render_mode
        self.world = world or World.of(env_options(**options))
        self.options = given = self.world.options
        system, workload = self.world.system, self.world.workload
        self.episodes = Episodes(len(workload), given)
        self.layout = Layout(given)

        run = given.run
        check_run(run, system, workload, (), None)
        watts = believed_watts(system, workload)
        self._jobs = job_table(workload, system, run.multifactor, None, watts)
        self._outages = outage_table((), 0)
        self._setups = setup_table([run], workload, system, outages=False, budget=power_budget(run, system))
        self._setups = np.repeat(self._setups, num_envs)
        self._setups["count"] = given.episode_jobs
        self._setups["target_watts"] = np.inf if given.target_power is None else given.target_power
        power = PowerModel(system)
        self._setups["idle_watts"], self._setups["full_watts"] = power.idle, power.full - power.idle
        self._state = allocate(self._setups, self._outages, user_count(workload), tallied=True)
        self._task = self._describe(workload)
        actions = self.layout.actions
        shape = (num_envs, self.layout.size)
        if buf is not None and (buf.shape != shape or buf.dtype != np.float32 or not buf.flags.c_contiguous):
            raise OptionError(f"buf must be a C-contiguous float32 array of shape {shape}.")
        self._buffers = batch.Buffers(
            observation=np.zeros(shape, np.float32) if buf is None else buf,
            mask=np.zeros((num_envs, actions), np.int8),
            reward=np.zeros(num_envs),
            terminated=np.zeros(num_envs, np.bool_),
            values=np.zeros((num_envs, tally.COUNT)),
            terms=np.zeros((num_envs, tally.COUNT)),
            filled=np.zeros(num_envs, np.int64),
            plan=np.zeros(num_envs, tasks.PLAN),
            decisions=np.zeros(num_envs, np.int64),
        )
        self._buffers.observation[:] = 0.0
        self._weighted = [k for k, weight in enumerate(self._task.weights) if weight != 0.0]
        self._copy = copy and buf is None
        self._truncated = np.zeros(num_envs, np.bool_)
        self._over = np.ones(num_envs, np.bool_)  # no episode goes on
        self._rngs: list[np.random.Generator] = []
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        edges = np.linspace(0, num_envs, max(1, min(threads, num_envs)) + 1).astype(int)
        self._ranges = list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))

        self.single_action_space = gym.spaces.Discrete(actions)
        self.single_observation_space = self.layout.space
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        announce_compilation()

    def _describe(self, workload: Workload) -> batch.Task:
        """Lay the task out for the kernels."""
        given = self.options
        pool = [(find_policy(policy), backfill) for policy, backfill in given.pool]
        for policy, backfill in pool:
            if policy.code in (REPLAY, MULTIFACTOR):
                raise OptionError(f"pool holds {policy.name}, which depends on more than the jobs and the clock.")
            if backfill not in BACKFILLS:
                raise OptionError(f"pool holds backfill={backfill!r}, which is unknown.")
        request = workload.requested_time.astype(np.float32)
        full = max(float(self._setups["full_watts"][0]), 1.0)
        priority = np.nan_to_num(workload.priority, nan=0.0)
        lowest = priority.min(initial=np.inf)
        span = max(float(priority.max(initial=-np.inf) - lowest), 1e-9)
        static = np.stack(
            [
                request / (request + np.float32(observe.HOUR)),
                np.minimum(workload.nodes / self.world.system.nodes, 1.0),
                np.minimum(self._jobs.watts / full, 1.0),
                (priority - lowest) / span,
            ],
            axis=1,
        ).astype(np.float32)
        return batch.Task(
            kind=_TASKS[given.task],
            meaning=_PICKS[given.pick],
            window=given.window,
            interval=given.interval,
            policies=np.array([policy.code for policy, _ in pool], np.int64),
            backfills=np.array([BACKFILLS.index(backfill) for _, backfill in pool], np.int64),
            compatible=given.layout == "rlscheduler",
            dense=given.dense,
            weights=weights_of(given.reward),
            parts=given.release_bins,
            horizon=given.release_horizon,
            epoch=int(workload.epoch),
            longest=float(max(workload.requested_time.max(initial=1), 1)),
            static=static,
        )

    # ------------------------------------------------------------------------------------------------ gymnasium

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin new episodes.

        Parameters
        ----------
        seed : int or sequence of int, optional
            Seed of the first environment, the next ones getting the next numbers; or one for each.
        options : dict, optional
            ``reset_mask``: (N,) bool, which environments to reset (all); ``first``: row of the episode's first job, one
            number or (N,).
        """
        options = options or {}
        chosen = np.asarray(options.get("reset_mask", np.ones(self.num_envs, np.bool_)), np.bool_)
        if chosen.shape != (self.num_envs,):
            raise OptionError(f"options['reset_mask'] must hold {self.num_envs} truth values.")
        if seed is None or isinstance(seed, int | np.integer):
            seeds: Sequence[int | None] = [None if seed is None else int(seed) + i for i in range(self.num_envs)]
        else:
            seeds = seed
        if len(seeds) != self.num_envs:
            raise OptionError(f"seed must be one number or {self.num_envs} of them.")
        if not self._rngs:
            self._rngs = [seeding.np_random(one)[0] for one in seeds]
        else:
            for i, one in enumerate(seeds):
                if one is not None and chosen[i]:
                    self._rngs[i] = seeding.np_random(one)[0]
        first = options.get("first")
        if first is not None:
            rows = np.broadcast_to(np.asarray(first, np.int64), (self.num_envs,))
            self._setups["first"][chosen] = [self.episodes.check(int(row)) for row in rows[chosen]]
        self._begin(np.flatnonzero(chosen), drawn=first is None)
        return self._observation(), self._info()

    def _place(self, which: npt.NDArray[np.int64], *, drawn: bool = True) -> None:
        """Say where the next episodes of some environments lie."""
        if drawn:
            for e in which:
                self._setups["first"][e] = self.episodes.draw(self._rngs[e])
        self._setups["clock"][which] = self._jobs.submit[self._setups["first"][which]]

    def _begin(self, which: npt.NDArray[np.int64], *, drawn: bool = True) -> None:
        """Begin an episode in some environments."""
        self._place(which, drawn=drawn)
        actions = np.full(self.num_envs, batch.NOTHING)
        actions[which] = batch.BEGIN
        self._kernel(0, self.num_envs, actions)
        self._over[which] = False

    def step(
        self, actions: npt.NDArray[np.int64]
    ) -> tuple[Any, npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.bool_], dict[str, Any]]:
        """Apply an action in each environment and run each to its next decision."""
        actions = np.ascontiguousarray(actions, np.int64)
        if actions.shape != (self.num_envs,):
            raise OptionError(f"actions must be {self.num_envs} whole numbers, one for each environment.")
        buffers, over = self._buffers, self._over
        if over.any():
            if self.autoreset_mode != AutoresetMode.NEXT_STEP:
                raise OptionError("an episode is over; reset it first: reset(options={'reset_mask': ...}).")
            self._place(np.flatnonzero(over))
            actions = np.where(over, batch.BEGIN, actions)
            over[:] = False
        if self._pool is None:
            self._kernel(0, self.num_envs, actions)
        else:
            list(self._pool.map(lambda ends: self._kernel(ends[0], ends[1], actions), self._ranges))
        reward, terminated = buffers.reward.copy(), buffers.terminated.copy()
        if terminated.any() and self.autoreset_mode == AutoresetMode.SAME_STEP:
            ended = np.flatnonzero(terminated)
            final = {
                "final_obs": self._observation(copy=True),
                "_final_obs": terminated,
                "final_info": self._info(),
                "_final_info": terminated,
            }
            terms = buffers.terms.copy()
            self._begin(ended)
            return self._observation(), reward, terminated, self._truncated.copy(), {**self._info(terms), **final}
        np.copyto(over, terminated)
        return self._observation(), reward, terminated, self._truncated.copy(), self._info()

    def _kernel(self, low: int, high: int, actions: npt.NDArray[np.int64]) -> None:
        batch.step(low, high, actions, self._task, self._jobs, self._outages, self._setups, self._state, self._buffers)

    def _observation(self, copy: bool = False) -> Any:
        flat = self._buffers.observation
        return self.layout.shaped(flat.copy() if copy or self._copy else flat)

    def _info(self, terms: npt.NDArray[np.float64] | None = None) -> dict[str, Any]:
        buffers = self._buffers
        terms = buffers.terms if terms is None else terms
        info: dict[str, Any] = {
            "action_mask": buffers.mask.copy() if self._copy else buffers.mask,
            "clock": self._state.sim["clock"].copy(),
            "invalid": self._state.tally["invalid"][:, 0].copy(),
        }
        for k in self._weighted:
            info[f"reward/{tally.NAMES[k]}"] = terms[:, k].copy()
        if buffers.terminated.any():
            info |= {f"objective/{name}": buffers.values[:, k].copy() for k, name in enumerate(tally.NAMES)}
        return info

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Return which actions make sense now, (N, A) bool; there is always one."""
        return self._buffers.mask.astype(np.bool_)

    def render(self) -> Any:
        """Return pictures of the environments, as `TwinEnv.render`."""
        from .render import draw

        return tuple(draw(self, e) for e in range(self.num_envs)) if self.render_mode is not None else None

    def close_extras(self, **kwargs: Any) -> None:
        """Stop the threads."""
        if self._pool is not None:
            self._pool.shutdown()
