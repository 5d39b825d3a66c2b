"""Stable-Baselines3 with masks: MaskablePPO picks the jobs that start, EASY backfills behind them.

python examples/sb3_maskable_ppo.py --steps 300000
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import VecNormalize

from twin_gym.envs.sb3 import make_vec_env

ENV = {"env_id": "TwinGym/SelectJob-v0", "pick": "reserve", "backfill": "easy", "window": 32}


class FirstComeFirstServed:
    """What the model has to beat: it always picks the first job of the queue."""

    def predict(self, observation: np.ndarray, state: Any = None, **_: Any) -> tuple[np.ndarray, Any]:
        """Return actions as a model does."""
        return np.zeros(len(observation), np.int64), state


def slowdown(agent: Any, episodes: int, envs: int) -> float:
    """Return the mean bounded slowdown on the part of the log behind the one that is trained on."""
    held_out = make_vec_env(n_envs=envs, seed=1, split="validation", **ENV)
    returns, _ = evaluate_policy(agent, held_out, episodes, return_episode_rewards=True)
    held_out.close()
    return -float(np.mean(returns))


def main(arguments: list[str] | None = None) -> float:
    """Train; return the mean bounded slowdown on episodes that were not trained on."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=300_000)
    parser.add_argument("--envs", type=int, default=64)
    parser.add_argument("--episodes", type=int, default=128, help="for the evaluation")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)  # networks of this size are slower with more

    # observations lie in [0, 1] as they are; rewards have heavy tails
    train = VecNormalize(make_vec_env(n_envs=given.envs, split="train", **ENV), norm_obs=False, gamma=1.0)
    options = {"n_steps": 128, "batch_size": 1024, "n_epochs": 4, "gamma": 1.0, "learning_rate": 1e-3}
    model = MaskablePPO("MlpPolicy", train, seed=given.seed, device="cpu", **options)
    model.learn(given.steps)
    train.close()

    learned = slowdown(model, given.episodes, given.envs)
    first = slowdown(FirstComeFirstServed(), given.episodes, given.envs)
    print(f"mean bounded slowdown, {given.episodes} episodes: {learned:.1f}; first come, first served: {first:.1f}")
    return learned


if __name__ == "__main__":
    main()
