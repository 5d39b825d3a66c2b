"""PufferLib: the twins write observations, rewards and ends straight into its buffers.

pip install --no-deps pufferlib==3.0.0
python examples/pufferlib_rollout.py --steps 200000

PufferLib 3.0.0 asks for NumPy 1 and a Gymnasium of then, so pip refuses to install it beside twin_gym unless told
``--no-deps``; its native environments run with today's versions.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np

from twin_gym.envs.core import TwinVectorEnv

try:
    import pufferlib
    import pufferlib.vector
except ModuleNotFoundError as missing:
    sys.exit(
        f"this example needs PufferLib ({missing.name} is absent); install it with: pip install --no-deps pufferlib"
    )


class PufferTwins(pufferlib.PufferEnv):
    """A batch of twins as a native environment of PufferLib: each twin is one of its agents."""

    def __init__(self, twins: int = 64, buf: Any = None, seed: int = 0, **options: Any) -> None:
        probe = TwinVectorEnv(1, **options)
        self.single_observation_space, self.single_action_space = (
            probe.single_observation_space,
            probe.single_action_space,
        )
        self.num_agents = twins
        super().__init__(buf)
        self.twins = TwinVectorEnv(
            twins, world=probe.world, autoreset_mode="SameStep", buf=self.observations, **options
        )

    def reset(self, seed: int | None = None) -> tuple[np.ndarray, list[dict[str, Any]]]:
        """Begin episodes."""
        self.twins.reset(seed=seed)
        return self.observations, []

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Step all twins; those that end say what their episode came to."""
        _, self.rewards[:], self.terminals[:], self.truncations[:], info = self.twins.step(actions)
        ended = np.flatnonzero(self.terminals)
        infos = [{"slowdown": float(info["final_info"]["objective/bounded_slowdown"][i])} for i in ended]
        return self.observations, self.rewards, self.terminals, self.truncations, infos

    def action_masks(self) -> np.ndarray:
        """Return which actions make sense, for the policy."""
        return self.twins.action_masks()

    def close(self) -> None:
        """Stop."""
        self.twins.close()


def main(arguments: list[str] | None = None) -> float:
    """Play a random policy that keeps to the masks; return the mean bounded slowdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--envs", type=int, default=64)
    given = parser.parse_args(arguments)

    options = {"twins": given.envs, "pick": "reserve", "backfill": "easy", "window": 32, "split": "train"}
    envs = pufferlib.vector.make(PufferTwins, env_kwargs=options, backend=pufferlib.PufferEnv)
    envs.async_reset(seed=0)
    rng, slowdowns, begin = np.random.default_rng(0), [], time.perf_counter()
    for _ in range(given.steps // given.envs):
        *_, infos, _, _ = envs.recv()
        slowdowns += [info["slowdown"] for info in infos]
        masks = envs.action_masks()
        envs.send(np.argmax(rng.random(masks.shape, dtype=np.float32) * masks, axis=1))
    print(f"{given.steps / (time.perf_counter() - begin):,.0f} steps/s")
    print(f"mean bounded slowdown of {len(slowdowns)} episodes of a random policy: {np.mean(slowdowns):.1f}")
    envs.close()
    return float(np.mean(slowdowns))


if __name__ == "__main__":
    main()
