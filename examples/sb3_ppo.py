"""Stable-Baselines3: PPO chooses every hour by which policy the queue is scheduled.

python examples/sb3_ppo.py --steps 200000
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import VecNormalize

from twin_gym.envs.sb3 import make_vec_env

ENV = {"env_id": "TwinGym/DispatchPolicy-v0", "interval": 3600, "window": 16}


def main(arguments: list[str] | None = None) -> float:
    """Train on the first part of the log; return the mean bounded slowdown on the part behind it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--envs", type=int, default=32)
    parser.add_argument("--episodes", type=int, default=100, help="for the evaluation")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)  # networks of this size are slower with more

    # observations lie in [0, 1]; rewards have heavy tails
    train = VecNormalize(make_vec_env(n_envs=given.envs, split="train", **ENV), norm_obs=False, gamma=1.0)
    model = PPO("MlpPolicy", train, n_steps=64, batch_size=512, n_epochs=4, gamma=1.0, seed=given.seed, device="cpu")
    model.learn(given.steps)
    train.close()

    held_out = make_vec_env(n_envs=given.envs, seed=1, split="validation", **ENV)
    returns, _ = evaluate_policy(model, held_out, given.episodes, return_episode_rewards=True)
    held_out.close()
    slowdown = -float(np.mean(returns))
    print(f"mean bounded slowdown of {given.episodes} episodes that were not trained on: {slowdown:.1f}")
    return slowdown


if __name__ == "__main__":
    main()
