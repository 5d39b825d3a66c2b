"""What a power cap leaves for jobs, and what the scheduler believes that each job takes of it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from twin_gym.config import RunConfig
from twin_gym.errors import OptionError
from twin_gym.power import PowerModel
from twin_gym.system import System
from twin_gym.workload import Workload


def job_watts(
    config: RunConfig, system: System, workload: Workload, power: npt.ArrayLike | None = None
) -> npt.NDArray[np.int64] | None:
    """Return what the scheduler believes that each job draws above idle nodes, W, rounded up; None if nobody asks.

    Parameters
    ----------
    config : RunConfig
        Says whether there is a cap.
    system, workload
        What runs on what.
    power : (J,) array, optional
        W for each job, from elsewhere (a prediction); the power model's estimate of its highest power if not given.

    Raises
    ------
    OptionError
        If `power` does not fit the workload.
    """
    if not config.powered and power is None:
        return None
    if config.power_cap is None and power is None:
        return np.zeros(len(workload), np.int64)
    watts = believed_watts(system, workload) if power is None else np.asarray(power, np.float64)
    if watts.shape != (len(workload),) or not np.all(np.isfinite(watts)) or (len(watts) and watts.min() < 0):
        raise OptionError(f"power must be {len(workload)} numbers of W, 0 or more, one for each job.")
    return np.ceil(watts).astype(np.int64)


def believed_watts(system: System, workload: Workload) -> npt.NDArray[np.int64]:
    """Return what each job is believed to draw at most above idle nodes, W, rounded up, (J,)."""
    return np.ceil(PowerModel(system).believed(workload)).astype(np.int64)


def power_budget(config: RunConfig, system: System) -> int:
    """Return what the running jobs may draw above the idle machine, W.

    Raises
    ------
    OptionError
        If the cap lies below the power of the idle machine.
    """
    if config.power_cap is None:
        return 0
    idle = PowerModel(system).idle
    if config.power_cap <= idle:
        raise OptionError(
            f"power_cap={config.power_cap:.6g} W is not above the {idle:.6g} W that {system.name} draws when idle; "
            "no job could ever run."
        )
    return int(config.power_cap - idle)
