"""What an environment is told, checked once at the edge; everything in it can be written as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from twin_gym.config import BACKFILLS, RunConfig
from twin_gym.errors import OptionError, suggest
from twin_gym.policies import FAMILIES, find_policy

TASKS = ("select", "dispatch", "backfill", "inspect", "weights")
PICKS = ("block", "reserve", "mask")
VIEWS = ("head", "split", "sample")
LAYOUTS = ("flat", "dict", "rlscheduler")
SPLITS = ("all", "train", "validation", "test")
GROUPS = ("jobs", "details", "state", "releases", "facility", "market")
ORIGINS = ("episode", "log")
ENDING_BEFORE = "ending_before"  # a backfill mode besides those of the twin, for pick="block" alone
DEFAULT_WORKLOAD = {"loader": "synthetic", "model": "lublin", "jobs": 10_000, "capacity": 256, "load": 0.8, "seed": 0}
DEFAULT_POOL = (("fcfs", "easy"), ("sjf", "easy"), ("saf", "easy"), ("wfp3", "easy"), ("f1", "easy"))
EPISODE = 10**12  # s, longer than any
_CHOICES = {
    "task": TASKS,
    "pick": PICKS,
    "view": VIEWS,
    "layout": LAYOUTS,
    "split": SPLITS,
    "origin": ORIGINS,
    "family": tuple(FAMILIES),
    "share_by": ("user", "account"),
    "estimates": ("requested", "perfect"),
}
_RANGES = {
    "window": (1, 4096),
    "episode_jobs": (1, 10_000_000),
    "release_bins": (1, 1024),
    "release_horizon": (1, 10**9),
    "interval": (0, 10**9),
    "lookback": (1, 10_000_000),
    "tick": (1, 3600),
}


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
        ``select``, ``dispatch``, ``backfill``, ``inspect`` or ``weights``.
    window : int
        Visible jobs of the queue, which stands in the order of `policy`.
    view : str
        Which those are in a longer queue: ``head`` (the first), ``split`` (half of them the first, half the last), or
        ``sample`` (half of them the first, and one by lot of each of as many equal parts of the others).
    pick : str
        What picking a job that does not fit means: ``block`` (time runs until it fits, and it starts), ``reserve`` (it
        is protected like a head while `backfill` goes on behind it, until the next event), ``mask`` (it can't be
        picked).
    policy, backfill : str
        Order of the queue, and how others are backfilled behind a job that does not fit. With ``pick="block"`` there
        is also ``ending_before``: those that will have ended before the time at which the job was to start when it was
        picked.
    origin : str
        From when f1 to f4 count submit times: begin of the ``episode``, or of the ``log``'s clock.
    estimates : str
        What the scheduler and the agent believe of run times: ``requested`` or ``perfect``.
    kill_at_request : bool
        Whether a job ends at its requested walltime at the latest.
    pool : sequence of (policy, backfill)
        What ``dispatch`` chooses from.
    family : str
        Priority functions among which ``weights`` chooses: ``loglinear``, ``exponential`` or ``multifactor``; it takes
        the place of `policy`.
    interval : int or str
        Seconds for which a choice of ``dispatch`` or ``weights`` holds (0: one pass; ``episode``: to its end); seconds
        after which ``inspect`` asks again about a rejected job (0: at the next event).
    strict : bool
        Whether an action that is masked out raises an error instead of being counted.
    reward : str or mapping
        A preset of `twin_gym.envs.rewards.presets`, or weights of objectives.
    dense : bool
        Whether the reward is given as it arises; else all of it at the end. Both sum up to the same.
    layout : str
        ``flat``, ``dict``, or ``rlscheduler`` (its 128x8 layout, flat).
    features : sequence of str
        Groups of an observation: ``jobs``, ``details`` (more about them), ``state``, ``releases``, ``facility``,
        ``market``. See `twin_gym.envs.spaces`.
    share_by : str
        Whose load and fair share ``details`` tells: ``user`` or ``account``.
    release_bins, release_horizon : int
        Parts and length [s] of the profile of nodes that will come free, and of forecasts.
    episode_jobs : int
        Jobs of an episode, consecutive ones of the log.
    episode_time : int or None
        Instead: all jobs submitted within so many seconds.
    split : str
        The part of the log, by time, in which episodes lie: ``all``, ``train``, ``validation`` or ``test``.
    split_at : (float, float)
        Where validation and test begin, as shares of the jobs.
    prepopulate : str or None
        What runs and waits when an episode begins: nothing (None); what did at that time in the log (``replay``); or
        what would have, had a policy scheduled the whole log (``fcfs``, ``fcfs+easy``, ...; worked out once).
    lookback : int
        Jobs before the episode that may still run or wait at its begin; what is older is left out.
    estimate_noise : float
        Standard deviation of the logarithm of what is believed of run times over what would be without noise.
    arrival_scale, runtime_scale : float or (float, float)
        How much faster jobs arrive and how much longer they run (and ask for) than recorded; of two numbers each
        episode draws one between them.
    failures : mapping or None
        Nodes that fail: ``mtbf`` (of one node, h), ``repair`` (h), ``seed``, and ``mode`` (``requeue`` or ``fail``).
    power_cap : float or None
        See `RunConfig`.
    target_power : float or None
        Power above which ``excess_power`` counts, W.
    cooling : bool
        Whether the system's cooling plant follows the power.
    tick : int
        Step of the plant, s.
    weather, price, carbon
        As in `twin_gym.operate`: a file, a constant, ``"daily"``; None: the system's own.
    """

    system: Any = None
    workload: Any = field(default_factory=lambda: dict(DEFAULT_WORKLOAD))
    task: str = "select"
    window: int = 128
    view: str = "head"
    pick: str = "block"
    policy: str = "fcfs"
    backfill: str = "none"
    origin: str = "episode"
    estimates: str = "requested"
    kill_at_request: bool = True
    pool: Sequence[Sequence[str]] = DEFAULT_POOL
    family: str = "loglinear"
    interval: int | str = 0
    strict: bool = False
    reward: str | Mapping[str, float] = "bounded_slowdown"
    dense: bool = True
    layout: str = "flat"
    features: Sequence[str] = ("jobs", "state", "releases")
    share_by: str = "user"
    release_bins: int = 16
    release_horizon: int = 86_400
    episode_jobs: int = 256
    episode_time: int | None = None
    split: str = "all"
    split_at: Sequence[float] = (0.7, 0.85)
    prepopulate: str | None = None
    lookback: int = 1000
    estimate_noise: float = 0.0
    arrival_scale: float | Sequence[float] = 1.0
    runtime_scale: float | Sequence[float] = 1.0
    failures: Mapping[str, Any] | None = None
    power_cap: float | None = None
    target_power: float | None = None
    cooling: bool = False
    tick: int = 15
    weather: Any = None
    price: Any = None
    carbon: Any = None

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            value = getattr(self, name)
            if value not in choices:
                raise OptionError(f"{name}={value!r} is unknown.{suggest(str(value), choices)}")
        for name, (low, high) in _RANGES.items():
            value = getattr(self, name)
            if name == "interval" and value == "episode":
                continue
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                raise OptionError(f"{name}={value!r} must be a whole number from {low} to {high}.")
        if self.task == "dispatch" and not self.pool:
            raise OptionError("pool is empty; name at least one pair of policy and backfill.")
        if len(self.split_at) != 2 or not 0 < self.split_at[0] < self.split_at[1] < 1:
            raise OptionError(f"split_at={tuple(self.split_at)} must be two rising shares between 0 and 1.")
        for name in ("target_power", "episode_time"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise OptionError(f"{name}={value} must be a positive number of {'W' if name[0] == 't' else 's'}.")
        if not (math.isfinite(self.estimate_noise) and 0 <= self.estimate_noise <= 5):
            raise OptionError(f"estimate_noise={self.estimate_noise} must lie between 0 and 5.")
        for name in ("arrival_scale", "runtime_scale"):
            self.between(name)
        self._check_features()
        if self.backfill == ENDING_BEFORE and not (self.task == "select" and self.pick == "block"):
            raise OptionError(f"backfill={ENDING_BEFORE} goes with task=select and pick=block alone.")
        self.run  # noqa: B018  its choices are checked, too
        self.warmup  # noqa: B018

    def _check_features(self) -> None:
        if isinstance(self.features, str) or not self.features:
            raise OptionError(f"features={self.features!r} must be a list of groups: {', '.join(GROUPS)}.")
        if "projections" in self.features:
            raise OptionError("features: projections are reserved for the online twin, which is not there yet.")
        for group in self.features:
            if group not in GROUPS:
                raise OptionError(f"features holds {group!r}, which is unknown.{suggest(str(group), GROUPS)}")

    def between(self, name: str) -> tuple[float, float]:
        """Return the ends of a range that is given by one number or by two.

        Raises
        ------
        OptionError
            If it is not of positive, rising numbers.
        """
        given = getattr(self, name)
        ends = (given, given) if isinstance(given, int | float) else tuple(given)
        if len(ends) != 2 or not all(math.isfinite(end) for end in ends) or not 0.01 <= ends[0] <= ends[1] <= 100:
            raise OptionError(f"{name}={given} must be a number from 0.01 to 100, or two rising ones.")
        return float(ends[0]), float(ends[1])

    @property
    def hold(self) -> int:
        """`interval` in seconds."""
        return EPISODE if self.interval == "episode" else int(self.interval)

    @property
    def varied(self) -> bool:
        """Whether jobs are changed from episode to episode."""
        return self.estimate_noise > 0 or any(
            self.between(name) != (1.0, 1.0) for name in ("arrival_scale", "runtime_scale")
        )

    @property
    def warmup(self) -> tuple[str, str] | None:
        """Policy and backfill mode of `prepopulate`."""
        if self.prepopulate is None:
            return None
        policy, _, backfill = str(self.prepopulate).partition("+")
        if backfill and backfill not in BACKFILLS:
            raise OptionError(f"prepopulate={self.prepopulate}: no such backfill mode.{suggest(backfill, BACKFILLS)}")
        return find_policy(policy).name, backfill or "none"

    @property
    def run(self) -> RunConfig:
        """What the twin is told."""
        return RunConfig(
            policy=self.family if self.task == "weights" else self.policy,
            backfill="none" if self.backfill == ENDING_BEFORE else self.backfill,
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
