"""The batch under Stable-Baselines3: the episodes that its own vectors give; its wrappers and algorithms on top."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.callbacks import MaskableEvalCallback
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3 import DQN, PPO, SAC
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack, VecMonitor, VecNormalize

from twin_gym.envs import register_envs
from twin_gym.envs.core import TwinVectorEnv
from twin_gym.envs.sb3 import TwinVecEnv, make_vec_env
from twin_gym.errors import OptionError

IDS = register_envs()
SELECT = IDS[0]
SMALL = {
    "workload": {"loader": "synthetic", "model": "lublin", "jobs": 400, "capacity": 32, "load": 0.9, "seed": 5},
    "episode_jobs": 30,
    "window": 8,
}
TINY = {"policy": "MlpPolicy", "device": "cpu", "seed": 0}


def choose(env: TwinVecEnv, rng: np.random.Generator) -> np.ndarray:
    """Draw an action that makes sense in each environment."""
    if isinstance(env.action_space, gym.spaces.Discrete):
        masks = np.stack(env.env_method("action_masks"))
        return np.argmax(rng.random(masks.shape) * masks, axis=1)
    return rng.uniform(-1.0, 1.0, (env.num_envs, *env.action_space.shape)).astype(np.float32)


def assert_same(first: object, second: object) -> None:
    """Compare observations or infos, dictionaries by key."""
    if isinstance(first, dict):
        assert first.keys() == second.keys()
        for name in first:
            assert_same(first[name], second[name])
    else:
        np.testing.assert_array_equal(first, second)


def copied(observation: object) -> object:
    if isinstance(observation, dict):
        return {name: value.copy() for name, value in observation.items()}
    return observation.copy()


# ------------------------------------------------------------------------------------------------ the same episodes


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("layout", ["flat", "dict"])
def test_it_is_stable_baselines_own_vector_of_single_environments(name, layout):
    """Bit for bit: observations, rewards, ends, last observations, infos at ends, Monitor's fields, masks, seeds."""
    count, rng = 3, np.random.default_rng(1)
    ours = make_vec_env(name, count, seed=20, layout=layout, **SMALL)
    theirs = DummyVecEnv([lambda: Monitor(gym.make(name, layout=layout, **SMALL))] * count)
    theirs.seed(20)
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    assert_same(ours.reset(), theirs.reset())
    assert_same(ours.reset_infos[2], {k: v for k, v in theirs.reset_infos[2].items() if k != "action_mask"})
    ends = 0
    for _ in range(100):
        actions = choose(ours, rng)
        if isinstance(ours.action_space, gym.spaces.Discrete):
            assert_same(get_action_masks(ours), get_action_masks(theirs))
        observation, reward, done, infos = ours.step(actions)
        expected = theirs.step(actions)
        assert_same(observation, expected[0])
        for mine, other in ((reward, expected[1]), (done, expected[2])):
            assert mine.dtype == other.dtype
            assert_same(mine, other)
        for i in range(count):
            if not done[i]:
                assert infos[i] == {}
                continue
            ends += 1
            for info in (infos[i], expected[3][i]):
                assert info["episode"].pop("t") >= 0
            expected[3][i].pop("action_mask", None)
            assert_same(infos[i], expected[3][i])
            assert infos[i]["TimeLimit.truncated"] is False
    assert ends > 0


@pytest.mark.parametrize("layout", ["flat", "dict"])
def test_it_is_the_batch_and_keeps_an_observation_during_the_next_step(layout):
    ours = make_vec_env(SELECT, 5, seed=3, layout=layout, **SMALL)
    native = TwinVectorEnv(5, autoreset_mode="SameStep", layout=layout, **SMALL)
    rng = np.random.default_rng(0)
    observation, (expected, info) = ours.reset(), native.reset(seed=3)
    for _ in range(80):
        assert_same(observation, expected)
        before, memory = observation, copied(observation)
        actions = choose(ours, rng)
        observation, reward, done, infos = ours.step(actions)
        expected, gain, terminated, truncated, info = native.step(actions)
        assert_same(before, memory)  # also where the step has begun another episode
        assert_same(reward, gain.astype(np.float32))
        assert_same(done, terminated | truncated)
        assert_same(get_action_masks(ours), info["action_mask"].astype(bool))
        assert_same(ours.infos["reward/bounded_slowdown"], info["reward/bounded_slowdown"])
        for i in np.flatnonzero(done):
            last = info["final_obs"]
            last = {k: v[i] for k, v in last.items()} if layout == "dict" else last[i]
            assert_same(infos[i]["terminal_observation"], last)


