"""What a reward is made of: weights of named objectives, and the presets that come with twin_gym (`conf/reward`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import numpy as np
import numpy.typing as npt
import yaml

from twin_gym.errors import OptionError, suggest
from twin_gym.kernels.tally import NAMES


@cache
def presets() -> dict[str, dict[str, float]]:
    """Return the weights of every preset; `twin_gym.kernels.tally.objectives` says what each objective is."""
    found = {}
    for item in sorted((files("twin_gym.conf") / "reward").iterdir(), key=lambda item: item.name):
        if item.name.endswith(".yaml"):
            weights = yaml.safe_load(item.read_text(encoding="utf-8"))
            found[item.name.removesuffix(".yaml")] = {name: float(weight) for name, weight in weights.items()}
    return found


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
        if reward not in presets():
            raise OptionError(f"reward={reward!r} is unknown.{suggest(reward, list(presets()))}")
        reward = presets()[reward]
    weights = np.zeros(len(NAMES))
    for name, weight in reward.items():
        if name not in NAMES:
            raise OptionError(f"reward has no objective {name!r}.{suggest(str(name), list(NAMES))}")
        if not np.isfinite(weight):
            raise OptionError(f"reward[{name}]={weight} must be a finite number.")
        weights[NAMES.index(name)] = weight
    return weights
