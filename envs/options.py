"""What an environment is told, checked once at the edge; everything in it can be written as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from twin_gym.config import RunConfig
from twin_gym.errors import OptionError, suggest

TASKS = ("select", "dispatch", "backfill", "inspect")
PICKS = ("block", "reserve", "mask")
LAYOUTS = ("flat", "dict", "rlscheduler")
SPLITS = ("all", "train", "validation", "test")
DEFAULT_WORKLOAD = {"loader": "synthetic", "model": "lublin", "jobs": 10_000, "capacity": 256, "load": 0.8, "seed": 0}
DEFAULT_POOL = (("fcfs", "easy"), ("sjf", "easy"), ("saf", "easy"), ("wfp3", "easy"), ("f1", "easy"))


@dataclass(frozen=True)
class EnvOptions:
    """Everything that defines an environment.

    Attributes
    ----------
    system : str, int, mapping or System
        A system's name or file, a number of nodes, plain data, or a `System`; None: as many nodes as the workload says.
    workload : mapping or Workload
        Arguments of `twin_gym.datasets.load` (``loader``, ``path``, ...), or a `Workload`.
    task : str
        ``select``, ``dispatch``, ``backfill`` or ``inspect``.
    window : int
        Visible jobs: the first of the queue in the order of `policy`.
    pick : str
        What picking a job that does not fit means: ``block`` (time runs until it fits, and it starts), ``reserve`` (it
        is protected like a head while `backfill` goes on behind it, until the next event), ``mask`` (it can't be
        picked).
    policy, backfill : str
        Order of the visible queue, and how others are backfilled behind a job that does not fit.
    estimates : str
        What the scheduler and the agent believe of run times: ``requested`` or ``perfect``.
    kill_at_request : bool
        Whether a job ends at its requested walltime at the latest.
    pool : sequence of (policy, backfill)
        What ``dispatch`` chooses from.
    interval : int
        Seconds for which a choice of ``dispatch`` holds (0: one pass); seconds after which ``inspect`` asks again about
        a rejected job (0: at the next event).
    reward : str or mapping
        A preset of `twin_gym.envs.rewards.PRESETS`, or weights of objectives.
    dense : bool
        Whether the reward is given as it arises; else all of it at the end. Both sum up to the same.
    layout : str
        ``flat``, ``dict``, or ``rlscheduler`` (its 128x8 layout, flat).
    episode_jobs : int
        Jobs of an episode, consecutive ones of the log.
    split : str
        The part of the log, by time, in which episodes lie: ``all``, ``train``, ``validation`` or ``test``.
    split_at : (float, float)
        Where validation and test begin, as shares of the jobs.
    release_bins, release_horizon : int
        Parts and length [s] of the profile of nodes that will come free.
    power_cap : float or None
        See `RunConfig`.
    target_power : float or None
        Power above which ``excess_power`` counts, W.
    """

    system: Any = None
    workload: Any = field(default_factory=lambda: dict(DEFAULT_WORKLOAD))
    task: str = "select"
    window: int = 128
    pick: str = "block"
    policy: str = "fcfs"
    backfill: str = "none"
    estimates: str = "requested"
    kill_at_request: bool = True
    pool: Sequence[Sequence[str]] = DEFAULT_POOL
    interval: int = 0
    reward: str | Mapping[str, float] = "bounded_slowdown"
    dense: bool = True
    layout: str = "flat"
    episode_jobs: int = 256
    split: str = "all"
    split_at: Sequence[float] = (0.7, 0.85)
    release_bins: int = 16
    release_horizon: int = 86_400
    power_cap: float | None = None
    target_power: float | None = None

    def __post_init__(self) -> None:
        for name, choices in (("task", TASKS), ("pick", PICKS), ("layout", LAYOUTS), ("split", SPLITS)):
            value = getattr(self, name)
            if value not in choices:
                raise OptionError(f"{name}={value!r} is unknown.{suggest(str(value), choices)}")
        for name, low, high in (
            ("window", 1, 4096),
            ("episode_jobs", 1, 10_000_000),
            ("release_bins", 1, 1024),
            ("release_horizon", 1, 10**9),
            ("interval", 0, 10**9),
        ):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                raise OptionError(f"{name}={value!r} must be a whole number from {low} to {high}.")
        if self.estimates not in ("requested", "perfect"):
            raise OptionError(f"estimates={self.estimates!r}: an environment knows requested and perfect ones.")
        if self.task == "dispatch" and not self.pool:
            raise OptionError("pool is empty; name at least one pair of policy and backfill.")
        if len(self.split_at) != 2 or not 0 < self.split_at[0] < self.split_at[1] < 1:
            raise OptionError(f"split_at={tuple(self.split_at)} must be two rising shares between 0 and 1.")
        if self.target_power is not None and not (math.isfinite(self.target_power) and self.target_power > 0):
            raise OptionError(f"target_power={self.target_power} must be a positive number of W.")
        self.run  # noqa: B018  its choices are checked, too

    @property
    def run(self) -> RunConfig:
        """What the twin is told."""
        return RunConfig(
            policy=self.policy,
            backfill=self.backfill,
            estimates=self.estimates,
            kill_at_request=self.kill_at_request,
            power_cap=self.power_cap,
        )


def env_options(**given: Any) -> EnvOptions:
    """Build `EnvOptions` from options by name.

    Raises
    ------
    OptionError
        If one is unknown; the message suggests the nearest one.
    """
    known = [item.name for item in fields(EnvOptions)]
    for name in given:
        if name not in known:
            raise OptionError(f"environments have no option {name!r}.{suggest(name, known)}")
    return EnvOptions(**given)
