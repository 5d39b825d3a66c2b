"""How an observation is laid out: names of all features, their place, and the Gymnasium space."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from twin_gym.kernels import observe
from twin_gym.kernels.batch import Places
from twin_gym.policies import FAMILIES

from .options import EnvOptions

JOB_FEATURES = (
    "wait",  # w / (w + 4 h)
    "request",  # t / (t + 1 h)
    "nodes",  # share of the machine
    "fits",  # 1: could start now
    "behind",  # 1: could start now without delaying the first job of the queue
    "power",  # believed power above idle, share of the machine's
    "user_jobs",  # n / (n + 64) jobs that its user has started in this episode
    "priority",  # recorded, scaled
    "present",  # 1: there is a job
)
DETAIL_FEATURES = (
    "energy",  # E / (E + 1 h), E: believed energy above idle over the machine's full power above idle
    "user_nodes",  # nodes that its user's jobs hold now, share of the machine
    "user_queued",  # n / (n + 64) jobs of its user that wait
    "fair_share",  # 2^(-user's share of the requested node-seconds started so far, times the users)
    "slack",  # 0.5 + 0.5 s / (|s| + 4 h), s: time from the believed end, started now, to the deadline; 1 without one
)
STATE_FEATURES = (
    "free",  # share of the nodes
    "running",  # n / (n + 64) jobs
    "queued",  # n / (n + 64) jobs
    "hidden",  # n / (n + 64) jobs beyond the window
    "running_work",  # W / (W + 24 h), W: believed node-seconds left of the running jobs / nodes
    "queued_work",  # W / (W + 24 h), W: requested node-seconds of the queue / nodes
    "hidden_work",  # the same, of the jobs beyond the window
    "head_wait",  # w / (w + 4 h)
    "drawn",  # believed power above idle, share of the machine's
    "hour_sin",
    "hour_cos",
    "weekday_sin",
    "weekday_cos",
)
FACILITY_FEATURES = (
    "power",  # believed, share of the machine's highest
    "headroom",  # power that the cap leaves, share of the machine's range; 1 without a cap
    "ramp",  # 0.5 + 0.5 d / (|d| + 5 % of the range), d: change of power between the last two minutes
    "pue",  # its inverse: what computers and switches draw of all power
    "cooling",  # share of the cooling plant in all power
    "supply",  # of the CDUs, degC / 60
    "tower_return",  # degC / 60
    "fan",  # mean speed
    "wet_bulb",  # (T + 30) / 70, degC
    "wet_bulb_ahead",  # its mean over the horizon
)
COMPATIBLE = ("wait", "request", "processors", "memory", "user", "group", "program", "fits")


class Layout:
    """The places of all features in one row of the observation buffer.

    Parameters
    ----------
    options : EnvOptions

    Attributes
    ----------
    size : int
        Length D of the row.
    places : Places
        Where each group begins.
    space, action_space : gymnasium.spaces.Space
        Of a single environment.
    """

    def __init__(self, options: EnvOptions) -> None:
        assert len(JOB_FEATURES) == observe.JOB_FEATURES
        assert len(DETAIL_FEATURES) == observe.DETAILS
        assert len(STATE_FEATURES) == observe.STATE_FEATURES
        assert len(FACILITY_FEATURES) == observe.FACILITY_FEATURES
        self.kind = options.layout
        bins, window = options.release_bins, options.window
        shapes: dict[str, tuple[int, ...]] = {
            "jobs": (window, len(JOB_FEATURES)),
            "details": (window, len(DETAIL_FEATURES)),
            "state": (len(STATE_FEATURES),),
            "releases": (bins,),
            "facility": (len(FACILITY_FEATURES),),
            "price": (1 + bins,),
            "carbon": (1 + bins,),
        }
        wanted = set(options.features) | ({"price", "carbon"} if "market" in options.features else set())
        self._shapes = {name: shape for name, shape in shapes.items() if name in wanted}
        if self.kind == "rlscheduler":
            self._shapes = {"compatible": (window, len(COMPATIBLE))}
        self._starts: dict[str, int] = {}
        self.size = 0
        for name, shape in self._shapes.items():
            self._starts[name] = self.size
            self.size += int(np.prod(shape))
        self.places = Places(*(self._starts.get(name, -1) for name in Places._fields))
        self.space: gym.spaces.Space[Any] = gym.spaces.Box(0.0, 1.0, (self.size,), np.float32)
        if self.kind == "dict":
            boxes: dict[str, gym.spaces.Space[Any]] = {
                name: gym.spaces.Box(0.0, 1.0, shape, np.float32) for name, shape in self._shapes.items()
            }
            self.space = gym.spaces.Dict(boxes)
        self.action_space: gym.spaces.Space[Any]
        if options.task == "weights":
            terms = len(FAMILIES[options.family].terms)
            self.action_space = gym.spaces.Box(-1.0, 1.0, (terms,), np.float32)
        else:
            actions = {"dispatch": len(options.pool), "inspect": 2}.get(options.task, window + 1)
            self.action_space = gym.spaces.Discrete(actions)

    def names(self) -> list[str]:
        """Return the name of every value of the flat row."""
        features = {
            "jobs": JOB_FEATURES,
            "details": DETAIL_FEATURES,
            "compatible": COMPATIBLE,
            "state": STATE_FEATURES,
            "facility": FACILITY_FEATURES,
        }
        names: list[str] = []
        for group, shape in self._shapes.items():
            if len(shape) == 2:
                names += [f"job{i}/{name}" for i in range(shape[0]) for name in features[group]]
            elif group in features:
                names += [name if group == "state" else f"{group}/{name}" for name in features[group]]
            elif group == "releases":
                names += [f"release{i}" for i in range(shape[0])]
            else:
                names += [f"{group}/now", *(f"{group}/{i}" for i in range(shape[0] - 1))]
        return names

    def shaped(self, rows: npt.NDArray[np.float32]) -> Any:
        """Return rows (N, D) in the layout that was asked for, as views."""
        if self.kind != "dict":
            return rows
        parts = {}
        for name, shape in self._shapes.items():
            start = self._starts[name]
            parts[name] = rows[:, start : start + int(np.prod(shape))].reshape(len(rows), *shape)
        return parts