def test_seeds_and_options_are_used_once():
    env = make_vec_env(SELECT, 4, seed=9, **SMALL)
    first, second = env.reset().copy(), env.reset().copy()
    assert (first != second).any()
    env.seed(10)
    np.testing.assert_array_equal(env.reset()[:3], first[1:])
    env.set_options({"first": 17})
    env.reset()
    assert set(env.get_attr("_setups")[0]["first"].tolist()) == {17}
    env.set_options([{"first": 17 + i} for i in range(4)])
    env.reset()
    assert env.get_attr("_setups")[0]["first"].tolist() == [17, 18, 19, 20]
    env.reset()
    assert env.get_attr("_setups")[0]["first"].tolist() != [17, 18, 19, 20]
    env.set_options([{"first": 17}, {}, {}, {}])
    with pytest.raises(OptionError, match="same names"):
        env.reset()


# ------------------------------------------------------------------------------------------------ the interface


def test_attributes_methods_and_indices():
    env = make_vec_env(SELECT, 3, render_mode="rgb_array", **SMALL)
    env.reset()
    assert env.has_attr("action_masks")
    assert not env.has_attr("no_such_attribute")
    assert is_masking_supported(env)
    assert env.get_attr("render_mode", indices=[0, 2]) == ["rgb_array"] * 2
    masks = env.env_method("action_masks")
    assert masks.shape == (3, 9)
    assert masks.dtype == bool
    np.testing.assert_array_equal(env.env_method("action_masks", indices=1)[0], masks[1])
    with pytest.raises(AttributeError, match="no method reset"):
        env.env_method("reset")
    env.set_attr("note", 5)
    assert env.envs.note == 5
    with pytest.raises(OptionError, match="all 3 twins"):
        env.set_attr("note", 6, indices=[1])
    assert env.env_is_wrapped(Monitor) == [True] * 3
    assert env.env_is_wrapped(gym.wrappers.TimeLimit, indices=0) == [False]
    assert env.render().shape[2] == 3
    assert len(env.get_images()) == 3
    assert env.spec.id == SELECT
    env.close()


def test_what_cannot_work_is_said_at_once():
    with pytest.raises(OptionError, match="SameStep"):
        TwinVecEnv(TwinVectorEnv(2, **SMALL))
    with pytest.raises(OptionError, match="none of twin_gym's"):
        make_vec_env("CartPole-v1", 2)


@pytest.mark.parametrize("name", IDS)
def test_stable_baselines_checker_is_content_with_the_single_environments(name):
    check_env(gym.make(name, **SMALL).unwrapped)


# ------------------------------------------------------------------------------------------------ wrappers


def test_normalizing_monitoring_and_stacking_work_on_top(tmp_path):
    plain = make_vec_env(SELECT, 4, seed=1, **SMALL)
    monitored = VecMonitor(
        make_vec_env(SELECT, 4, seed=1, monitor=False, **SMALL),
        str(tmp_path / "log"),
        info_keywords=("objective/bounded_slowdown",),
    )
    normalized = VecNormalize(make_vec_env(SELECT, 4, seed=1, **SMALL), gamma=1.0)
    stacked = VecFrameStack(make_vec_env(SELECT, 4, seed=1, **SMALL), n_stack=2)
    stack = [plain, monitored, normalized, stacked]
    observations = [env.reset() for env in stack]
    rng, ends = np.random.default_rng(0), 0
    for _ in range(80):
        actions = choose(plain, rng)
        before = observations[0]
        steps = [env.step(actions) for env in stack]
        observations = [step[0] for step in steps]
        raw, reward, done, infos = steps[0]
        width = raw.shape[1]
        np.testing.assert_array_equal(observations[1], raw)
        np.testing.assert_array_equal(normalized.get_original_obs(), raw)
        np.testing.assert_array_equal(normalized.get_original_reward(), reward)
        np.testing.assert_array_equal(observations[3][:, width:], raw)
        kept = np.where(done[:, np.newaxis], 0.0, before)
        np.testing.assert_array_equal(observations[3][:, :width], kept)
        for i in np.flatnonzero(done):
            ends += 1
            episode = steps[1][3][i]["episode"]
            assert episode["r"] == pytest.approx(infos[i]["episode"]["r"], rel=1e-4)
            assert episode["l"] == infos[i]["episode"]["l"]
            np.testing.assert_allclose(
                steps[2][3][i]["terminal_observation"],
                normalized.normalize_obs(infos[i]["terminal_observation"]),
                rtol=1e-6,
            )
    assert ends >= 4
    np.testing.assert_array_equal(get_action_masks(normalized), get_action_masks(plain))
    monitored.close()
    assert len((tmp_path / "log.monitor.csv").read_text().splitlines()) == ends + 2


# ------------------------------------------------------------------------------------------------ algorithms


