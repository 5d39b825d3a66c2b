"""CMA-ES over the weights of a priority function; whole populations are scored by one call of the batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from twin_gym.errors import OptionError
from twin_gym.learned import PriorityFunction
from twin_gym.policies import FAMILIES

from ..envs.core import TwinVectorEnv
from ..envs.options import EnvOptions
from ..envs.world import World
from .windows import Floats, Ints, draw

if TYPE_CHECKING:
    import pandas as pd

SIGMA = 0.3  # first spread of the weights, which lie in [-1, 1]


@dataclass(frozen=True, eq=False)
class Evolved:
    """What a search has found.

    Attributes
    ----------
    function : PriorityFunction
        The best on the validation windows, of the centres of all generations.
    history : pandas.DataFrame
        One row for each generation: generation, train (fitness of its best member), validation (fitness of its
        centre), and the centre's weights.
    """

    function: PriorityFunction
    history: pd.DataFrame


class Scorer:
    """Scores many weights on the same windows at once.

    Parameters
    ----------
    options : EnvOptions
        Log, machine, backfill and length of a window.
    first : (W,) int64
        First rows of the windows.
    population : int
        P, weights that are scored at once.
    family : str
    threads : int
    objective : str
        What is made small.
    """

    def __init__(
        self, options: EnvOptions, first: Ints, population: int, family: str, threads: int, objective: str
    ) -> None:
        given = replace(
            options, task="weights", family=family, interval="episode", split="all", window=1, features=["state"]
        )
        self._first = np.tile(first, population)
        self._shape = population, len(first)
        self._envs = TwinVectorEnv(
            len(self._first), world=World.of(given), threads=threads, autoreset_mode="Disabled", copy=False
        )
        self._objective = f"objective/{objective}"

    def values(self, weights: npt.NDArray[Any]) -> Floats:
        """Return the objective of each of (P, K) weights on each window, (P, W)."""
        self._envs.reset(options={"first": self._first})
        actions = np.repeat(np.asarray(weights, np.float64), self._shape[1], axis=0)
        info = self._envs.step(actions)[-1]
        return np.asarray(info[self._objective]).reshape(self._shape)

    def fitness(self, weights: npt.NDArray[Any]) -> Floats:
        """Return the mean of log mean and mean log of each of (P, K) weights, (P,).

        Slowdowns are heavy-tailed: the mean alone is decided by a few windows, the logarithm alone ignores them.
        """
        values = np.maximum(self.values(weights), 1e-9)
        return np.asarray(0.5 * (np.log(values.mean(axis=1)) + np.log(values).mean(axis=1)))


def evolve(
    options: EnvOptions,
    *,
    family: str = "loglinear",
    objective: str = "bounded_slowdown",
    generations: int = 40,
    population: int = 16,
    windows: int = 64,
    seed: int = 0,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Evolved:
    """Search the weights of a priority function on the train split, and choose among them on the validation split.

    Parameters
    ----------
    options : EnvOptions
        Log, machine, backfill, and ``episode_jobs``, the length of a window.
    family : str
        One of `twin_gym.policies.FAMILIES`; the search begins with its own weights.
    objective : str
        What is made small.
    generations, population, windows : int
        Of CMA-ES; windows of the train split on which all are scored (as many of the validation split).
    seed : int
        The same one finds the same function, whatever the number of threads.
    threads : int
    progress : callable, optional
        Called with the number of generations done and of all.

    Raises
    ------
    OptionError
        If `cma` is not installed, or a number is out of range. Ctrl-C ends the search early; what is best so far is
        returned.
    """
    try:
        import cma
    except ModuleNotFoundError:
        raise OptionError("evolve needs the package cma; install it with: pip install 'twin-gym[evolve]'") from None
    import pandas as pd

    if family not in FAMILIES:
        raise OptionError(f"family={family!r} is unknown; choose from: {', '.join(FAMILIES)}.")
    if generations < 1 or population < 4 or windows < 1:
        raise OptionError("evolve needs generations and windows of at least 1, and a population of at least 4.")
    train = Scorer(options, draw(options, windows, "train", seed), population, family, threads, objective)
    held_out = Scorer(options, draw(options, windows, "validation", seed), 1, family, threads, objective)
    centre = np.array(FAMILIES[family].weights)
    if FAMILIES[family].positive:
        centre = np.zeros_like(centre)  # 0.5 for each: the action's middle
    search = cma.CMAEvolutionStrategy(
        0.7 * centre, SIGMA, {"popsize": population, "seed": seed + 1, "verbose": -9, "bounds": [-1.0, 1.0]}
    )
    rows: list[dict[str, float]] = []
    best, best_fitness = centre, float(held_out.fitness(centre[None])[0])
    try:
        for generation in range(generations):
            members = np.array(search.ask())
            scores = train.fitness(members)
            search.tell(list(members), scores.tolist())
            centre = np.clip(np.array(search.result.xfavorite), -1.0, 1.0)
            held = float(held_out.fitness(centre[None])[0])
            if held < best_fitness:
                best, best_fitness = centre, held
            named = {f"w{k}": float(weight) for k, weight in enumerate(centre)}
            rows.append({"generation": generation, "train": float(scores.min()), "validation": held, **named})
            if progress is not None:
                progress(generation + 1, generations)
    except KeyboardInterrupt:
        if not rows:
            raise
    weights = 0.5 + 0.5 * best if FAMILIES[family].positive else best
    note = f"CMA-ES, {len(rows)} generations of {population} on {windows} windows, seed {seed}"
    return Evolved(PriorityFunction(family, tuple(weights.tolist()), note), pd.DataFrame(rows))
