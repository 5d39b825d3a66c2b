"""Simple distributions from which sizes, runtimes and gaps between arrivals can be drawn.

Each is a frozen dataclass with one method, ``sample(rng, count)``, that returns float64 values of shape (count,);
rounding and limits of jobs are the business of `twin_gym.datasets.synthetic`. All values are finite.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from twin_gym.errors import OptionError

Floats = npt.NDArray[np.float64]


class Distribution(Protocol):
    """Anything that can be sampled."""

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        """Draw ``count`` values; float64, shape (count,)."""
        ...


def _require(condition: bool, owner: object, rule: str) -> None:
    if not condition:
        raise OptionError(f"{owner}: {rule}.")


@dataclass(frozen=True)
class Constant:
    """Always the same value."""

    value: float

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        """Repeat the value."""
        return np.full(count, float(self.value))


@dataclass(frozen=True)
class Uniform:
    """Evenly between two limits."""

    low: float
    high: float

    def __post_init__(self) -> None:
        """Check the limits."""
        _require(-math.inf < self.low <= self.high < math.inf, self, "low must not exceed high, and both be finite")

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        """Draw values."""
        return rng.uniform(self.low, self.high, count)


@dataclass(frozen=True)
class LogUniform:
    """Evenly in the logarithm between two limits above 0."""

    low: float
    high: float

    def __post_init__(self) -> None:
        """Check the limits."""
        _require(0 < self.low <= self.high < math.inf, self, "0 < low <= high is needed")

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        """Draw values."""
        return np.exp(rng.uniform(math.log(self.low), math.log(self.high), count))


@dataclass(frozen=True)
class Exponential:
    """Exponential: the gaps of a Poisson process."""

    mean: float

    def __post_init__(self) -> None:
        """Check the mean."""
        _require(0 < self.mean < math.inf, self, "mean must be above 0")

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        """Draw values."""
        return rng.exponential(self.mean, count)


@dataclass(frozen=True)
class Normal:
    """Normal, cut off at two limits: what falls outside is drawn again, so no mass piles up at the limits."""

    mean: float
    std: float
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        """Check that a fair part of the mass (1/1000) lies between the limits."""
        _require(self.std > 0 and self.low < self.high, self, "std > 0 and low < high are needed")
        root = self.std * math.sqrt(2)
        inside = (math.erf((self.high - self.mean) / root) - math.erf((self.low - self.mean) / root)) / 2
        _require(inside >= 1e-3, self, "less than 0.1 % of the distribution lies between low and high")

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        """Draw values."""
        values = rng.normal(self.mean, self.std, count)
        pending = np.flatnonzero((values < self.low) | (values > self.high))
        while len(pending):
            drawn = rng.normal(self.mean, self.std, len(pending))
            values[pending] = drawn
            pending = pending[(drawn < self.low) | (drawn > self.high)]
        return values


@dataclass(frozen=True)
class Weibull:
    """Weibull, P(X > x) = exp(-(x / scale)**shape), cut off at two limits by inversion of that function."""

    shape: float
    scale: float
    low: float = 0.0
    high: float = math.inf

    def __post_init__(self) -> None:
        """Check the parameters."""
        _require(self.shape > 0 and self.scale > 0, self, "shape and scale must be above 0")
        _require(0 <= self.low < self.high, self, "0 <= low < high is needed")
        inside = self._survival(self.low) - self._survival(self.high)
        _require(inside > 1e-12, self, "nothing lies between low and high")

    def _survival(self, x: float) -> float:
        return math.exp(-((x / self.scale) ** self.shape))

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        """Draw values."""
        # 1 - random() is in (0, 1], so that the logarithm stays finite.
        top, bottom = self._survival(self.low), self._survival(self.high)
        survival = bottom + (top - bottom) * (1.0 - rng.random(count))
        return self.scale * (-np.log(survival)) ** (1.0 / self.shape)


@dataclass(frozen=True)
class Discrete:
    """A list of values with weights (equal ones by default)."""

    values: tuple[float, ...]
    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Check values and weights."""
        _require(len(self.values) > 0, self, "there must be at least one value")
        _check_weights(self, self.weights, len(self.values))

    @classmethod
    def powers(cls, high: float, base: int = 2) -> Discrete:
        """Take the powers of ``base`` from 1 to ``high``, equally likely."""
        count = math.floor(math.log(high, base) + 1e-9) + 1
        return cls(tuple(float(base**k) for k in range(count)))

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        """Draw values."""
        return np.asarray(self.values, dtype=np.float64)[_pick(rng, self.weights, len(self.values), count)]


@dataclass(frozen=True)
class Mixture:
    """Several modes: each value comes from one of the parts, chosen independently with the given weights."""

    parts: tuple[Distribution, ...]
    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Check parts and weights."""
        _require(len(self.parts) > 0, self, "there must be at least one part")
        _check_weights(self, self.weights, len(self.parts))

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        """Draw values."""
        choice = _pick(rng, self.weights, len(self.parts), count)
        values = np.empty(count)
        for k, part in enumerate(self.parts):
            chosen = np.flatnonzero(choice == k)
            values[chosen] = part.sample(rng, len(chosen))
        return values


def _check_weights(owner: object, weights: tuple[float, ...], count: int) -> None:
    if weights:
        _require(len(weights) == count, owner, f"{count} weights are needed, {len(weights)} were given")
        _require(min(weights) >= 0 and 0 < sum(weights) < math.inf, owner, "weights must be >= 0, one of them above 0")


def _pick(rng: np.random.Generator, weights: tuple[float, ...], options: int, count: int) -> npt.NDArray[np.int64]:
    """Choose among options; weights need not sum to 1."""
    if not weights:
        return rng.integers(options, size=count)
    bounds = np.cumsum(weights)
    picked: npt.NDArray[np.int64] = np.searchsorted(bounds[:-1], rng.random(count) * bounds[-1], side="right")
    return picked
