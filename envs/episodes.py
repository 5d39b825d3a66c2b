"""Which part of a log an episode is, drawn inside a split by time, and what runs and waits when it begins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from twin_gym.errors import OptionError, WorkloadError
from twin_gym.kernels.state import UNKNOWN
from twin_gym.workload import Workload

from .options import EnvOptions

Ints = npt.NDArray[np.int64]


class Episodes:
    """Draws episodes from a log.

    Parameters
    ----------
    workload : Workload
        J jobs in submit order.
    options : EnvOptions
        Length of an episode, the split, and how jobs vary.
    standing : (start, end) of (J,) int64 arrays, optional
        When each job runs in the schedule that prepopulates episodes, s; a start is UNKNOWN if it never does.

    Attributes
    ----------
    first, last : int
        First rows of the earliest and of the latest episode.
    room : int
        Most jobs that an episode has, those from before its begin among them.

    Raises
    ------
    WorkloadError
        If the split holds less than an episode.
    """

    def __init__(self, workload: Workload, options: EnvOptions, standing: tuple[Ints, Ints] | None = None) -> None:
        jobs = len(workload)
        validation, test = (int(share * jobs) for share in options.split_at)
        self.first, self._end = {
            "all": (0, jobs),
            "train": (0, validation),
            "validation": (validation, test),
            "test": (test, jobs),
        }[options.split]
        self.options = options
        self._submit = workload.submit
        self._reach = np.arange(jobs) if standing is None else _reach(workload.submit, *standing, options.lookback)
        if options.episode_time is None:
            self.last = self._end - options.episode_jobs
            length = f"episode_jobs={options.episode_jobs}"
        else:
            inside = self._submit[self.first : self._end]
            begun = inside <= (inside[-1] - options.episode_time if len(inside) else 0)
            self.last = self.first + int(begun.sum()) - 1
            length = f"episode_time={options.episode_time}"
        if self.last < self.first:
            raise WorkloadError(
                f"split={options.split} holds {self._end - self.first} of {jobs} jobs, fewer than {length} asks for; "
                "choose shorter episodes or a longer log."
            )
        rows = np.arange(self.first, self.last + 1)
        self.room = int((rows - self._reach[rows] + self.jobs(rows)).max())

    def jobs(self, first: Ints) -> Ints:
        """Return how many jobs the episodes have whose first jobs stand in the given rows."""
        if self.options.episode_time is None:
            return np.full(len(first), self.options.episode_jobs)
        until = self._submit[first] + self.options.episode_time
        return np.minimum(np.searchsorted(self._submit, until), self._end) - first

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

    def place(self, setups: npt.NDArray[np.void], which: Ints, first: Ints) -> None:
        """Say in the setups of some environments that their next episodes begin with the jobs of the given rows."""
        reach, clock = self._reach[first], self._submit[first]
        setups["first"][which] = reach
        setups["before"][which] = first - reach
        setups["count"][which] = first - reach + self.jobs(first)
        setups["clock"][which] = clock
        setups["origin"][which] = clock if self.options.origin == "episode" else 0

    def vary(self, setups: npt.NDArray[np.void], which: Sequence[int], rngs: Sequence[np.random.Generator]) -> None:
        """Draw what else differs from episode to episode, each environment from its own generator."""
        arrival, runtime = self.options.between("arrival_scale"), self.options.between("runtime_scale")
        for e in which:
            setups["stretch"][e] = rngs[e].uniform(*arrival)
            setups["growth"][e] = rngs[e].uniform(*runtime)
            setups["seed"][e] = rngs[e].integers(2**62)


def _reach(submit: Ints, start: Ints, end: Ints, lookback: int) -> Ints:
    """Return for each row the first one, at most `lookback` before, that has not ended when the row is submitted."""
    gone = np.where(start == UNKNOWN, np.iinfo(np.int64).min, end)  # refused: it neither runs nor waits
    # the first row that ends after a time: ends so far at most, searched
    latest = np.maximum.accumulate(gone)
    rows = np.arange(len(submit))
    reach: Ints = np.minimum(np.searchsorted(latest, submit, side="right"), rows)
    return np.maximum(reach, rows - lookback)
