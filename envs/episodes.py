"""Which part of a log an episode is: consecutive jobs, drawn inside a split by time."""

from __future__ import annotations

import numpy as np

from twin_gym.errors import OptionError, WorkloadError

from .options import EnvOptions


class Episodes:
    """Draws episodes from a log of `jobs` jobs.

    Parameters
    ----------
    jobs : int
        Jobs of the log, in submit order.
    options : EnvOptions
        Length of an episode, and the split.

    Raises
    ------
    WorkloadError
        If the split holds fewer jobs than an episode.
    """

    def __init__(self, jobs: int, options: EnvOptions) -> None:
        validation, test = (int(share * jobs) for share in options.split_at)
        self.first, end = {
            "all": (0, jobs),
            "train": (0, validation),
            "validation": (validation, test),
            "test": (test, jobs),
        }[options.split]
        self.length = options.episode_jobs
        self.last = end - self.length
        if self.last < self.first:
            raise WorkloadError(
                f"split={options.split} holds {end - self.first} of {jobs} jobs, fewer than "
                f"episode_jobs={self.length}; choose shorter episodes or a longer log."
            )

    def draw(self, rng: np.random.Generator) -> int:
        """Return the first row of an episode."""
        return int(rng.integers(self.first, self.last + 1))

    def check(self, first: int) -> int:
        """Return a first row that somebody has asked for.

        Raises
        ------
        OptionError
            If it lies outside the split.
        """
        if not self.first <= first <= self.last:
            raise OptionError(f"options['first']={first} must lie between {self.first} and {self.last} in this split.")
        return int(first)
