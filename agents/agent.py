"""The one interface of everything that decides: observations and masks of a batch in, an action for each out."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..envs.core import TwinVectorEnv
from ..envs.options import EnvOptions


class Agent(Protocol):
    """What an evaluation, or whoever plays an environment, asks of an agent."""

    name: str

    def environment(self, options: EnvOptions) -> EnvOptions:
        """Return the environment in which it plays: the same machine, log, episodes and rewards; the task is its own.

        Raises
        ------
        TwinGymError
            If it can't play in such an environment.
        """
        ...

    def begin(self, envs: TwinVectorEnv) -> None:
        """Get ready to act in a batch; called once, before its first reset."""
        ...

    def act(self, observation: Any, mask: npt.NDArray[np.int8] | None) -> npt.NDArray[Any]:
        """Return an action for each environment.

        Parameters
        ----------
        observation : (N, D) float32 array, or dict of such
        mask : (N, A) int8 array, or None where actions are not Discrete
        """
        ...
