"""Masks inside the observation: the same as in info, in every autoreset mode, for one environment and for a batch."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

from twin_gym.envs import register_envs
from twin_gym.envs.masks import MaskedObservation, MaskedVectorObservation
from twin_gym.errors import OptionError

SMALL = {
    "workload": {"loader": "synthetic", "model": "lublin", "jobs": 400, "capacity": 32, "load": 0.9, "seed": 5},
    "episode_jobs": 30,
    "window": 8,
}
MASKED = [name for name in register_envs() if "Weights" not in name]


@pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version:UserWarning")  # it is meant to be
@pytest.mark.parametrize("name", MASKED)
@pytest.mark.parametrize("layout", ["flat", "dict"])
def test_one_environment_keeps_gymnasiums_contract(name, layout):
    env = MaskedObservation(gym.make(name, layout=layout, **SMALL))
    check_env(env, skip_render_check=True)
    observation, info = env.reset(seed=0)
    assert observation in env.observation_space
    plain, _ = env.unwrapped.reset(seed=0)
    np.testing.assert_equal(observation, {"observations": plain, "action_mask": info["action_mask"]})
    again = gym.make(env.spec)  # the wrapper is a part of the specification
    np.testing.assert_equal(again.reset(seed=0)[0], observation)


@pytest.mark.parametrize("name", MASKED)
@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("layout", ["flat", "dict"])
def test_a_batch_has_the_masks_of_its_infos(name, mode, layout):
    env = MaskedVectorObservation(gym.make_vec(name, num_envs=3, autoreset_mode=mode, layout=layout, **SMALL))
    plain = gym.make_vec(name, num_envs=3, autoreset_mode=mode, layout=layout, **SMALL)
    rng = np.random.default_rng(0)
    (observation, info), (expected, _) = env.reset(seed=0), plain.reset(seed=0)
    ends = 0
    for _ in range(100):
        assert observation in env.observation_space
        np.testing.assert_equal(observation, {"observations": expected, "action_mask": info["action_mask"]})
        assert observation["action_mask"].any(axis=1).all()
        actions = np.argmax(rng.random(observation["action_mask"].shape) * observation["action_mask"], axis=1)
        observation, _, terminated, _, info = env.step(actions)
        expected, _, _, _, native = plain.step(actions)
        ends += terminated.sum()
        if "final_obs" in info:
            np.testing.assert_equal(info["final_obs"]["observations"], native["final_obs"])
            np.testing.assert_array_equal(info["final_obs"]["action_mask"], native["final_info"]["action_mask"])
        if mode == AutoresetMode.DISABLED and terminated.any():
            options = {"reset_mask": terminated}
            (observation, info), (expected, _) = env.reset(options=options), plain.reset(options=options)
    assert ends > 0


def test_continuous_actions_have_no_mask():
    with pytest.raises(OptionError, match="have no mask"):
        MaskedObservation(gym.make("TwinGym/PriorityWeights-v0", **SMALL))
    with pytest.raises(OptionError, match="have no mask"):
        MaskedVectorObservation(gym.make_vec("TwinGym/PriorityWeights-v0", num_envs=2, **SMALL))
