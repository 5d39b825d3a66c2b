"""How an observation is laid out: names of all features, their place, and the Gymnasium space."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from twin_gym.kernels import observe

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
STATE_FEATURES = (
    "free",  # share of the nodes
    "running",  # n / (n + 64) jobs
    "queued",  # n / (n + 64) jobs
    "hidden",  # n / (n + 64) jobs beyond the window
    "queued_work",  # W / (W + 24 h), W: requested node-seconds of the queue / nodes
    "head_wait",  # w / (w + 4 h)
    "drawn",  # believed power above idle, share of the machine's
    "hour_sin",
    "hour_cos",
    "weekday_sin",
    "weekday_cos",
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
    actions : int
        Number A of actions.
    space : gymnasium.spaces.Space
        Of a single environment.
    """

    def __init__(self, options: EnvOptions) -> None:
        assert len(JOB_FEATURES) == observe.JOB_FEATURES
        assert len(STATE_FEATURES) == observe.STATE_FEATURES
        self.window, self.kind, self.bins = options.window, options.layout, options.release_bins
        self._jobs_end = self.window * len(JOB_FEATURES)
        self._state_end = self._jobs_end + len(STATE_FEATURES)
        self.size = self._state_end + self.bins
        if self.kind == "rlscheduler":
            self.size = self.window * len(COMPATIBLE)
        self.actions = {"dispatch": len(options.pool), "inspect": 2}.get(options.task, self.window + 1)
        self.space: gym.spaces.Space[Any] = gym.spaces.Box(0.0, 1.0, (self.size,), np.float32)
        if self.kind == "dict":
            self.space = gym.spaces.Dict(
                {
                    "jobs": gym.spaces.Box(0.0, 1.0, (self.window, len(JOB_FEATURES)), np.float32),
                    "state": gym.spaces.Box(0.0, 1.0, (len(STATE_FEATURES),), np.float32),
                    "releases": gym.spaces.Box(0.0, 1.0, (self.bins,), np.float32),
                }
            )

    def names(self) -> list[str]:
        """Return the name of every value of the flat row."""
        columns = COMPATIBLE if self.kind == "rlscheduler" else JOB_FEATURES
        jobs = [f"job{i}/{name}" for i in range(self.window) for name in columns]
        if self.kind == "rlscheduler":
            return jobs
        return [*jobs, *STATE_FEATURES, *(f"release{i}" for i in range(self.bins))]

    def shaped(self, rows: npt.NDArray[np.float32]) -> Any:
        """Return rows (N, D) in the layout that was asked for, as views."""
        if self.kind != "dict":
            return rows
        jobs, state, releases = np.split(rows, [self._jobs_end, self._state_end], axis=1)
        return {"jobs": jobs.reshape(len(rows), self.window, -1), "state": state, "releases": releases}
