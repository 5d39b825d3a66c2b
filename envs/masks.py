"""Masks as a part of the observation, for libraries that look for them there: RLlib, PettingZoo, Jumanji."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.vector.utils import batch_space

from twin_gym.errors import OptionError

Masked = dict[str, Any]
"""``{"observations": ..., "action_mask": (A,) int8}``; of a batch each with a leading axis (N,)."""

if TYPE_CHECKING:
    _VectorWrapper = gym.vector.VectorWrapper[Masked, Any, Any, Any, Any]
else:
    _VectorWrapper = gym.vector.VectorWrapper  # which older versions of Gymnasium can't subscript


class MaskedObservation(gym.Wrapper[Masked, Any, Any, Any], gym.utils.RecordConstructorArgs):
    """Give observations ``{"observations": ..., "action_mask": (A,) int8}``.

    Parameters
    ----------
    env : gymnasium.Env
        An environment whose ``info["action_mask"]`` holds the mask.

    Raises
    ------
    OptionError
        If its actions are not Discrete, so that it has no mask.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        gym.utils.RecordConstructorArgs.__init__(self)
        super().__init__(env)
        self.observation_space = _space(env.observation_space, env.action_space)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Masked, dict[str, Any]]:
        """Begin an episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        return _joined(observation, info), info

    def step(self, action: Any) -> tuple[Masked, Any, bool, bool, dict[str, Any]]:
        """Apply an action."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return _joined(observation, info), reward, terminated, truncated, info


class MaskedVectorObservation(_VectorWrapper):
    """Give the observations of a batch as `MaskedObservation` does.

    Parameters
    ----------
    env : gymnasium.vector.VectorEnv
        A batch whose ``infos["action_mask"]`` holds the masks, (N, A) int8.

    Raises
    ------
    OptionError
        If its actions are not Discrete, so that it has no masks.
    """

    def __init__(self, env: gym.vector.VectorEnv[Any, Any, Any]) -> None:
        super().__init__(env)
        self.single_observation_space = _space(env.single_observation_space, env.single_action_space)
        self.observation_space = batch_space(self.single_observation_space, env.num_envs)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Masked, dict[str, Any]]:
        """Begin episodes."""
        observation, infos = self.env.reset(seed=seed, options=options)
        return _joined(observation, infos), infos

    def step(
        self, actions: npt.NDArray[Any]
    ) -> tuple[Masked, npt.NDArray[Any], npt.NDArray[np.bool_], npt.NDArray[np.bool_], dict[str, Any]]:
        """Apply an action in each environment."""
        observation, reward, terminated, truncated, infos = self.env.step(actions)
        if "final_obs" in infos:
            infos = {**infos, "final_obs": _joined(infos["final_obs"], infos["final_info"])}
        return _joined(observation, infos), reward, terminated, truncated, infos


def _joined(observation: Any, info: dict[str, Any]) -> Masked:
    return {"observations": observation, "action_mask": info["action_mask"]}


def _space(observations: gym.Space[Any], actions: gym.Space[Any]) -> gym.spaces.Dict:
    if not isinstance(actions, gym.spaces.Discrete):
        raise OptionError(f"actions {actions} have no mask; masks belong to environments with Discrete actions.")
    mask = gym.spaces.Box(0, 1, (int(actions.n),), np.int8)
    return gym.spaces.Dict({"observations": observations, "action_mask": mask})
