"""What a reward is made of: weights of named objectives, and the presets that come with twin_gym."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from twin_gym.errors import OptionError, suggest
from twin_gym.kernels.tally import NAMES

PRESETS: dict[str, dict[str, float]] = {
    "bounded_slowdown": {"bounded_slowdown": -1.0},
    "slowdown": {"slowdown": -1.0},
    "wait": {"wait": -1.0 / 3600.0},
    "awrt": {"awrt": -1.0 / 3600.0},
    "utilization": {"utilization": 1.0},
    "energy_aware": {"bounded_slowdown": -1.0, "energy": -1e-3},
    "cost_aware": {"bounded_slowdown": -1.0, "cost": -1e-2},
    "carbon_aware": {"bounded_slowdown": -1.0, "carbon": -1e-2},
    "peak_aware": {"bounded_slowdown": -1.0, "peak_power": -1e-2, "excess_power": -1e-2},
    "multi_objective": {"bounded_slowdown": -1.0, "utilization": 10.0, "energy": -1e-3, "fairness": 1.0},
}
"""Weights by preset; `twin_gym.kernels.tally.objectives` says what each objective is and its unit."""


def weights_of(reward: str | Mapping[str, float]) -> npt.NDArray[np.float64]:
    """Return the weight of every objective, in the order of `NAMES`.

    Parameters
    ----------
    reward : str or mapping of str to float
        A preset, or weights by objective. An action that can't be done costs nothing unless ``invalid`` has a weight.

    Raises
    ------
    OptionError
        If there is no such preset or objective, or a weight is no finite number.
    """
    if isinstance(reward, str):
        if reward not in PRESETS:
            raise OptionError(f"reward={reward!r} is unknown.{suggest(reward, list(PRESETS))}")
        reward = PRESETS[reward]
    weights = np.zeros(len(NAMES))
    for name, weight in reward.items():
        if name not in NAMES:
            raise OptionError(f"reward has no objective {name!r}.{suggest(str(name), list(NAMES))}")
        if not np.isfinite(weight):
            raise OptionError(f"reward[{name}]={weight} must be a finite number.")
        weights[NAMES.index(name)] = weight
    return weights
