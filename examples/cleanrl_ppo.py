"""PPO in one file, in the manner of CleanRL, on Gymnasium's own batch with masks.

python examples/cleanrl_ppo.py --steps 200000
"""

from __future__ import annotations

import argparse
from collections import deque

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import NormalizeReward, RecordEpisodeStatistics
from torch import nn
from torch.distributions import Categorical

import twin_gym.envs  # noqa: F401  registers the ids

GAMMA, LAMBDA, CLIP, ENTROPY, EPOCHS, MINIBATCHES, LEARNING_RATE = 1.0, 0.95, 0.2, 0.01, 4, 4, 1e-3


def layer(inputs: int, outputs: int, scale: float = 2**0.5) -> nn.Linear:
    """Make a layer with orthogonal weights."""
    linear = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(linear.weight, scale)
    nn.init.zeros_(linear.bias)
    return linear


class Agent(nn.Module):
    """An actor and a critic."""

    def __init__(self, features: int, actions: int) -> None:
        super().__init__()
        self.actor = nn.Sequential(layer(features, 64), nn.Tanh(), layer(64, 64), nn.Tanh(), layer(64, actions, 0.01))
        self.critic = nn.Sequential(layer(features, 64), nn.Tanh(), layer(64, 64), nn.Tanh(), layer(64, 1, 1.0))

    def policy(self, observation: torch.Tensor, mask: torch.Tensor) -> Categorical:
        """Return the distribution over the actions that make sense."""
        return Categorical(logits=self.actor(observation).masked_fill(~mask, -1e8))

    def value(self, observation: torch.Tensor) -> torch.Tensor:
        """Return what is expected to come."""
        return self.critic(observation).squeeze(-1)


def main(arguments: list[str] | None = None) -> float:
    """Train; return the mean bounded slowdown of the last episodes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--envs", type=int, default=64)
    parser.add_argument("--rollout", type=int, default=64, help="steps of each environment between two updates")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)  # networks of this size are slower with more
    torch.manual_seed(given.seed)

    envs = gym.make_vec(
        "TwinGym/SelectJob-v0",
        num_envs=given.envs,
        autoreset_mode=AutoresetMode.SAME_STEP,
        pick="reserve",
        backfill="easy",
        window=32,
        split="train",
    )
    envs = NormalizeReward(RecordEpisodeStatistics(envs), gamma=0.99)
    features, actions = envs.single_observation_space.shape[0], int(envs.single_action_space.n)
    agent = Agent(features, actions)
    optimizer = torch.optim.Adam(agent.parameters(), LEARNING_RATE, eps=1e-5)

    shape = (given.rollout, given.envs)
    observations, masks = torch.zeros(*shape, features), torch.zeros(*shape, actions, dtype=torch.bool)
    chosen, logs = torch.zeros(shape, dtype=torch.long), torch.zeros(shape)
    rewards, ends, values = torch.zeros(shape), torch.zeros(shape), torch.zeros(shape)
    returns: deque[float] = deque(maxlen=100)

    observation, info = envs.reset(seed=given.seed)
    for update in range(given.steps // (given.rollout * given.envs)):
        for step in range(given.rollout):
            observations[step] = torch.from_numpy(observation)
            masks[step] = torch.from_numpy(info["action_mask"].astype(np.bool_))
            with torch.no_grad():
                policy = agent.policy(observations[step], masks[step])
                chosen[step] = policy.sample()
                logs[step] = policy.log_prob(chosen[step])
                values[step] = agent.value(observations[step])
            observation, reward, terminated, _, info = envs.step(chosen[step].numpy())
            rewards[step], ends[step] = torch.from_numpy(reward), torch.from_numpy(terminated)
            if "episode" in info:
                returns.extend(info["episode"]["r"][info["_episode"]])

        # advantages: episodes are never truncated, so nothing follows an end
        advantages, last = torch.zeros(shape), torch.zeros(given.envs)
        with torch.no_grad():
            following = agent.value(torch.from_numpy(observation))
        for step in reversed(range(given.rollout)):
            goes_on = 1.0 - ends[step]
            error = rewards[step] + GAMMA * following * goes_on - values[step]
            advantages[step] = last = error + GAMMA * LAMBDA * goes_on * last
            following = values[step]
        targets = (advantages + values).flatten()

        flat = [one.flatten(0, 1) for one in (observations, masks, chosen, logs, advantages)]
        for _ in range(EPOCHS):
            for part in torch.randperm(len(targets)).chunk(MINIBATCHES):
                seen, mask, action, log, advantage = (one[part] for one in flat)
                policy = agent.policy(seen, mask)
                ratio = (policy.log_prob(action) - log).exp()
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                gain = torch.min(advantage * ratio, advantage * ratio.clamp(1 - CLIP, 1 + CLIP)).mean()
                error = 0.5 * (agent.value(seen) - targets[part]).pow(2).mean()
                loss = 0.5 * error - gain - ENTROPY * policy.entropy().mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
        if returns and update % 10 == 0:
            print(f"update {update}: mean bounded slowdown of the last {len(returns)} episodes {-np.mean(returns):.1f}")
    envs.close()
    return -float(np.mean(returns))


if __name__ == "__main__":
    main()
