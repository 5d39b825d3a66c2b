"""The facts of a run, from which `Result` derives everything: on what it took place, what became of every job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from twin_gym.states import JobState

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Scenario:
    """On what a run took place.

    Attributes
    ----------
    system, nodes : str, int
        Name of the system and number of its nodes.
    workload, unit : str
        Name of the workload and what its jobs ask for, ``node`` or ``processor``.
    epoch : int or None
        Unix time of the workload's time 0, s; None if it is not known.
    fingerprint : str or None
        Of the workload's content; None as long as nobody needed it.
    dropped : int
        Jobs that validation left out of the workload.
    defects : mapping of str to int
        What validation found in the workload, and how often.
    """

    system: str
    nodes: int
    workload: str
    unit: str = "node"
    epoch: int | None = None
    fingerprint: str | None = None
    dropped: int = 0
    defects: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What became of every job: arrays of shape (J,), in submit order; times in s since the workload's epoch.

    Attributes
    ----------
    id, submit, requested_time : int64
    start, end : int64
        Of the last attempt; UNKNOWN where there is none.
    nodes : int32
    state : int8
        A `JobState`.
    user, account, partition : int32
        Codes into `users`, `accounts`, `partitions`; -1 for unknown.
    priority : float64
        Recorded; NaN for unknown.
    initial : bool
        Was running when the window began, and so was not scheduled by this run.
    """

    id: Ints
    submit: Ints
    requested_time: Ints
    start: Ints
    end: Ints
    nodes: Codes
    state: npt.NDArray[np.int8]
    user: Codes
    account: Codes
    partition: Codes
    priority: npt.NDArray[np.float64]
    initial: Flags
    users: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.id)

    def among(self, states: tuple[JobState, ...]) -> Flags:
        """Say which jobs are in one of the states, as (J,) bool."""
        chosen = np.zeros(len(JobState), bool)
        chosen[list(states)] = True
        return chosen[self.state]


@dataclass(frozen=True, eq=False)
class Attempts:
    """Runs that an outage cut short and whose jobs were queued again: arrays of shape (A,).

    Attributes
    ----------
    job : int64
        Row of the job.
    start, end : int64
        s since the workload's epoch.
    """

    job: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    start: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    end: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    def __len__(self) -> int:
        return len(self.job)


@dataclass(frozen=True, eq=False)
class Naps:
    """When nodes were off: arrays of shape (M,), int64; times in s since the workload's epoch.

    Attributes
    ----------
    node : int64
        Number of the node, 0 .. N-1.
    off, on, ready : int64
        Switched off, switched on again, and booted; `on` and `ready` are the run's last instant where it stayed off.
    """

    node: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    off: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    on: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    ready: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    def __len__(self) -> int:
        return len(self.node)


@dataclass(frozen=True, eq=False)
class Paces:
    """At which frequency jobs ran under a power cap: arrays of shape (K,), each value holds until the next one.

    Attributes
    ----------
    time : int64
        s since the workload's epoch.
    frequency : float64
        Share of the full frequency.
    """

    time: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    frequency: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    def __len__(self) -> int:
        return len(self.time)
