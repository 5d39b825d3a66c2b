"""The same windows of a log for every agent: drawn once, played in one batch, objectives side by side."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ..envs.core import TwinVectorEnv
from ..envs.options import EnvOptions
from ..envs.world import World
from .agent import Agent

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def draw(options: EnvOptions, windows: int, split: str, seed: int = 0) -> Ints:
    """Return the first rows of windows drawn from a split, (W,), in the order of the log.

    Parameters
    ----------
    options : EnvOptions
        Log and length of an episode.
    windows : int
        W; windows may overlap.
    split : str
        ``train``, ``validation``, ``test`` or ``all``.
    seed : int
    """
    episodes = World.of(replace(options, split=split)).episodes
    rng = np.random.default_rng(seed)
    return np.sort(np.array([episodes.draw(rng) for _ in range(windows)], np.int64))


def play(agent: Agent, options: EnvOptions, first: Ints, *, threads: int = 1) -> dict[str, Floats]:
    """Let an agent play windows of a log, all at once.

    Parameters
    ----------
    agent : Agent
    options : EnvOptions
        The environment; the agent may choose another task over the same log.
    first : (W,) int64
        First rows of the windows.
    threads : int
        Results do not depend on it.

    Returns
    -------
    dict of str to (W,) float64
        Every objective at the end of each window; see `twin_gym.kernels.tally.objectives`.
    """
    world = World.of(replace(agent.environment(options), split="all"))
    envs = TwinVectorEnv(len(first), world=world, threads=threads, autoreset_mode="SameStep", copy=False)
    agent.begin(envs)
    observation, info = envs.reset(seed=0, options={"first": first})
    found: dict[str, Floats] = {}
    running = np.ones(len(first), np.bool_)
    while running.any():
        observation, _, over, _, info = envs.step(agent.act(observation, info.get("action_mask")))
        ended = over & running
        if ended.any():
            for name, values in info["final_info"].items():
                if name.startswith("objective/"):
                    column = found.setdefault(name.removeprefix("objective/"), np.full(len(first), np.nan))
                    column[ended] = values[ended]
            running &= ~over
    envs.close()
    return found


def paired_interval(ours: Floats, theirs: Floats, seed: int = 0, resamples: int = 10_000) -> tuple[float, float, float]:
    """Return the mean of paired differences and the ends of its 95 % bootstrap interval (percentiles).

    Parameters
    ----------
    ours, theirs : (W,) float64
        Values of the same windows.
    seed, resamples : int
        Of the bootstrap, which draws whole windows.
    """
    difference = np.asarray(ours, np.float64) - np.asarray(theirs, np.float64)
    rng = np.random.default_rng(seed)
    means = difference[rng.integers(0, len(difference), (resamples, len(difference)))].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(difference.mean()), float(low), float(high)
