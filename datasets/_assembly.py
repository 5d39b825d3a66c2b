"""From drawn sizes, runtimes and gaps to a workload: requests, arrivals at the wanted load, and owners."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from twin_gym.errors import OptionError, suggest
from twin_gym.workload import Workload

from . import _estimates
from ._lublin import DailyCycle, arrivals
from ._population import Population

Requests = Literal["tsafrir", "exact"] | float
HOUR = 3600


class Streams(NamedTuple):
    """Independent sources of randomness, so that a change to one part of a workload leaves the others as they were."""

    jobs: np.random.Generator
    arrivals: np.random.Generator
    requests: np.random.Generator
    owners: np.random.Generator


@dataclass(frozen=True)
class Order:
    """What is wanted, whatever the model; the fields are explained at `twin_gym.datasets.synthetic.lublin`."""

    jobs: int
    capacity: int
    load: float | None
    seed: int
    requests: Requests
    max_request: int | None
    population: Population

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name, least in (("jobs", 1), ("capacity", 1), ("seed", 0), ("max_request", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise OptionError(f"{name}={value}: it must be at least {least}.")
        if self.load is not None and not 0 < self.load < math.inf:
            raise OptionError(f"load={self.load}: it must be above 0 (0.8 is 80 % of the machine), or null.")
        if isinstance(self.requests, str):
            if self.requests not in ("tsafrir", "exact"):
                raise OptionError(f"Unknown requests={self.requests!r}; use 'tsafrir', 'exact' or a factor such as 3.")
        elif not 1 <= self.requests < math.inf:
            raise OptionError(f"requests={self.requests}: as a factor it must be at least 1.")

    def streams(self) -> Streams:
        """Open the sources of randomness that descend from the seed."""
        children = np.random.SeedSequence(self.seed).spawn(len(Streams._fields))
        return Streams(*(np.random.default_rng(child) for child in children))

    def fill(
        self,
        name: str,
        sizes: npt.NDArray[np.int32],
        runtimes: npt.NDArray[np.int64],
        longest: int,
        gaps: npt.NDArray[np.float64],
        cycle: DailyCycle,
        streams: Streams,
    ) -> Workload:
        """Make the workload.

        Parameters
        ----------
        name : str
            Its name.
        sizes, runtimes : ndarray, shape (J,)
            Jobs; runtimes in s.
        longest : int
            Longest runtime that the model can give, s: `max_request` follows from it unless it is given.
        gaps : ndarray of float64, shape (J,)
            Gaps before each job in even time, s.
        cycle : DailyCycle
            Day and night.
        streams : Streams
            The sources from which sizes, runtimes and gaps were drawn.

        Returns
        -------
        Workload
            J jobs.
        """
        largest = self.max_request or round_up(longest)
        runtimes = np.minimum(runtimes, largest)
        requested = self._request(streams.requests, runtimes, largest)
        span = None if self.load is None else float(np.dot(sizes, runtimes)) / (self.capacity * self.load)
        submit = arrivals(gaps, cycle, span)
        owners = self.population.owners(streams.owners, sizes, requested, self.capacity)
        return Workload.build(
            id=np.arange(1, len(sizes) + 1, dtype=np.int64),
            submit=submit,
            runtime=runtimes,
            requested_time=requested,
            nodes=sizes,
            **owners._asdict(),
            capacity=self.capacity,
            unit="node",
            name=name,
            origin=f"synthetic: {name}, seed {self.seed}",
        )

    def _request(
        self, rng: np.random.Generator, runtimes: npt.NDArray[np.int64], largest: int
    ) -> npt.NDArray[np.int64]:
        if self.requests == "tsafrir":
            return _estimates.assign(rng, runtimes, _estimates.histogram(rng, len(runtimes), largest))
        if self.requests == "exact":
            return runtimes.copy()
        factor = rng.uniform(1.0, float(self.requests), len(runtimes))
        return np.minimum(np.ceil(runtimes * factor), largest).astype(np.int64)


def round_up(seconds: int) -> int:
    """Round a walltime up to a whole hour, beyond 12 h to a multiple of 12 h."""
    step = HOUR if seconds <= 12 * HOUR else 12 * HOUR
    return -(-seconds // step) * step


def population_of(given: Population | Mapping[str, Any] | None) -> Population:
    """Make a population of its fields.

    Raises
    ------
    OptionError
        For a field that does not exist.
    """
    if isinstance(given, Population):
        return given
    known = [field.name for field in fields(Population)]
    for name in given or {}:
        if name not in known:
            raise OptionError(f"The population has no field {name!r}." + suggest(name, known))
    return Population(**(given or {}))