def test_maskable_ppo_trains_evaluates_and_never_picks_what_is_masked(tmp_path):
    env = make_vec_env(SELECT, 4, seed=0, **SMALL)
    check = make_vec_env(SELECT, 2, seed=5, split="validation", split_at=(0.5, 0.9), **SMALL)
    model = MaskablePPO(env=env, n_steps=64, batch_size=64, n_epochs=1, **TINY)
    callback = MaskableEvalCallback(check, eval_freq=32, n_eval_episodes=2, verbose=0, log_path=str(tmp_path))
    model.learn(256, callback=callback)
    assert np.isfinite(callback.best_mean_reward)
    assert (env.infos["invalid"] == 0).all()
    assert len(model.ep_info_buffer) > 0
    returns, lengths = evaluate_policy(model, check, n_eval_episodes=4, return_episode_rewards=True)
    assert len(returns) == 4
    assert min(lengths) >= 30
    model.save(tmp_path / "model")
    again = MaskablePPO.load(tmp_path / "model", env=env, device="cpu")
    observation, masks = env.reset(), get_action_masks(env)
    np.testing.assert_array_equal(
        again.predict(observation, action_masks=masks, deterministic=True)[0],
        model.predict(observation, action_masks=masks, deterministic=True)[0],
    )


@pytest.mark.parametrize(("layout", "policy"), [("flat", "MlpPolicy"), ("dict", "MultiInputPolicy")])
def test_ppo_sees_what_the_batch_gave(layout, policy):
    """The rollout that PPO has stored is the one that the same actions give without it."""
    env = make_vec_env(SELECT, 3, seed=0, layout=layout, **SMALL)
    model = PPO(env=env, n_steps=64, batch_size=64, n_epochs=1, **{**TINY, "policy": policy})
    model.learn(3 * 64)
    kept = model.rollout_buffer
    again = make_vec_env(SELECT, 3, layout=layout, **SMALL)
    again.seed(0)  # as PPO's own seed has asked for
    observation = again.reset()

    def rows(stored: np.ndarray) -> np.ndarray:
        """Bring (3 * 64, ...) back to (64, 3, ...)."""
        return stored.reshape(3, 64, *stored.shape[1:]).swapaxes(0, 1)

    actions = rows(kept.actions)[..., 0].astype(int)
    for step in range(64):
        seen = kept.observations
        seen = {k: rows(v)[step] for k, v in seen.items()} if layout == "dict" else rows(seen)[step]
        assert_same(seen, observation)
        observation, *_ = again.step(actions[step])


def test_a_replay_buffer_holds_true_transitions():
    env = make_vec_env(SELECT, 2, seed=0, **SMALL)
    model = DQN(env=env, learning_starts=10, train_freq=10, batch_size=8, buffer_size=500, **TINY)
    model.learn(400)
    kept = model.replay_buffer
    size = kept.pos
    follows = kept.dones[: size - 1] == 0
    np.testing.assert_array_equal(kept.next_observations[: size - 1][follows], kept.observations[1:size][follows])
    assert (kept.dones[:size] == 1).any()
    ended = kept.dones[: size - 1] == 1
    assert (kept.next_observations[: size - 1][ended] != kept.observations[1:size][ended]).any()


def test_continuous_actions_train_too():
    env = make_vec_env("TwinGym/PriorityWeights-v0", 2, **SMALL)
    model = SAC(env=env, learning_starts=20, train_freq=20, gradient_steps=1, batch_size=8, buffer_size=500, **TINY)
    model.learn(200)
    assert len(model.ep_info_buffer) > 0
    kept = model.replay_buffer
    assert (np.abs(kept.actions[: kept.pos]) <= 1).all()
    assert (kept.rewards[: kept.pos] < 0).any()


class Random:
    """A model that knows nothing but the masks."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)

    def predict(self, observation, state=None, action_masks=None, **_):
        return np.argmax(self.rng.random(action_masks.shape) * action_masks, axis=1), state


@pytest.mark.slow
def test_a_little_training_is_better_than_chance_on_held_out_episodes():
    log = {"loader": "synthetic", "model": "lublin", "jobs": 2000, "capacity": 32, "load": 0.9, "seed": 5}
    options = {"workload": log, "episode_jobs": 30, "window": 8, "pick": "reserve", "backfill": "easy"}
    train = VecNormalize(make_vec_env(SELECT, 16, split="train", **options), norm_obs=False, gamma=1.0)
    settings = {"n_steps": 64, "batch_size": 256, "n_epochs": 6, "gamma": 1.0, "learning_rate": 1e-3}
    model = MaskablePPO(env=train, **settings, **{**TINY, "seed": 1})
    model.learn(12_288)

    def slowdown(agent) -> float:
        held_out = make_vec_env(SELECT, 16, seed=100, split="validation", **options)
        return -np.mean(evaluate_policy(agent, held_out, 160, return_episode_rewards=True)[0])

    assert slowdown(model) < 0.9 * slowdown(Random())
