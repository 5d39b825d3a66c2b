"""Jobs of a look-alike: drawn from a machine's profile, then scheduled by the twin so that recorded starts can be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from twin_gym.simulate import simulate
from twin_gym.system import System
from twin_gym.workload import Ragged, Status, Workload

from ._assembly import Order
from ._distributions import Distribution, Exponential
from ._estimates import COMMON, MINUTE
from ._lublin import DailyCycle
from ._population import Population

OUTCOMES: Mapping[Status, float] = {
    Status.COMPLETED: 0.63,
    Status.FAILED: 0.13,
    Status.CANCELLED: 0.12,
    Status.TIMEOUT: 0.11,
    Status.NODE_FAIL: 0.01,
}
"""How jobs end: the shares that the configurations of the ExaDigiT/RAPS twin have for all their systems."""

GRACE = 30
"""A batch system kills a job up to so many seconds after its limit (Slurm looks every half minute)."""


@dataclass(frozen=True)
class Profile:
    """What the jobs of one machine look like.

    Attributes
    ----------
    system : str
        One of `System.names()`, or with `nodes` any name: its nodes bound the jobs, its scheduler places them.
    sizes, runtimes : Distribution
        Of nodes, and of runtimes in s.
    epoch : int
        Unix time of the first midnight, local to the machine.
    max_request : int
        Largest walltime that may be requested, s.
    load : float
        Offered load.
    population : Population
        Users and accounts.
    outcomes : mapping of Status to float
        How jobs end.
    placed : bool
        Whether the data set records node ids.
    nodes : int, optional
        Size of a machine that is none of `System.names()`.
    """

    system: str
    sizes: Distribution
    runtimes: Distribution
    epoch: int
    max_request: int = 86_400
    load: float = 0.8
    population: Population = field(default_factory=Population)
    outcomes: Mapping[Status, float] = field(default_factory=lambda: OUTCOMES)
    placed: bool = True
    nodes: int | None = None


def draft(profile: Profile, jobs: int, seed: int) -> Workload:
    """Draw jobs and let the twin schedule them (first come, first served, with EASY backfill).

    Jobs that fail or are cancelled stop somewhere on their way; those that time out ran to their limit and up to half a
    minute beyond, as batch systems let them.

    Parameters
    ----------
    profile : Profile
        The machine.
    jobs : int
        How many.
    seed : int
        Any non-negative number; the same one gives the same jobs.

    Returns
    -------
    Workload
        With recorded starts, states and, if the profile says so, node ids: places in the racks, each free when it is
        taken. Times count from the profile's epoch.

    Raises
    ------
    OptionError
        If a number is out of range.
    """
    system = (
        System.load(profile.system) if profile.nodes is None else System.uniform(profile.nodes, name=profile.system)
    )
    order = Order(jobs, system.nodes, profile.load, seed, "tsafrir", profile.max_request, profile.population)
    streams = order.streams()
    sizes = np.clip(np.rint(profile.sizes.sample(streams.jobs, jobs)), 1, system.nodes).astype(np.int32)
    runtimes = np.rint(profile.runtimes.sample(streams.jobs, jobs)).astype(np.int64)
    runtimes = np.clip(runtimes, 1, profile.max_request)
    gaps = Exponential(60.0).sample(streams.arrivals, jobs)
    drawn = order.fill(system.name, sizes, runtimes, profile.max_request, gaps, DailyCycle.of(), streams)

    rng = np.random.default_rng([seed, 1])
    submitted = _ended(rng, drawn, profile)
    ran = simulate(
        system,
        submitted,
        "fcfs",
        "easy",
        placement="lowest" if profile.placed else "count",
        kill_at_request=False,  # what is read back must occupy its nodes to the recorded second
    )
    node_ids = None
    if ran.placement is not None and profile.placed:
        node_ids = Ragged(system.places[ran.placement.values].astype(np.int32), ran.placement.offsets)
    return replace(submitted, start=ran.outcome.start, node_ids=node_ids)


def nodes_of(workload: Workload) -> Ragged:
    """Return the node numbers of a draft whose profile has them recorded."""
    assert workload.node_ids is not None, "the profile says placed=False"
    return workload.node_ids


def _ended(rng: np.random.Generator, drawn: Workload, profile: Profile) -> Workload:
    """Say how jobs ended: what failed or was cancelled is cut short, what timed out ran to its limit."""
    jobs = len(drawn)
    shares = np.array(list(profile.outcomes.values()))
    status = rng.choice(np.array(list(profile.outcomes), dtype=np.int8), size=jobs, p=shares / shares.sum())
    late = status == Status.TIMEOUT
    limits = np.array([MINUTE, *COMMON, profile.max_request])
    limits = np.unique(limits[limits <= profile.max_request])
    # the popular limit below the drawn runtime, so that the load hardly changes
    limit = limits[np.maximum(np.searchsorted(limits, drawn.runtime, side="right") - 1, 0)]
    requested = np.where(late, limit, drawn.requested_time)
    share = np.where(np.isin(status, (Status.FAILED, Status.CANCELLED, Status.NODE_FAIL)), rng.random(jobs), 1.0)
    runtime = np.maximum(drawn.runtime * share, 1).astype(np.int64)
    runtime = np.where(late, limit + rng.integers(0, GRACE + 1, jobs), runtime)
    return replace(
        drawn, status=status, runtime=runtime, requested_time=requested, epoch=profile.epoch, epoch_known=True
    )
