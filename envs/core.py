"""`TwinVectorEnv`: many twins over one log, stepped by one kernel call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from twin_gym.arrays import allocate
from twin_gym.errors import OptionError
from twin_gym.kernels import batch, tally, tasks
from twin_gym.kernels.jit import entry_of
from twin_gym.policies import FAMILIES
from twin_gym.twin import announce_compilation

from .options import env_options
from .world import World

Floats = npt.NDArray[np.float32]


class TwinVectorEnv(gym.vector.VectorEnv[Any, npt.NDArray[Any], npt.NDArray[Any]]):
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
        Whether observations and masks are copies. If not, they are views of one of two buffers that take turns: they
        stay as they are during the next step, and the one after it overwrites them.
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

    Every `info` holds ``action_mask`` (N, A) int8 where actions are Discrete, ``clock`` (N,) int64 [s since the log's
    epoch], ``invalid`` (N,) [actions that could not be done so far] and ``reward/<objective>`` (N,) for each objective
    with a weight: their sum is the reward. At an end there is ``objective/<name>`` for every objective.
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
        self.episodes, self.layout = self.world.episodes, self.world.layout
        self._climate = self.world.climate(num_envs)
        self._setups = np.repeat(self.world.setup, num_envs)
        outages = self.world.outages
        self._state = allocate(self._setups, outages, self.world.users, tallied=True, metered=self.world.metered)
        if len(outages.start):
            # the profile by node is as long as all jobs together could make it
            rows = 8 + 2 * self._state.job.shape[1] + 2 * len(outages.start)
            self._state = self._state._replace(
                step_bits=np.zeros((num_envs, rows, self._state.step_bits.shape[2]), np.uint64)
            )
        self._varies = given.varied or given.view == "sample"

        self.single_action_space = self.layout.action_space
        self.single_observation_space = self.layout.space
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        discrete = isinstance(self.single_action_space, gym.spaces.Discrete)
        self._weights = np.zeros((num_envs, 0 if discrete else self.single_action_space.shape[0]))  # type: ignore[index]
        self._positive = given.task == "weights" and FAMILIES[given.family].positive
        self._buffers = self._allocate(int(self.single_action_space.n) if discrete else 0, buf)  # type: ignore[attr-defined]
        self._copy = copy and buf is None
        # what takes turns, if observations are not copied
        self._spare = self._buffers
        if not copy and buf is None:
            turns = {name: getattr(self._buffers, name).copy() for name in ("observation", "mask", "filled")}
            self._spare = self._buffers._replace(**turns)
        self._objectives = [
            (k, name) for k, name in enumerate(tally.NAMES) if self.world.metered or name not in tally.METERED
        ]
        self._truncated = np.zeros(num_envs, np.bool_)
        self._over = np.ones(num_envs, np.bool_)  # no episode goes on
        self._ends = num_envs  # how many of them
        self._rngs: list[np.random.Generator] = []
        self._trail: dict[int, list[tuple[int, float, float, float]]] = {}  # what pictures have shown of each plant
        self._threads = threads
        edges = np.linspace(0, num_envs, max(1, min(threads, num_envs)) + 1).astype(int)
        self._ranges = list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
        self._attach()
        announce_compilation(batch.step)

    def _attach(self) -> None:
        """Hold what the world has and a copy shares, views of the state, threads and the kernel itself."""
        world = self.world
        self._jobs, self._outages, self._task = world.jobs, world.outages, world.task
        self._shared = (self._task, self._climate, self._jobs, self._outages, self._setups, self._state)
        self._entry: Callable[..., Any] | None = None  # of the kernel
        self._pool = ThreadPoolExecutor(self._threads) if self._threads > 1 else None
        # what an info is made of, looked up once
        self._clock, self._invalid = self._state.sim["clock"], self._state.tally["invalid"][:, 0]
        self._weighted = [(k, f"reward/{name}") for k, name in enumerate(tally.NAMES) if self._task.weights[k] != 0.0]

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy or a pickle takes along; the rest comes from `_attach`."""
        attached = ("_jobs", "_outages", "_task", "_shared", "_entry", "_pool", "_clock", "_invalid", "_weighted")
        return {name: value for name, value in self.__dict__.items() if name not in attached}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Become a copy."""
        self.__dict__.update(state)
        self._attach()

    def _allocate(self, actions: int, buf: Floats | None) -> batch.Buffers:
        num_envs, shape = self.num_envs, (self.num_envs, self.layout.size)
        if buf is not None and (buf.shape != shape or buf.dtype != np.float32 or not buf.flags.c_contiguous):
            raise OptionError(f"buf must be a C-contiguous float32 array of shape {shape}.")
        observation = np.zeros(shape, np.float32) if buf is None else buf
        observation[:] = 0.0
        return batch.Buffers(
            observation=observation,
            mask=np.zeros((num_envs, actions), np.int8),
            reward=np.zeros(num_envs),
            terminated=np.zeros(num_envs, np.bool_),
            values=np.zeros((num_envs, tally.COUNT)),
            terms=np.zeros((num_envs, tally.COUNT)),
            filled=np.zeros(num_envs, np.int64),
            plan=np.zeros(num_envs, tasks.PLAN),
            decisions=np.zeros(num_envs, np.int64),
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
        which, first = np.flatnonzero(chosen), options.get("first")
        if first is not None:
            rows = np.broadcast_to(np.asarray(first, np.int64), (self.num_envs,))
            first = np.array([self.episodes.check(int(row)) for row in rows[which]], np.int64)
        self._begin(which, first)
        return self._observation(), self._info()

    def _place(self, which: npt.NDArray[np.int64], first: npt.NDArray[np.int64] | None = None) -> None:
        """Say where the next episodes of some environments lie; drawn, unless their first rows are given."""
        if first is None:
            first = np.array([self.episodes.draw(self._rngs[e]) for e in which], np.int64)
        self.episodes.place(self._setups, which, first)
        if self._varies:
            self.episodes.vary(self._setups, which.tolist(), self._rngs)

    def _begin(self, which: npt.NDArray[np.int64], first: npt.NDArray[np.int64] | None = None) -> None:
        """Begin an episode in some environments."""
        self._place(which, first)
        actions = np.full(self.num_envs, batch.NOTHING)
        actions[which] = batch.BEGIN
        self._kernel(0, self.num_envs, actions)
        self._over[which] = False
        self._ends = int(self._over.sum())

    def _codes(self, actions: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Check actions, and return what the kernel takes for them.

        Raises
        ------
        OptionError
            If they do not have the shape of the action space, are not numbers, or (``strict=True``) are masked out.
        """
        if self._weights.shape[1]:
            weights = np.asarray(actions, np.float64)
            if weights.shape != self._weights.shape or not np.all(np.isfinite(weights)):
                raise OptionError(f"actions must be finite numbers of shape {self._weights.shape}.")
            np.clip(weights, -1.0, 1.0, out=self._weights)
            if self._positive:
                self._weights[:] = 0.5 + 0.5 * self._weights
            return np.zeros(self.num_envs, np.int64)
        codes = np.ascontiguousarray(actions, np.int64)
        if codes.shape != (self.num_envs,):
            raise OptionError(f"actions must be {self.num_envs} whole numbers, one for each environment.")
        if self.options.strict:
            mask = self._buffers.mask
            known = (codes >= 0) & (codes < mask.shape[1])
            wrong = ~self._over & ~(known & (mask[np.arange(self.num_envs), np.where(known, codes, 0)] != 0))
            if wrong.any():
                e = int(np.argmax(wrong))
                raise OptionError(f"action {codes[e]} of environment {e} is masked out (strict=True).")
        return codes

    def step(
        self, actions: npt.NDArray[Any]
    ) -> tuple[Any, npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.bool_], dict[str, Any]]:
        """Apply an action in each environment and run each to its next decision."""
        actions, over = self._codes(actions), self._over
        if self._ends:
            if self.autoreset_mode != AutoresetMode.NEXT_STEP:
                raise OptionError("an episode is over; reset it first: reset(options={'reset_mask': ...}).")
            self._place(np.flatnonzero(over))
            actions = np.where(over, batch.BEGIN, actions)
            over[:] = False
            self._ends = 0
        self._buffers, self._spare = self._spare, self._buffers
        buffers = self._buffers
        if self._pool is None:
            ended = self._kernel(0, self.num_envs, actions)
        else:
            ended = sum(self._pool.map(lambda ends: self._kernel(ends[0], ends[1], actions), self._ranges))
        reward, terminated = buffers.reward.copy(), buffers.terminated.copy()
        if ended and self.autoreset_mode == AutoresetMode.SAME_STEP:
            final = {
                "final_obs": self._observation(copy=True),
                "_final_obs": terminated,
                "final_info": self._info(ended, copy=True),
                "_final_info": terminated,
            }
            terms = buffers.terms.copy()
            self._begin(np.flatnonzero(terminated))
            return self._observation(), reward, terminated, self._truncated.copy(), {**self._info(0, terms), **final}
        if ended:
            np.copyto(over, terminated)
            self._ends = ended
        return self._observation(), reward, terminated, self._truncated.copy(), self._info(ended)

    def _kernel(self, low: int, high: int, actions: npt.NDArray[np.int64]) -> int:
        """Step some environments; return how many episodes have ended."""
        # all that never changes is the same object at each call
        arguments = (actions, self._weights, *self._shared, self._buffers)
        if self._entry is None:
            self._entry = entry_of(batch.step, low, high, *arguments)
        return self._entry(low, high, *arguments)  # type: ignore[no-any-return]

    def _observation(self, copy: bool = False) -> Any:
        flat = self._buffers.observation
        return self.layout.shaped(flat.copy() if copy or self._copy else flat)

    def _info(self, ended: int = 0, terms: npt.NDArray[np.float64] | None = None, copy: bool = False) -> dict[str, Any]:
        buffers = self._buffers
        terms = buffers.terms if terms is None else terms
        info: dict[str, Any] = {
            "clock": self._clock.copy(),
            "invalid": self._invalid.copy(),
        }
        if buffers.mask.shape[1]:
            info["action_mask"] = buffers.mask.copy() if copy or self._copy else buffers.mask
        for k, name in self._weighted:
            info[name] = terms[:, k].copy()
        if ended:
            info |= {f"objective/{name}": buffers.values[:, k].copy() for k, name in self._objectives}
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
