"""`TwinVecEnv`: a batch of twins as Stable-Baselines3 wants its environments, without work for each of them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.envs.registration import load_env_creator
from gymnasium.vector import AutoresetMode

from twin_gym.errors import OptionError

from .core import TwinVectorEnv

try:
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env.base_vec_env import VecEnv, VecEnvIndices, VecEnvObs, VecEnvStepReturn
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        f"twin_gym.envs.sb3 needs {missing.name}; install it with: pip install 'twin-gym[rl]'", name=missing.name
    ) from missing


class TwinVecEnv(VecEnv):
    """N twins stepped by one kernel call, as a Stable-Baselines3 ``VecEnv``.

    Parameters
    ----------
    envs : TwinVectorEnv
        The batch, with ``autoreset_mode="SameStep"``. With ``copy=False`` observations are views of two buffers that
        take turns: one stays as it is during the next step, which is as long as the algorithms of Stable-Baselines3
        keep it; whoever keeps more of them copies.
    monitor : bool
        Whether the info of an episode's last step has the fields of `Monitor`: ``episode`` with return ``r``, length
        ``l`` and seconds since the batch was made ``t``. Leave it to a ``VecMonitor`` on top with False.

    Attributes
    ----------
    envs : TwinVectorEnv
        The batch.
    infos : dict of str to array
        What the batch said of the last step: masks, clocks and the terms of the reward of all environments, as arrays.
        The list that `step` returns holds dictionaries with content only where an episode has ended, and there
        ``terminal_observation``, ``TimeLimit.truncated``, ``episode``, and all that Gymnasium's info of the last step
        has, but the mask (``objective/...``, ``reward/...``, ``clock``, ``invalid``).
    spec : gymnasium.envs.registration.EnvSpec or None
        Of the batch.

    Raises
    ------
    OptionError
        If the batch resets its environments in another way.

    Notes
    -----
    All environments are one object, so attributes are shared: `set_attr` sets one for all or not at all. The masks of
    ``env_method("action_masks")``, which MaskablePPO calls, are rows of one array.
    """

    def __init__(self, envs: TwinVectorEnv, *, monitor: bool = True) -> None:
        if envs.autoreset_mode != AutoresetMode.SAME_STEP:
            raise OptionError(
                f"Stable-Baselines3 needs autoreset_mode='SameStep', not '{envs.autoreset_mode.value}'; "
                "twin_gym.envs.sb3.make_vec_env sees to it."
            )
        self.envs = envs
        self.infos: dict[str, Any] = {}
        self.spec = envs.spec
        self._monitor = monitor
        self._began = time.time()
        self._returns = np.zeros(envs.num_envs)
        self._lengths = np.zeros(envs.num_envs, np.int64)
        self._actions: npt.NDArray[Any] = np.zeros(envs.num_envs, np.int64)
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)

    # ------------------------------------------------------------------------------------------------ episodes

    def reset(self) -> VecEnvObs:
        """Begin an episode in every environment, with the seeds and options that were set for it."""
        observation, self.infos = self.envs.reset(seed=self._seeds, options=_together(self._options))
        self.reset_infos = [_of(self.infos, i) for i in range(self.num_envs)]
        self._returns[:] = 0.0
        self._lengths[:] = 0
        self._reset_seeds()
        self._reset_options()
        shaped: VecEnvObs = observation
        return shaped

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Take the actions of the next `step_wait`."""
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        """Step all environments; one that ends begins its next episode at once."""
        observation, rewards, terminated, truncated, self.infos = self.envs.step(self._actions)
        dones = terminated | truncated
        self._returns += rewards
        self._lengths += 1
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for i in np.flatnonzero(dones).tolist():
            infos[i] = self._last(i, bool(truncated[i] and not terminated[i]))
        return observation, rewards.astype(np.float32), dones, infos

    def _last(self, i: int, truncated: bool) -> dict[str, Any]:
        """Return the info of an episode's last step."""
        info = _of(self.infos["final_info"], i)
        info["terminal_observation"] = _row(self.infos["final_obs"], i)
        info["TimeLimit.truncated"] = truncated
        if self._monitor:
            info["episode"] = {
                "r": round(float(self._returns[i]), 6),
                "l": int(self._lengths[i]),
                "t": round(time.time() - self._began, 6),
            }
        self._returns[i], self._lengths[i] = 0.0, 0
        return info

    def close(self) -> None:
        """Stop the batch's threads."""
        self.envs.close()

    # ------------------------------------------------------------------------------------------------ single ones

    def env_method(
        self, method_name: str, *method_args: Any, indices: VecEnvIndices = None, **method_kwargs: Any
    ) -> list[Any]:
        """Return what a method says of each environment: ``action_masks`` or ``render``.

        Raises
        ------
        AttributeError
            If it is another method; the environments of a batch are no objects that could have it.
        """
        if method_name not in ("action_masks", "render"):
            raise AttributeError(f"a batch of twins has no method {method_name} for each of them.")
        answers = getattr(self.envs, method_name)(*method_args, **method_kwargs)
        if indices is None:
            return answers  # type: ignore[no-any-return]  # (N, A) bool: MaskablePPO stacks its rows
        return [answers[i] for i in self._get_indices(indices)]

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """Return an attribute of the batch, once for each environment."""
        return [getattr(self.envs, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Set an attribute of the batch.

        Raises
        ------
        OptionError
            If it is meant for some of the environments only.
        """
        if set(self._get_indices(indices)) != set(range(self.num_envs)):
            raise OptionError(f"{attr_name} belongs to all {self.num_envs} twins of a batch; set it without indices.")
        setattr(self.envs, attr_name, value)

    def env_is_wrapped(
        self, wrapper_class: type[gym.Wrapper[Any, Any, Any, Any]], indices: VecEnvIndices = None
    ) -> list[bool]:
        """Return whether the environments do what a wrapper does; of `Monitor` they may."""
        return [self._monitor and wrapper_class is Monitor] * len(list(self._get_indices(indices)))

    def get_images(self) -> Sequence[npt.NDArray[Any] | None]:
        """Return a picture of each environment, for ``render_mode="rgb_array"``."""
        pictures: Sequence[npt.NDArray[Any]] | None = self.envs.render()
        return [None] * self.num_envs if pictures is None else list(pictures)


def make_vec_env(
    env_id: str = "TwinGym/SelectJob-v0",
    n_envs: int = 1,
    seed: int | None = None,
    *,
    monitor: bool = True,
    copy: bool = False,
    **options: Any,
) -> TwinVecEnv:
    """Make a batch of twins for Stable-Baselines3; the counterpart of its function of the same name.

    Parameters
    ----------
    env_id : str
        One of the ids of `twin_gym.envs`.
    n_envs : int
        N.
    seed : int, optional
        Of the first environment at the first reset; the next ones get the next numbers.
    monitor : bool
        See `TwinVecEnv`.
    copy : bool
        Whether observations are copies; see `TwinVecEnv`.
    **options
        ``threads``, ``render_mode``, and all of `EnvOptions`.

    Raises
    ------
    OptionError
        If `env_id` has no batch of twin_gym's.
    """
    entry = gym.spec(env_id).vector_entry_point
    kind: Any = load_env_creator(entry) if isinstance(entry, str) else entry
    if not (isinstance(kind, type) and issubclass(kind, TwinVectorEnv)):
        raise OptionError(f"{env_id} is none of twin_gym's environments; use Stable-Baselines3's own make_vec_env.")
    envs: Any = gym.make_vec(env_id, n_envs, autoreset_mode=AutoresetMode.SAME_STEP, copy=copy, **options)
    venv = TwinVecEnv(envs, monitor=monitor)
    if seed is not None:
        venv.seed(seed)
    return venv


def _of(infos: Mapping[str, Any], i: int) -> dict[str, Any]:
    """Return what a dictionary of arrays says of environment i: its numbers, and no mask."""
    return {name: values[i].item() for name, values in infos.items() if values.ndim == 1}


def _row(observation: Any, i: int) -> Any:
    if isinstance(observation, dict):
        return {name: values[i] for name, values in observation.items()}
    return observation[i]


def _together(options: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return the options of all environments as the batch takes them.

    Raises
    ------
    OptionError
        If environments have options of different names.
    """
    names = {frozenset(one) for one in options}
    if len(names) > 1:
        raise OptionError("options must have the same names in all environments of a batch.")
    return {name: np.array([one[name] for one in options]) for name in options[0]} or None
