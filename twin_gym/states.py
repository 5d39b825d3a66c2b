"""The states of a job in the twin."""

from __future__ import annotations

from enum import IntEnum


class JobState(IntEnum):
    """Where a job stands; the last four are final."""

    PENDING = 0  # not submitted yet
    QUEUED = 1
    RUNNING = 2
    COMPLETED = 3
    TIMEOUT = 4  # ended at its requested walltime
    FAILED = 5  # killed by an outage
    REFUSED = 6  # larger than the system: never queued
