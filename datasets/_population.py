"""Who submits synthetic jobs: users of unequal activity in sessions, their accounts, partitions and priorities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from twin_gym.columns import Labels
from twin_gym.errors import OptionError

PARTITIONS = ("batch", "debug", "large")


class Owners(NamedTuple):
    """Columns of a workload that say whose job it is, shape (J,)."""

    user: Labels
    account: Labels
    partition: Labels
    priority: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Population:
    """The people and the rules of a machine.

    Attributes
    ----------
    users : int
        Number of users. User of rank ``k`` submits a share proportional to ``k**-skew`` (Zipf).
    skew : float
        0 makes all users alike, 1 is Zipf's law.
    session : float
        Probability that a job comes from the same user as the one before it; the shares stay as they are. A session
        has ``1 / (1 - session)`` jobs on average (0.6: 2.5).
    accounts : int
        Number of accounts; every user belongs to one, drawn with Zipf weights, so that accounts differ in size.
    debug_time, debug_nodes : int, float
        Jobs that request at most this time (s) and at most this fraction of the machine go to partition ``debug``.
    large_nodes : float
        Jobs larger than this fraction of the machine go to ``large``; all others to ``batch``.
    max_priority : int
        Priorities are whole numbers drawn evenly from 0 to this one, higher is more urgent.
    """

    users: int = 64
    skew: float = 1.0
    session: float = 0.6
    accounts: int = 8
    debug_time: int = 1800
    debug_nodes: float = 1 / 16
    large_nodes: float = 1 / 4
    max_priority: int = 1000

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name, good in (
            ("users", self.users >= 1),
            ("skew", self.skew >= 0),
            ("session", 0 <= self.session < 1),
            ("accounts", self.accounts >= 1),
            ("max_priority", self.max_priority >= 0),
        ):
            if not good:
                raise OptionError(f"Population: {name}={getattr(self, name)} is out of range (see its documentation).")

    def owners(
        self,
        rng: np.random.Generator,
        sizes: npt.NDArray[np.int32],
        requested_times: npt.NDArray[np.int64],
        capacity: int,
    ) -> Owners:
        """Give every job a user, an account, a partition and a priority.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of randomness.
        sizes, requested_times : ndarray, shape (J,)
            Sizes and requested walltimes (s), in the order of submission.
        capacity : int
            Size of the machine.

        Returns
        -------
        Owners
            Columns of shape (J,).
        """
        jobs = len(sizes)
        user = zipf(rng, self.users, self.skew, jobs)
        if self.session and jobs:
            fresh = rng.random(jobs) >= self.session
            fresh[0] = True
            user = user[np.maximum.accumulate(np.where(fresh, np.arange(jobs), 0))]
        account = zipf(rng, self.accounts, 1.0, self.users)[user]
        partition = np.zeros(jobs, dtype=np.int32)
        partition[(requested_times <= self.debug_time) & (sizes <= self.debug_nodes * capacity)] = 1
        partition[sizes > self.large_nodes * capacity] = 2
        priority = rng.integers(self.max_priority + 1, size=jobs).astype(np.float64)
        width = len(str(self.users))
        return Owners(
            Labels(user, tuple(f"user{k + 1:0{width}d}" for k in range(self.users))),
            Labels(account, tuple(f"account{k + 1}" for k in range(self.accounts))),
            Labels(partition, PARTITIONS),
            priority,
        )


def zipf(rng: np.random.Generator, ranks: int, skew: float, count: int) -> npt.NDArray[np.int32]:
    """Draw ranks 0..ranks-1 with probability proportional to ``(rank + 1)**-skew``; int32, shape (count,)."""
    bounds = np.cumsum(np.arange(1, ranks + 1, dtype=np.float64) ** -skew)
    drawn: npt.NDArray[np.int64] = np.searchsorted(bounds[:-1], rng.random(count) * bounds[-1], side="right")
    return drawn.astype(np.int32)
