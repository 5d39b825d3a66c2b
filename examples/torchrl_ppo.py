"""TorchRL: PPO with masked actions.

pip install torchrl
python examples/torchrl_ppo.py --steps 50000
"""

from __future__ import annotations

import argparse
import sys

import gymnasium as gym
import torch

import twin_gym.envs  # noqa: F401  registers the ids
from twin_gym.envs.masks import MaskedObservation

try:
    from tensordict.nn import TensorDictModule
    from torchrl.collectors import Collector
    from torchrl.envs import GymWrapper, InitTracker, RewardSum, TransformedEnv
    from torchrl.envs.transforms import ActionMask, Compose, DTypeCastTransform
    from torchrl.modules import MLP, MaskedCategorical, ProbabilisticActor, ValueOperator
    from torchrl.objectives import ClipPPOLoss
    from torchrl.objectives.value import GAE
except ModuleNotFoundError as missing:
    sys.exit(f"this example needs TorchRL ({missing.name} is absent); install it with: pip install torchrl")


def main(arguments: list[str] | None = None) -> float:
    """Train; return the mean bounded slowdown of the last batch's episodes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=50_000)
    parser.add_argument("--batch", type=int, default=2000, help="steps between two updates")
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)  # networks of this size are slower with more
    torch.manual_seed(0)

    twin = gym.make("TwinGym/SelectJob-v0", pick="reserve", backfill="easy", window=32, split="train")
    env = GymWrapper(MaskedObservation(twin), categorical_action_encoding=True)
    boolean = DTypeCastTransform(torch.int8, torch.bool, in_keys=["action_mask"])
    env = TransformedEnv(env, Compose(InitTracker(), boolean, ActionMask(), RewardSum()))
    env.set_seed(0)
    actions = int(twin.action_space.n)

    actor = ProbabilisticActor(
        TensorDictModule(MLP(out_features=actions, num_cells=[64, 64]), ["observations"], ["logits"]),
        in_keys={"logits": "logits", "mask": "action_mask"},
        distribution_class=MaskedCategorical,
        return_log_prob=True,
        spec=env.action_spec,
    )
    critic = ValueOperator(MLP(out_features=1, num_cells=[64, 64]), ["observations"])
    first = env.reset()
    actor(first), critic(first)  # the first call makes the weights

    advantage = GAE(gamma=1.0, lmbda=0.95, value_network=critic, average_gae=True)
    loss = ClipPPOLoss(actor, critic, entropy_coeff=0.01, normalize_advantage=True)
    optimizer = torch.optim.Adam(loss.parameters(), 1e-3)
    slowdown = float("nan")
    collector = Collector(env, actor, frames_per_batch=given.batch, total_frames=given.steps)
    for batch in collector:
        ends = batch["next", "done"].squeeze(-1)
        if ends.any():
            slowdown = -float(batch["next", "episode_reward"].squeeze(-1)[ends].mean())
            print(f"mean bounded slowdown of {int(ends.sum())} episodes: {slowdown:.1f}")
        batch["next", "reward"] = batch["next", "reward"] / 10.0  # or the critic has to learn large numbers
        for _ in range(4):
            advantage(batch)
            for rows in torch.randperm(len(batch)).chunk(4):
                losses = loss(batch[rows])
                optimizer.zero_grad()
                (losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]).backward()
                torch.nn.utils.clip_grad_norm_(loss.parameters(), 0.5)
                optimizer.step()
    collector.shutdown()
    return slowdown


if __name__ == "__main__":
    main()
