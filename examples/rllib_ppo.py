"""RLlib: PPO with masks in the observation.

pip install 'ray[rllib]'
python examples/rllib_ppo.py --iterations 10
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

os.environ.setdefault("RAY_AUTH_MODE", "disabled")  # or Ray writes a token into the home folder

try:
    import ray
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.core.rl_module.rl_module import RLModuleSpec
    from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
    from ray.tune.registry import register_env
except ModuleNotFoundError as missing:
    sys.exit(f"this example needs RLlib ({missing.name} is absent); install it with: pip install 'ray[rllib]'")


def make_env(options: dict[str, Any]) -> Any:
    """Make an environment; Ray calls this in its own processes."""
    import gymnasium as gym

    from twin_gym.envs.masks import MaskedObservation  # this registers the ids, too

    return MaskedObservation(gym.make("TwinGym/SelectJob-v0", **options))


def main(arguments: list[str] | None = None) -> float:
    """Train; return the mean bounded slowdown of the last iteration's episodes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--batch", type=int, default=4000, help="steps of an iteration")
    parser.add_argument("--envs", type=int, default=8)
    given = parser.parse_args(arguments)

    register_env("twin", make_env)
    options = {"pick": "reserve", "backfill": "easy", "window": 32, "split": "train"}
    config = (
        PPOConfig()
        .environment("twin", env_config=options, disable_env_checking=True)
        .env_runners(num_env_runners=0, num_envs_per_env_runner=given.envs)
        .rl_module(rl_module_spec=RLModuleSpec(module_class=ActionMaskingTorchRLModule))
        .training(train_batch_size_per_learner=given.batch, minibatch_size=500, num_epochs=4, lr=1e-3, gamma=1.0)
        .debugging(seed=0, log_level="ERROR")
    )
    ray.init(num_cpus=1, include_dashboard=False, configure_logging=False, log_to_driver=False)
    try:
        algorithm = config.build_algo()
        slowdown = float("nan")
        for iteration in range(given.iterations):
            result = algorithm.train()
            slowdown = -float(result["env_runners"].get("episode_return_mean", float("nan")))
            print(f"iteration {iteration}: mean bounded slowdown {slowdown:.1f}")
        algorithm.stop()
    finally:
        ray.shutdown()
    return slowdown


if __name__ == "__main__":
    main()
