"""The Lublin-Feitelson workload model of rigid parallel jobs: sizes, runtimes and arrivals as plain arrays.

Sources
-------
- U. Lublin, D. G. Feitelson, "The workload on parallel supercomputers: modeling the characteristics of rigid jobs",
  Journal of Parallel and Distributed Computing 63(11), 2003: the model.
- The authors' program of the Parallel Workloads Archive (``m_lublin99``): the numbers and the cut-offs.

Every function takes a `numpy.random.Generator` and returns whole arrays; nothing here knows `Workload`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

SLOTS = 48
"""Half-hour slots in a day."""
SLOT = 1800
"""Length of one slot, s."""
DAY = SLOTS * SLOT

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Parameters:
    """The numbers of the model.

    Attributes
    ----------
    serial : float
        Probability that a job has size 1.
    pow2 : float
        Probability that a job is parallel and its size is rounded to a power of two.
    ulow : float
        log2 of the smallest parallel size, lower end of the two-stage uniform distribution.
    umed_below : float
        The two stages meet at ``umed = log2(capacity) - umed_below``.
    uprob : float
        Probability of the lower stage.
    a1, b1, a2, b2 : float
        Shapes and scales of the two gamma distributions of ln(runtime / s).
    pa, pb : float
        The first of them is taken with probability ``pa * size + pb``, cut to 0..1.
    aarr, barr : float
        Shape and scale of the gamma distribution of ln(gap / s) at rush hour.
    arar : float
        Ratio that turns the rush-hour shape into the shape for the whole day (arrive-rush-all-ratio).
    anum, bnum : float
        Shape and scale of the gamma distribution over the day's half hours.
    day_start : int
        The first half hour that the latter covers: 11, that is, the day runs from 05:00 to 05:00.
    max_log_runtime, max_log_gap : float
        Draws above these are drawn again: 12 is 45.2 hours, 13 is 5.1 days (at rush-hour rate).
    """

    serial: float = 0.244
    pow2: float = 0.576
    ulow: float = 0.8
    umed_below: float = 2.5
    uprob: float = 0.86
    a1: float = 4.2
    b1: float = 0.94
    a2: float = 312.0
    b2: float = 0.03
    pa: float = -0.0054
    pb: float = 0.78
    aarr: float = 10.2303
    barr: float = 0.4871
    arar: float = 1.0225
    anum: float = 8.1737
    bnum: float = 3.9631
    day_start: int = 11
    max_log_runtime: float = 12.0
    max_log_gap: float = 13.0


ALL = Parameters()
"""All jobs of the logs together (the paper's typeless data)."""

BATCH = Parameters(
    serial=0.2927, pow2=0.6686, ulow=1.2, umed_below=2.0, uprob=0.875,
    a1=6.57, b1=0.823, a2=639.1, b2=0.0156, pa=-0.003, pb=0.6986,
    aarr=6.0415, barr=0.8531, arar=1.0519, anum=6.1271, bnum=5.2740,
)  # fmt: skip
"""Batch jobs only."""

INTERACTIVE = Parameters(
    serial=0.1541, pow2=0.625, ulow=1.0, umed_below=2.5, uprob=0.705,
    a1=3.8351, b1=0.6605, a2=7.073, b2=0.6856, pa=-0.0118, pb=0.9156,
    aarr=6.5510, barr=0.6621, arar=0.9797, anum=8.9186, bnum=3.6680,
)  # fmt: skip
"""Interactive jobs only."""

KINDS = {"all": ALL, "batch": BATCH, "interactive": INTERACTIVE}


def two_stage(parameters: Parameters, capacity: int) -> tuple[float, float, float]:
    """Give the corner points of the two-stage uniform distribution of log2(size).

    Parameters
    ----------
    parameters : Parameters
        The model's numbers.
    capacity : int
        Size of the machine, at least 2.

    Returns
    -------
    tuple of float
        ``(ulow, umed, uhi)`` with ``ulow <= umed <= uhi = log2(capacity)``. On machines of fewer than 16 units
        ``uhi - 2.5`` would come near or below ``ulow``; the authors then advise 1.5, which is kept here as a floor.
    """
    uhi = math.log2(capacity)
    ulow = min(parameters.ulow, uhi)
    umed = max(uhi - parameters.umed_below, min(1.5, (ulow + uhi) / 2))
    return ulow, umed, uhi


def sizes(rng: np.random.Generator, jobs: int, capacity: int, parameters: Parameters = ALL) -> npt.NDArray[np.int32]:
    """Draw job sizes.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    jobs : int
        How many.
    capacity : int
        Size of the machine; no job is larger.
    parameters : Parameters
        The model's numbers.

    Returns
    -------
    ndarray of int32, shape (jobs,)
        Sizes, 1..capacity. Where the capacity is no power of two, a power-of-two job that would be rounded up beyond
        it is rounded down (the authors' program would exceed the machine).
    """
    result = np.ones(jobs, dtype=np.int32)
    if capacity == 1:
        return result
    ulow, umed, uhi = two_stage(parameters, capacity)
    kind = rng.random(jobs)
    parallel = np.flatnonzero(kind > parameters.serial)
    kind = kind[parallel]
    upper = rng.random(len(parallel)) > parameters.uprob
    log2_size = rng.random(len(parallel))
    log2_size *= np.where(upper, uhi - umed, umed - ulow)
    log2_size += np.where(upper, umed, ulow)
    power = kind <= parameters.serial + parameters.pow2
    log2_size[power] = np.minimum(np.floor(log2_size[power] + 0.5), math.floor(uhi))
    result[parallel] = np.minimum(np.floor(np.exp2(log2_size) + 0.5), capacity)
    return result


def runtimes(rng: np.random.Generator, sizes: npt.NDArray[np.int32], parameters: Parameters = ALL) -> Ints:
    """Draw runtimes that grow with job size.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    sizes : ndarray of int32, shape (jobs,)
        Job sizes.
    parameters : Parameters
        The model's numbers.

    Returns
    -------
    ndarray of int64, shape (jobs,)
        Runtimes in s, at least 1: ``floor(exp(h))`` with ``h`` hyper-gamma (one of two gamma distributions).
    """
    first_share = np.clip(parameters.pa * sizes + parameters.pb, 0.0, 1.0)
    result = np.empty(len(sizes), dtype=np.float64)
    pending = np.arange(len(sizes))
    while len(pending):
        first = rng.random(len(pending)) <= first_share[pending]
        drawn = np.empty(len(pending))
        count = int(np.count_nonzero(first))
        drawn[first] = rng.gamma(parameters.a1, parameters.b1, count)
        drawn[~first] = rng.gamma(parameters.a2, parameters.b2, len(pending) - count)
        result[pending] = drawn
        pending = pending[drawn > parameters.max_log_runtime]
    return np.exp(result, out=result).astype(np.int64)


def rush_gaps(rng: np.random.Generator, jobs: int, parameters: Parameters = ALL) -> Floats:
    """Draw gaps between arrivals, in time that passes at the average rate of the day.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    jobs : int
        How many.
    parameters : Parameters
        The model's numbers.

    Returns
    -------
    ndarray of float64, shape (jobs,)
        Gaps in s: ``exp(g)`` with ``g`` gamma-distributed; `DailyCycle.clock` bends them to the time of day.
    """
    shape = parameters.aarr * parameters.arar
    gaps = rng.gamma(shape, parameters.barr, jobs)
    pending = np.flatnonzero(gaps > parameters.max_log_gap)
    while len(pending):
        drawn = rng.gamma(shape, parameters.barr, len(pending))
        gaps[pending] = drawn
        pending = pending[drawn > parameters.max_log_gap]
    return np.exp(gaps, out=gaps)


@dataclass(frozen=True)
class DailyCycle:
    """Time that runs fast by day and slow at night.

    Within half hour ``k`` the arrival rate is ``weights[k]`` times the day's mean. "Even" time is the integral of that
    rate over the clock, so a day has 86400 even seconds; jobs that come evenly in even time follow the cycle on the
    clock. Both directions are exact (piecewise linear).

    Attributes
    ----------
    weights : ndarray of float64, shape (48,)
        Rate in every half hour from midnight, mean 1, all above 0.
    """

    weights: Floats

    @classmethod
    def of(cls, parameters: Parameters = ALL) -> DailyCycle:
        """Build the model's cycle.

        Slot ``i`` (counted from 1) of ``day_start .. day_start + 47`` gets the mass that gamma(anum, bnum) has between
        ``i - 1/2`` and ``i + 1/2``; slots beyond 48 are wrapped round to the morning.
        """
        points, mass = np.polynomial.legendre.leggauss(16)
        slot = np.arange(parameters.day_start, parameters.day_start + SLOTS)
        x = slot[:, None] + points / 2
        # The density is taken relative to its mode, and its constant cancels when the mean is set to 1.
        log_density = (parameters.anum - 1) * np.log(x) - x / parameters.bnum
        share = np.exp(log_density - log_density.max()) @ mass
        weights = np.empty(SLOTS)
        weights[(slot - 1) % SLOTS] = share
        return cls(weights / weights.mean())

    @classmethod
    def flat(cls) -> DailyCycle:
        """Build a cycle without day and night."""
        return cls(np.ones(SLOTS))

    @property
    def _edges(self) -> Floats:
        edges = np.zeros(SLOTS + 1)
        np.cumsum(self.weights * SLOT, out=edges[1:])
        return edges

    def clock(self, even: Floats) -> Floats:
        """Turn even time into clock time, both in s from midnight of the first day; shape is kept."""
        day, rest = np.divmod(even, DAY)
        within: Floats = np.interp(rest, self._edges, np.arange(SLOTS + 1) * float(SLOT))
        return day * DAY + within

    def even(self, clock: Floats) -> Floats:
        """Turn clock time into even time, both in s from midnight of the first day; shape is kept."""
        day, rest = np.divmod(clock, DAY)
        within: Floats = np.interp(rest, np.arange(SLOTS + 1) * float(SLOT), self._edges)
        return day * DAY + within


def arrivals(gaps: Floats, cycle: DailyCycle, span: float | None = None) -> Ints:
    """Place arrivals on the clock, if wanted stretched to a given span.

    Parameters
    ----------
    gaps : ndarray of float64, shape (jobs,)
        Gaps before every job in even time, s.
    cycle : DailyCycle
        Day and night.
    span : float, optional
        Wanted time from the first to the last arrival, s. The gaps are scaled, the day keeps its 24 hours. Without it
        the gaps are used as they are.

    Returns
    -------
    ndarray of int64, shape (jobs,)
        Arrival times, s from midnight of the first day, ascending.
    """
    even = np.cumsum(gaps)
    if span is not None and len(even) > 1 and even[-1] > even[0]:
        first = cycle.clock(even[:1])
        start, end = cycle.even(np.array([first[0], first[0] + span]))
        even -= even[0]
        even *= (end - start) / even[-1]
        even += start
    return np.floor(cycle.clock(even)).astype(np.int64)
