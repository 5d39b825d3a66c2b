"""Agents that have learned nothing: every ordering policy with every backfill mode, the first legal action, chance."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from twin_gym.config import BACKFILLS
from twin_gym.errors import OptionError, PolicyError, suggest
from twin_gym.learned import LEARNED, PriorityFunction, read_function
from twin_gym.policies import FAMILIES, TABLE, find_policy

from ..envs.core import TwinVectorEnv
from ..envs.options import EnvOptions
from .agent import Agent

Mask = npt.NDArray[np.int8] | None


class Heuristic:
    """An ordering policy with a backfill mode; in whichever environment, it makes `simulate`'s schedule.

    Parameters
    ----------
    policy, backfill : str
        As for `twin_gym.simulate`.

    Raises
    ------
    PolicyError
        If one is unknown, or depends on more than the jobs and the clock.
    """

    def __init__(self, policy: str, backfill: str = "none") -> None:
        self.policy = find_policy(policy).name
        if self.policy == "replay" or self.policy in FAMILIES:
            raise PolicyError(f"{policy} depends on more than the jobs and the clock; no agent plays it.")
        if backfill not in BACKFILLS:
            raise PolicyError(f"backfill={backfill!r} is unknown.{suggest(backfill, BACKFILLS)}")
        self.backfill = backfill
        self.name = policy if backfill == "none" else f"{policy}+{backfill}"
        self._wait = -1

    def environment(self, options: EnvOptions) -> EnvOptions:
        """Return the environment, told of this policy; see `Agent`."""
        if options.task in ("dispatch", "weights"):  # it sets no weights, but makes the same decisions once an episode
            return replace(options, task="dispatch", pool=[(self.policy, self.backfill)], interval="episode")
        if options.task == "inspect":
            return replace(options, policy=self.policy, backfill=self.backfill)
        if options.task == "backfill":
            if self.backfill != "easy":
                raise OptionError(f"agent={self.name} does not backfill as this environment does; choose +easy.")
            return replace(options, policy=self.policy)
        if self.backfill in ("easy", "conservative"):
            return replace(options, policy=self.policy, backfill=self.backfill, pick="reserve", view="head")
        return replace(options, policy=self.policy, backfill="none", pick="mask", view="head")

    def begin(self, envs: TwinVectorEnv) -> None:
        """Remember the environment's task."""
        task, strict_order = envs.options.task, envs.options.pick == "mask" and self.backfill == "none"
        self._wait = envs.options.window if task == "select" and strict_order else -1

    def act(self, observation: Any, mask: Mask) -> npt.NDArray[np.int64]:
        """Take the first action that makes sense; with no backfill, the head of the queue or nothing."""
        assert mask is not None
        if self._wait >= 0:
            return np.where(mask[:, 0] != 0, 0, self._wait)
        return np.asarray(mask.argmax(axis=1))


class Learned:
    """A priority function with weights, and a backfill mode.

    Parameters
    ----------
    function : PriorityFunction
    backfill : str
        As for `twin_gym.simulate`.
    name : str, optional
        The function's family if not given.
    """

    def __init__(self, function: PriorityFunction, backfill: str = "none", name: str | None = None) -> None:
        if backfill not in BACKFILLS:
            raise PolicyError(f"backfill={backfill!r} is unknown.{suggest(backfill, BACKFILLS)}")
        self.function, self.backfill = function, backfill
        self.name = name or function.family
        self._envs = 1

    def environment(self, options: EnvOptions) -> EnvOptions:
        """Return an environment in which weights are set once an episode."""
        return replace(options, task="weights", family=self.function.family, interval="episode", backfill=self.backfill)

    def begin(self, envs: TwinVectorEnv) -> None:
        """Remember how many environments there are."""
        self._envs = envs.num_envs

    def act(self, observation: Any, mask: Mask) -> npt.NDArray[np.float64]:
        """Set the function's weights, made to lie in [-1, 1]: orders depend on their ratios alone."""
        weights = np.array(self.function.weights)
        weights = weights / max(float(np.abs(weights).max()), 1e-300)
        if FAMILIES[self.function.family].positive:
            weights = 2.0 * weights - 1.0
        return np.tile(weights, (self._envs, 1))


class First:
    """The first action that makes sense, in whatever environment."""

    name = "first"

    def environment(self, options: EnvOptions) -> EnvOptions:
        """Return the environment as it is."""
        if options.task == "weights":
            raise OptionError("agent=first picks among actions; this environment has none to pick among.")
        return options

    def begin(self, envs: TwinVectorEnv) -> None:
        """Nothing is to be done."""

    def act(self, observation: Any, mask: Mask) -> npt.NDArray[np.int64]:
        """Take the first action that makes sense."""
        assert mask is not None
        return np.asarray(mask.argmax(axis=1))


class RandomAgent:
    """One of the actions that make sense, by chance.

    Parameters
    ----------
    seed : int
        What it does depends on nothing else.
    """

    name = "random"

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self._rng = np.random.default_rng(seed)
        self._shape: tuple[int, ...] = ()

    def environment(self, options: EnvOptions) -> EnvOptions:
        """Return the environment as it is."""
        return options

    def begin(self, envs: TwinVectorEnv) -> None:
        """Begin its series of random numbers anew."""
        self._rng = np.random.default_rng(self._seed)
        box = isinstance(envs.single_action_space, gym.spaces.Box)
        self._shape = envs.action_space.shape or () if box else ()

    def act(self, observation: Any, mask: Mask) -> npt.NDArray[Any]:
        """Draw an action for each environment."""
        if mask is None:
            return self._rng.uniform(-1.0, 1.0, self._shape).astype(np.float32)
        return np.asarray(np.argmax(self._rng.random(mask.shape) * mask, axis=1))


def find_agent(name: str, seed: int = 0) -> Agent:
    """Return an agent by its name: ``random``, ``first``, a policy, such as ``sjf`` or ``wfp3+easy``, or a file.

    ``learned:FILE`` and ``learned:FILE+easy`` are priority functions, as `twin_gym.learned` keeps them.

    Raises
    ------
    TwinGymError
        If there is none of that name; the message suggests the nearest one.
    """
    if name == "random":
        return RandomAgent(seed)
    if name == "first":
        return First()
    if str(name).startswith(LEARNED):
        file, plus, backfill = str(name).removeprefix(LEARNED).rpartition("+")
        if not plus or backfill not in BACKFILLS:
            file, backfill = str(name).removeprefix(LEARNED), "none"
        return Learned(read_function(file), backfill, str(name))
    policy, _, backfill = str(name).partition("+")
    if policy not in TABLE:
        known = ["first", *(name for name in TABLE if name != "replay" and name not in FAMILIES)]
        raise PolicyError(f"agent={name!r} is unknown.{suggest(policy, known)}")
    return Heuristic(policy, backfill or "none")
