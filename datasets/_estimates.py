"""Requested walltimes as users give them: the estimate model of Tsafrir, Etsion and Feitelson.

Source: D. Tsafrir, Y. Etsion, D. G. Feitelson, "Modeling User Runtime Estimates", JSSPP 2005, and the parameter values
of the authors' program in the Parallel Workloads Archive. People ask for few, round values: twenty of them serve 89 %
of all jobs, and the largest allowed one is the most popular. The model has two parts, a histogram of estimates
(`histogram`) and its assignment to jobs so that no estimate lies below its job's runtime (`assign`).

docs/models/workload.md lists the formulas and where this implementation is simpler than the authors' program.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from twin_gym.errors import OptionError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MINUTE = 60
HOUR = 3600
HEAD = 20
"""How many estimates are popular."""
HEAD_SHARE = 0.89
"""Share of the jobs that use one of them."""

COMMON = tuple(MINUTE * m for m in (5, 10, 15, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 720, 1080))
"""The estimates that are popular on all four machines of the paper, s."""
ROUND = tuple(MINUTE * m for m in (12000, 6000, 3000, 600, 300, 120, 60, 20, 10, 5))
"""Steps whose multiples, from the maximum downwards, fill the popular estimates up to twenty, s."""

POPULARITY = np.array(
    [
        # popularity rank of the popular estimates in order of time (row 0: the maximum, then shortest to longest)
        # on SDSC-106, CTC, KTH-4h and SDSC-BLUE
        (3, 1, 1, 1), (1, 3, 4, 6), (4, 4, 10, 5), (17, 2, 14, 3), (13, 12, 20, 7), (7, 9, 2, 2), (8, 8, 3, 18),
        (18, 18, 7, 19), (2, 6, 12, 4), (6, 7, 6, 11), (16, 11, 19, 20), (10, 20, 5, 9), (5, 16, 18, 10),
        (15, 5, 16, 14), (14, 14, 9, 13), (19, 13, 17, 16), (11, 10, 15, 15), (12, 15, 13, 17), (9, 17, 8, 8),
        (20, 19, 11, 12),
    ]
)  # fmt: skip

DISTINCT_AT_JOBS = ((0, 20, 200, 1000, 10_000, 70_000, 250_000), (0, 10, 20, 35, 90, 340, 565))
"""Number of jobs, and how many distinct estimates that many jobs use; linear between, constant above."""


@dataclass(frozen=True)
class Histogram:
    """How often every requested walltime occurs.

    Attributes
    ----------
    times : ndarray of int64, shape (K,)
        Estimates, s, ascending; the last one is the maximum.
    shares : ndarray of float64, shape (K,)
        Share of the jobs, sum 1.
    """

    times: Ints
    shares: Floats

    def counts(self, jobs: int) -> Ints:
        """Divide a number of jobs among the estimates by largest remainder; int64, shape (K,), sum ``jobs``."""
        exact = self.shares * jobs
        whole = np.floor(exact).astype(np.int64)
        missing = jobs - int(whole.sum())
        whole[np.argsort(whole - exact, kind="stable")[:missing]] += 1
        return whole


def head_times(maximum: int) -> list[int]:
    """Choose the popular estimates.

    Parameters
    ----------
    maximum : int
        Largest allowed estimate, s.

    Returns
    -------
    list of int
        Up to twenty estimates, s: the maximum first, then ascending.
    """
    chosen = {time for time in COMMON if time < maximum}
    for step in ROUND:
        for time in range(maximum // step * step, 0, -step):
            if len(chosen) == HEAD - 1:
                return [maximum, *sorted(chosen)]
            if time != maximum:
                chosen.add(time)
    return [maximum, *sorted(chosen)]


def head_shares(count: int = HEAD) -> Floats:
    """Give the share of jobs by popularity rank, float64, shape (count,), descending, sum 0.89.

    Rank ``x >= 2`` has ``14.0491 exp(-0.177531 x) + 0.462513`` percent; rank 1 has what is left.
    """
    rank = np.arange(2, count + 1)
    shares = (14.0491 * np.exp(-0.177531 * rank) + 0.462513) / 100
    return np.concatenate(([HEAD_SHARE - shares.sum()], shares))


def popularity_ranks(rng: np.random.Generator, count: int = HEAD) -> list[int]:
    """Draw which of the popular estimates is how popular.

    Walking from the shortest estimate up, the ranks that this position had on the four machines join a pool; the more
    popular of two random draws from the pool is taken. A rank that has come to the last position that it had on any of
    the machines goes first, and the maximum always has rank 1.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    count : int
        Number of popular estimates; fewer than twenty keep the order of the first ``count`` positions.

    Returns
    -------
    list of int, length count
        Ranks from 1, in the order of `head_times`.
    """
    last_position = {rank: int(np.argwhere(np.equal(POPULARITY, rank))[:, 0].max()) for rank in range(1, HEAD + 1)}
    ranks = [1]
    pool: list[int] = [int(rank) for rank in POPULARITY[0] if rank != 1]
    for position in range(1, HEAD):
        pool += [int(rank) for rank in POPULARITY[position] if rank not in ranks]
        due = [rank for rank in range(1, HEAD + 1) if rank not in ranks and last_position[rank] <= position]
        chosen = due[0] if due else min(pool[i] for i in rng.integers(len(pool), size=2))
        ranks.append(chosen)
        pool = [rank for rank in pool if rank != chosen]
    order = sorted(ranks[:count])
    return [order.index(rank) + 1 for rank in ranks[:count]]


def tail_times(count: int, distinct: int, maximum: int, head: list[int]) -> list[int]:
    """Choose the estimates that are not popular.

    Estimate ``i`` of ``count`` lies at ``maximum * (a - 1) x / (a - x)`` with ``x = i / count`` and
    ``a = 1 + 12.1039 distinct**-0.6026``, on the full minute; if that is taken, up to 30 s beside it; else it is left
    out.
    """
    a = 1 + 12.1039 * distinct**-0.6026
    x = np.arange(1, count + 1) / count
    minutes = np.round((a - 1) * x / (a - x) * maximum / MINUTE).astype(np.int64)
    taken = set(head)
    times: list[int] = []
    for minute in minutes:
        for offset in (0, 30, -30, 20, -20, 10, -10):
            time = int(minute) * MINUTE + offset
            if 0 < time < maximum and time not in taken:
                taken.add(time)
                times.append(time)
                break
    return sorted(times)


def histogram(rng: np.random.Generator, jobs: int, maximum: int) -> Histogram:
    """Draw a histogram of estimates.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness: which values are how popular differs from machine to machine.
    jobs : int
        Number of jobs; more jobs use more distinct estimates (565 at most).
    maximum : int
        Largest allowed estimate, s, at least one hour.

    Returns
    -------
    Histogram
        The estimates and their shares.

    Raises
    ------
    OptionError
        If the maximum is below one hour.
    """
    if maximum < HOUR:
        raise OptionError(
            f"max_request={maximum} s is too short for requests=tsafrir, which needs {HOUR} s (one hour) or more."
        )
    head = head_times(maximum)
    ranks = np.array(popularity_ranks(rng, len(head)))
    shares = head_shares(len(head))[ranks - 1]
    distinct = round(float(np.interp(jobs, *DISTINCT_AT_JOBS)))
    tail = tail_times(distinct - len(head), distinct, maximum, head) if distinct > len(head) else []
    if tail:
        tail_shares = (np.arange(len(tail)) + HEAD + 1.0) ** -2.267
        tail_shares *= (1 - HEAD_SHARE) / tail_shares.sum()
        shares = np.concatenate((shares, rng.permutation(tail_shares)))
    times = np.array(head + tail, dtype=np.int64)
    order = np.argsort(times)
    return Histogram(times[order], shares[order] / shares.sum())


def assign(rng: np.random.Generator, runtimes: Ints, estimates: Histogram) -> Ints:
    """Deal the estimates out to the jobs, none below its job's runtime.

    The published procedure takes the jobs from the longest to the shortest and gives each one a uniformly random
    estimate among those still left and long enough. All jobs between two neighbouring estimates have the same choice,
    so they are served together: how many of each estimate they get is multivariate hypergeometric, and who gets which
    is a permutation. The distribution of the outcome is the published one.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    runtimes : ndarray of int64, shape (J,)
        Runtimes, s, none above the largest estimate.
    estimates : Histogram
        The estimates.

    Returns
    -------
    ndarray of int64, shape (J,)
        An estimate for every job. Where there are more long jobs than long estimates (the published program gives
        up), the surplus jobs draw from the long enough part of the histogram with replacement.

    Raises
    ------
    OptionError
        If a runtime exceeds the largest estimate.
    """
    if len(runtimes) and runtimes.max() > estimates.times[-1]:
        raise OptionError(
            f"A runtime of {runtimes.max()} s exceeds the largest estimate of {estimates.times[-1]} s; "
            "raise max_request or cut the runtimes."
        )
    left = estimates.counts(len(runtimes))
    shortest = np.searchsorted(estimates.times, runtimes).astype(np.int16)
    by_class = np.argsort(shortest, kind="stable")
    bounds = np.searchsorted(shortest[by_class], np.arange(len(left) + 1))
    result = np.empty(len(runtimes), dtype=np.int64)
    for k in range(len(left) - 1, -1, -1):
        jobs = by_class[bounds[k] : bounds[k + 1]]
        if not len(jobs):
            continue
        fitting = left[k:]
        available = int(fitting.sum())
        if len(jobs) < available:
            taken = rng.multivariate_hypergeometric(fitting, len(jobs), method="marginals")
        else:
            share = estimates.shares[k:]
            taken = fitting + rng.multinomial(len(jobs) - available, share / share.sum())
        left[k:] = np.maximum(fitting - taken, 0)
        dealt = np.repeat(estimates.times[k:], taken)
        rng.shuffle(dealt)
        result[jobs] = dealt
    return result
