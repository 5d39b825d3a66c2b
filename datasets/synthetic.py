"""Synthetic workloads: the Lublin-Feitelson model, simple distributions, and whole-machine jobs.

Everything is drawn from `numpy.random.Generator` streams that descend from one seed: sizes and runtimes, arrivals,
requests and owners have a stream each, so that changing the load, say, leaves the jobs themselves as they were. The
same seed and options give the same bytes (with the same NumPy; its distributions may change between releases).

Formulas, parameters and sources: docs/models/workload.md.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from twin_gym.errors import OptionError, suggest
from twin_gym.workload import Trace, Workload

from . import _lublin
from ._assembly import HOUR, Order, Requests, population_of
from ._distributions import (
    Constant,
    Discrete,
    Distribution,
    Exponential,
    LogUniform,
    Mixture,
    Normal,
    Uniform,
    Weibull,
)
from ._lublin import Parameters
from ._population import Population

__all__ = [
    "Constant",
    "Discrete",
    "Distribution",
    "Exponential",
    "LogUniform",
    "Mixture",
    "Normal",
    "Parameters",
    "Population",
    "Uniform",
    "Weibull",
    "benchmark",
    "idle",
    "load",
    "lublin",
    "multimodal",
    "normal",
    "peak",
    "simple",
    "uniform",
    "weibull",
]


def load(path: object = None, *, model: str = "lublin", **options: Any) -> Workload:
    """Make a synthetic workload; the loader of the data set ``synthetic``.

    Parameters
    ----------
    path : None
        Nothing is read; anything else is refused.
    model : str
        ``lublin``, ``uniform``, ``normal``, ``weibull``, ``multimodal``, ``peak``, ``idle`` or ``benchmark``.
    **options
        Options of the function of that name in this module.

    Returns
    -------
    Workload
        The jobs.

    Raises
    ------
    OptionError
        For a path, an unknown model, an unknown option or a value out of range.
    """
    if path is not None:
        raise OptionError(f"A synthetic workload is not read from a file; leave the path out (it is {str(path)!r}).")
    if model not in MODELS:
        raise OptionError(f"Unknown synthetic model {model!r}." + suggest(model, MODELS))
    known = _options(MODELS[model])
    for name in options:
        if name not in known:
            raise OptionError(f"The synthetic model {model!r} has no option {name!r}." + suggest(name, known))
    return MODELS[model](**options)


def lublin(
    *,
    jobs: int = 10_000,
    capacity: int = 256,
    load: float | None = 0.8,
    seed: int = 0,
    kind: Literal["all", "batch", "interactive"] = "all",
    parameters: Parameters | None = None,
    requests: Requests = "tsafrir",
    max_request: int | None = None,
    population: Population | Mapping[str, Any] | None = None,
) -> Workload:
    """Draw jobs from the Lublin-Feitelson model of rigid jobs (JPDC 2003).

    Parameters
    ----------
    jobs : int
        How many.
    capacity : int
        Size of the machine; no job is larger.
    load : float, optional
        Offered load to reach: work over capacity and the time from the first to the last submission. The gaps are
        scaled; day and night stay where they are. None keeps the published arrival rate (mean gap about 15 min).
    seed : int
        Any non-negative number.
    kind : {"all", "batch", "interactive"}
        Which published parameter set.
    parameters : Parameters, optional
        Own numbers in place of ``kind``.
    requests : {"tsafrir", "exact"} or float
        Requested walltimes: the model of the published estimate model, the runtime itself, or the runtime times a
        factor drawn evenly from 1 to this number.
    max_request : int, optional
        Largest walltime that may be requested, s; longer jobs are cut there. 48 h by default.
    population : Population or mapping of its fields, optional
        Users, accounts, partitions and priorities.

    Returns
    -------
    Workload
        Times in s from midnight of the first day; recorded starts are unknown.

    Raises
    ------
    OptionError
        If a value is out of range.

    Examples
    --------
    >>> workload = lublin(jobs=1000, capacity=128, load=0.7, seed=1)
    >>> round(workload.offered_load(), 2)
    0.7
    """
    order = Order(jobs, capacity, load, seed, requests, max_request, population_of(population))
    if parameters is None:
        if kind not in _lublin.KINDS:
            raise OptionError(f"Unknown kind {kind!r} of Lublin jobs." + suggest(kind, _lublin.KINDS))
        parameters = _lublin.KINDS[kind]
    streams = order.streams()
    sizes = _lublin.sizes(streams.jobs, jobs, capacity, parameters)
    runtimes = _lublin.runtimes(streams.jobs, sizes, parameters)
    gaps = _lublin.rush_gaps(streams.arrivals, jobs, parameters)
    longest = math.floor(math.exp(parameters.max_log_runtime))
    return order.fill(f"lublin-{kind}", sizes, runtimes, longest, gaps, _lublin.DailyCycle.of(parameters), streams)


def simple(
    *,
    sizes: Distribution,
    runtimes: Distribution,
    gaps: Distribution | None = None,
    jobs: int = 10_000,
    capacity: int = 256,
    load: float | None = 0.8,
    seed: int = 0,
    requests: Requests = "tsafrir",
    max_request: int | None = None,
    population: Population | Mapping[str, Any] | None = None,
    name: str = "simple",
) -> Workload:
    """Draw sizes, runtimes and gaps independently from given distributions.

    Parameters
    ----------
    sizes : Distribution
        Of sizes; rounded, and cut to 1..capacity.
    runtimes : Distribution
        Of runtimes, s; rounded, at least 1.
    gaps : Distribution, optional
        Of gaps between arrivals, s (below 0 counts as 0); exponential of mean 60 s by default. There is no day and
        night.
    jobs, capacity, load, seed, requests, max_request, population
        As in `lublin`; with ``load=None`` the gaps are used as drawn. ``max_request`` is by default the longest
        runtime rounded up to a whole hour, beyond 12 h to a multiple of 12 h.
    name : str
        Name of the workload.

    Returns
    -------
    Workload
        The jobs; the first one is submitted at 0.

    Raises
    ------
    OptionError
        If a value is out of range.
    """
    order = Order(jobs, capacity, load, seed, requests, max_request, population_of(population))
    streams = order.streams()
    size = np.clip(np.rint(sizes.sample(streams.jobs, jobs)), 1, capacity).astype(np.int32)
    runtime = np.maximum(np.rint(runtimes.sample(streams.jobs, jobs)), 1).astype(np.int64)
    gap = np.maximum((gaps or Exponential(60.0)).sample(streams.arrivals, jobs), 0.0)
    gap[0] = 0.0
    return order.fill(name, size, runtime, int(runtime.max()), gap, _lublin.DailyCycle.flat(), streams)


def uniform(*, capacity: int = 256, min_runtime: int = 60, max_runtime: int = 12 * HOUR, **options: Any) -> Workload:
    """Draw sizes evenly from 1..capacity and runtimes evenly between two limits; other options as in `simple`."""
    sizes = Uniform(0.5, capacity + 0.5)
    runtimes = Uniform(min_runtime, max_runtime)
    return simple(sizes=sizes, runtimes=runtimes, capacity=capacity, name="uniform", **options)


def normal(*, capacity: int = 256, min_runtime: int = 60, max_runtime: int = 12 * HOUR, **options: Any) -> Workload:
    """Draw from normal distributions cut at three sigma: mean in the middle of the range, sigma a sixth of it.

    Ranges are 1..capacity for sizes and the two limits for runtimes; other options as in `simple`.
    """
    sizes = _bell(1, capacity)
    runtimes = _bell(min_runtime, max_runtime)
    return simple(sizes=sizes, runtimes=runtimes, capacity=capacity, name="normal", **options)


def weibull(
    *,
    capacity: int = 256,
    size_shape: float = 0.8,
    size_scale: float | None = None,
    runtime_shape: float = 0.6,
    runtime_scale: float = 2.0 * HOUR,
    max_runtime: int = 48 * HOUR,
    **options: Any,
) -> Workload:
    """Draw from Weibull distributions: many small and short jobs, few large and long ones.

    Sizes are cut to 1..capacity (scale: an eighth of it by default), runtimes to 1 s..``max_runtime``; other options
    as in `simple`.
    """
    scale = capacity / 8 if size_scale is None else size_scale
    sizes = Weibull(size_shape, scale, low=0.5, high=capacity + 0.5)
    runtimes = Weibull(runtime_shape, runtime_scale, low=1.0, high=float(max_runtime))
    return simple(sizes=sizes, runtimes=runtimes, capacity=capacity, name="weibull", **options)


def multimodal(*, capacity: int = 256, **options: Any) -> Workload:
    """Draw sizes and runtimes from three modes each; other options as in `simple`.

    Sizes: 60 % evenly from 1 to an eighth of the machine, 30 % powers of two, 10 % normal around half of it.
    Runtimes: 50 % log-uniform from 1 min to 1 h, 35 % normal around 4 h, 15 % normal around 12 h.
    """
    sizes = Mixture(
        (Uniform(0.5, max(capacity // 8, 1) + 0.5), Discrete.powers(capacity), _bell(1, capacity)), (0.6, 0.3, 0.1)
    )
    runtimes = Mixture(
        (LogUniform(60, HOUR), Normal(4 * HOUR, HOUR, low=60), Normal(12 * HOUR, 2 * HOUR, low=60)), (0.5, 0.35, 0.15)
    )
    return simple(sizes=sizes, runtimes=runtimes, capacity=capacity, name="multimodal", **options)


class Phase(NamedTuple):
    """A job that takes the whole machine: length in s, and the share of its CPUs and GPUs in use (0..1)."""

    name: str
    duration: int
    cpu: float
    gpu: float


def peak(*, capacity: int = 256, duration: int = 3 * HOUR) -> Workload:
    """Make one job that runs the whole machine at full CPU and GPU use."""
    return _phases("peak", capacity, [Phase("peak", duration, 1.0, 1.0)])


def idle(*, capacity: int = 256, duration: int = 3 * HOUR) -> Workload:
    """Make one job that holds the whole machine and uses nothing."""
    return _phases("idle", capacity, [Phase("idle", duration, 0.0, 0.0)])


def benchmark(*, capacity: int = 256) -> Workload:
    """Make four whole-machine jobs back to back: full load 3 h, GPUs only 1 h, High-Performance Linpack 1 h, idle 1 h.

    Linpack is 33 % of the CPU and 79 % of the GPUs, its core phase on Frontier as given by the ExaDigiT/RAPS twin.
    """
    return _phases(
        "benchmark",
        capacity,
        [
            Phase("peak", 3 * HOUR, 1.0, 1.0),
            Phase("gpu", HOUR, 0.0, 1.0),
            Phase("hpl", HOUR, 0.33, 0.79),
            Phase("idle", HOUR, 0.0, 0.0),
        ],
    )


MODELS: dict[str, Callable[..., Workload]] = {
    f.__name__: f for f in (lublin, uniform, normal, weibull, multimodal, peak, idle, benchmark)
}


def _phases(name: str, capacity: int, phases: list[Phase]) -> Workload:
    """Put whole-machine jobs one after the other, recorded as started on submission."""
    if capacity < 1 or any(phase.duration < 1 for phase in phases):
        raise OptionError("capacity and duration must be at least 1.")
    runtime = np.array([phase.duration for phase in phases], dtype=np.int64)
    start = np.cumsum(runtime) - runtime
    count = len(phases)

    def scalar(values: list[float]) -> Trace:
        return Trace.scalars(np.array(values, dtype=np.float32), unit="1")

    return Workload.build(
        id=np.arange(1, count + 1, dtype=np.int64),
        submit=start,
        start=start.copy(),
        runtime=runtime,
        requested_time=runtime.copy(),
        nodes=np.full(count, capacity, dtype=np.int32),
        traces={"cpu": scalar([p.cpu for p in phases]), "gpu": scalar([p.gpu for p in phases])},
        extra={"job_name": np.array([p.name for p in phases])},
        capacity=capacity,
        unit="node",
        name=name,
        origin=f"synthetic: {name}",
    )


def _bell(low: float, high: float) -> Distribution:
    """Give a normal distribution whose limits lie three sigma from the middle."""
    if high <= low:
        return Uniform(low, low)
    return Normal((low + high) / 2, (high - low) / 6, low, high)


def _options(function: Callable[..., Workload]) -> list[str]:
    """Name what a model accepts; the presets pass on to `simple` what they don't set themselves."""
    parameters = inspect.signature(function).parameters
    names = [name for name, parameter in parameters.items() if parameter.kind is inspect.Parameter.KEYWORD_ONLY]
    if len(names) < len(parameters):
        names += [name for name in _options(simple) if name not in {*names, "sizes", "runtimes", "name"}]
    return names


def _signature() -> inspect.Signature:
    """List the options of all models as those of `load`, for help texts and for checks by name."""
    options = dict.fromkeys(name for function in MODELS.values() for name in _options(function))
    path, model, _ = inspect.signature(load).parameters.values()
    return inspect.Signature(
        [path, model, *(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in options)]
    )


setattr(load, "__signature__", _signature())  # noqa: B010 (a function has no such attribute for the type checker)
