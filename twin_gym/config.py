"""What one run was told to do, validated once at the edge."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from twin_gym.errors import OptionError, PolicyError, suggest
from twin_gym.learned import LEARNED, PriorityFunction, read_function
from twin_gym.policies import FAMILIES

BACKFILLS = ("none", "firstfit", "easy", "conservative")
ESTIMATES = ("requested", "perfect", "hybrid", "predicted")
SEMANTICS = ("cycle", "cqsim")
PLACEMENTS = ("count", "lowest", "contiguous", "recorded")
RESERVATIONS = ("counts", "nodes")
OVER_CAP = ("wait", "slow")
WEIGHTED = ("loglinear", "exponential")
SITE = "site"  # instead of a policy or a backfill mode: what the system's description says of its scheduler


@dataclass(frozen=True)
class Multifactor:
    """Weights of the Slurm-like multifactor priority; every factor lies in [0, 1].

    Attributes
    ----------
    age, size, fairshare, queue : float
        Weights of waiting time, of nodes / system nodes, of fair share and of the partition's own factor.
    max_age : float
        Wait at which the age factor reaches 1, s.
    half_life : float
        Half-life of the usage that fair share remembers, s (inf: never forgets).
    queue_factors : dict
        Factor in [0, 1] by partition name; 0 for a partition that is not named.
    """

    age: float = 1000.0
    size: float = 1000.0
    fairshare: float = 1000.0
    queue: float = 1000.0
    max_age: float = 7 * 86400.0
    half_life: float = 7 * 86400.0
    queue_factors: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("age", "size", "fairshare", "queue"):
            if not math.isfinite(getattr(self, name)):
                raise OptionError(f"multifactor.{name}={getattr(self, name)} is not a finite number; give a weight.")
        for name in ("max_age", "half_life"):
            if not getattr(self, name) > 0:
                raise OptionError(f"multifactor.{name}={getattr(self, name)} must be positive (seconds).")
        for partition, factor in self.queue_factors.items():
            if not 0 <= factor <= 1:
                raise OptionError(f"multifactor.queue_factors[{partition}]={factor} must lie between 0 and 1.")


@dataclass(frozen=True)
class Slowing:
    """How jobs are slowed under a power cap: power above idle goes with f^exponent, f the share of the full frequency.

    Attributes
    ----------
    floor : float
        Lowest frequency, share of the full one.
    exponent : float
        Dynamic power goes with frequency times the square of a voltage that falls with it: 3 where voltage goes with
        frequency, 1 where it is constant.
    sensitivity : float
        Share of a job's time that goes with 1 / f (1: bound by the processors); the rest waits for memory and network.
    """

    floor: float = 0.5
    exponent: float = 2.0
    sensitivity: float = 0.8

    def __post_init__(self) -> None:
        if not 0 < self.floor <= 1:
            raise OptionError(f"slowing.floor={self.floor} must be above 0 and at most 1.")
        if not 0.1 <= self.exponent <= 10:
            raise OptionError(f"slowing.exponent={self.exponent} must lie between 0.1 and 10.")
        if not 0 <= self.sensitivity <= 1:
            raise OptionError(f"slowing.sensitivity={self.sensitivity} must lie between 0 and 1.")


@dataclass(frozen=True)
class RunConfig:
    """Every choice that decides a schedule, apart from the system, the workload and the outages.

    Attributes
    ----------
    policy : str
        Name of the ordering policy (`twin_gym.policies()`).
    backfill : str
        ``none``, ``firstfit``, ``easy`` or ``conservative``.
    estimates : str
        What the scheduler believes of run times: ``requested``, ``perfect``, ``hybrid`` or ``predicted``.
    semantics : str
        ``cycle``: one pass per instant; ``cqsim``: a pass after every single event.
    kill_at_request : bool
        Whether a job ends at its requested walltime at the latest.
    depth : int
        Reservations that ``easy`` protects (1 = EASY).
    window : int
        Length of the look-ahead window that is permuted for the earliest finish (0 = off).
    placement : str
        ``count`` (no node identities), ``lowest``, ``contiguous`` or ``recorded``.
    reservations : str
        What ``easy`` and ``conservative`` reserve: ``counts`` of nodes, or named ``nodes`` as Slurm does.
    power_cap : float or None
        Power that the whole system shall not pass, W (None: no cap): a job that would pass it waits.
    over_cap : str
        What happens where jobs would pass the cap: ``wait`` (they do not start), or ``slow`` (all that run are slowed
        down to the highest frequency that keeps it, and new ones wait only if the lowest does not).
    slowing : Slowing
        How frequency, power and speed go together.
    idle_timeout : float or None
        Time after which an idle node is switched off, s (None: never; inf: only when a twin is told so). Nodes that are
        off can be given to a job, which then waits until they have booted.
    seed : int
        Seed of the ``random`` policy.
    tau : float
        Bound of the bounded slowdown, s.
    multifactor : Multifactor
        Weights of the ``multifactor`` policy.
    weights : tuple of float
        Of the ``loglinear`` or ``exponential`` policy, one for each term of `twin_gym.policies.FAMILIES`; without them
        the family's own. ``policy="learned:FILE"`` reads policy and weights from a file (`twin_gym.learned`).
    """

    policy: str = "fcfs"
    backfill: str = "none"
    estimates: str = "requested"
    semantics: str = "cycle"
    kill_at_request: bool = True
    depth: int = 1
    window: int = 0
    placement: str = "count"
    reservations: str = "counts"
    power_cap: float | None = None
    over_cap: str = "wait"
    slowing: Slowing = field(default_factory=lambda: Slowing())
    idle_timeout: float | None = None
    seed: int = 0
    tau: float = 10.0
    multifactor: Multifactor = field(default_factory=Multifactor)
    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        self._settle_weights()
        for name, choices in (
            ("backfill", BACKFILLS),
            ("estimates", ESTIMATES),
            ("semantics", SEMANTICS),
            ("placement", PLACEMENTS),
            ("reservations", RESERVATIONS),
            ("over_cap", OVER_CAP),
        ):
            value = getattr(self, name)
            if value not in choices:
                raise PolicyError(f"{name}={value!r} is unknown.{suggest(str(value), choices)}")
        if self.depth < 1:
            raise OptionError(f"depth={self.depth} must be at least 1 (the number of reservations that easy protects).")
        if not (self.window == 0 or 2 <= self.window <= 7):
            raise OptionError(f"window={self.window} must be 0 (off) or 2 to 7 jobs: W jobs have W! permutations.")
        if self.window and self.reservations == "nodes":
            raise OptionError("window does not go with reservations=nodes; choose one of them.")
        if self.power_cap is not None and not 0 < self.power_cap < 1e12:
            raise OptionError(f"power_cap={self.power_cap} must be a positive number of W (20 MW: power_cap=20e6).")
        if self.idle_timeout is not None and not self.idle_timeout >= 0:
            raise OptionError(f"idle_timeout={self.idle_timeout} must be 0 or more seconds.")
        if self.over_cap == "slow" and self.power_cap is None:
            raise OptionError("over_cap=slow needs a power_cap; give one in W.")
        if self.over_cap == "slow" and self.idle_timeout is not None:
            raise OptionError("over_cap=slow does not go with idle_timeout yet; leave one of them out.")
        if self.powered:
            self._check_powered()
        if not self.tau > 0:
            raise OptionError(f"tau={self.tau} must be a positive number of seconds.")

    @property
    def powered(self) -> bool:
        """Whether a schedule depends on power: there is a cap, or idle nodes are switched off."""
        return self.power_cap is not None or self.idle_timeout is not None

    def _settle_weights(self) -> None:
        """Read a learned policy, and check the weights of one that has some."""
        if str(self.policy).startswith(LEARNED):
            found = read_function(str(self.policy)[len(LEARNED) :])
            object.__setattr__(self, "policy", found.family)
            if found.family == "multifactor":
                age, size, fairshare, queue = found.weights
                factors = replace(self.multifactor, age=age, size=size, fairshare=fairshare, queue=queue)
                object.__setattr__(self, "multifactor", factors)
            else:
                object.__setattr__(self, "weights", found.weights)
        object.__setattr__(self, "weights", tuple(self.weights))
        if self.weights and self.policy in WEIGHTED:
            PriorityFunction(self.policy, self.weights)

    @property
    def score_weights(self) -> tuple[float, ...]:
        """Weights that hold: those given, or the family's own; () for a policy without any."""
        return (self.weights or FAMILIES[self.policy].weights) if self.policy in WEIGHTED else ()

    def _check_powered(self) -> None:
        option = "power_cap" if self.power_cap is not None else "idle_timeout"
        if self.policy == "replay":
            raise OptionError(f"{option} does not go with policy=replay, which repeats what was recorded.")
        if self.window:
            raise OptionError(f"{option} does not go with window; choose one of them.")
        if self.reservations == "nodes":
            raise OptionError(f"{option} does not go with reservations=nodes; leave that at counts.")

    def to_dict(self) -> dict[str, Any]:
        """Return the choices as plain data, as written to ``config.yaml``."""
        return asdict(self)


def as_scheduled(scheduler: Any, **choices: Any) -> dict[str, Any]:
    """Return choices in which ``policy="site"`` and ``backfill="site"`` are a system's own (`System.scheduler`)."""
    own = {name: getattr(scheduler, name) for name in ("policy", "backfill") if choices.get(name) == SITE}
    return choices | own


def run_config(**options: Any) -> RunConfig:
    """Build a `RunConfig` from options by name.

    Raises
    ------
    OptionError
        If an option is unknown; the message suggests the nearest one.
    """
    known = RunConfig.__dataclass_fields__
    for name in options:
        if name not in known:
            raise OptionError(f"option {name!r} is unknown.{suggest(name, known)}")
    return RunConfig(**options)
