"""Decisions per second of the environments under a random agent that picks among the legal actions.

python benchmarks/bench_envs.py
"""

from __future__ import annotations

import time

import gymnasium as gym
import numpy as np

import twin_gym.envs
from twin_gym.envs.core import TwinVectorEnv

STEPS = 300
CASES = {
    "SelectJob, 128 jobs visible": {},
    "SelectJob, 32 jobs visible": {"window": 32},
    "SelectJob, RLScheduler's 128x8": {"layout": "rlscheduler"},
    "SelectJob, pick=mask": {"pick": "mask"},
    "DispatchPolicy": {"task": "dispatch"},
    "Inspect": {"task": "inspect"},
    "Backfill": {"task": "backfill"},
}


def rate(environments: int, **options: object) -> float:
    """Return decisions per second of processor time, drawing actions left out."""
    env = TwinVectorEnv(environments, autoreset_mode="SameStep", copy=False, **options)
    _, info = env.reset(seed=0)
    rng, spent = np.random.default_rng(0), 0.0
    for step in range(STEPS):
        mask = info["action_mask"]
        actions = np.argmax(rng.random(mask.shape, dtype=np.float32) * mask, axis=1)
        begin = time.process_time()
        _, _, _, _, info = env.step(actions)
        if step >= STEPS // 10:  # the first ones compile and warm up
            spent += time.process_time() - begin
    env.close()
    return environments * (STEPS - STEPS // 10) / spent


def main() -> None:
    """Print a table."""
    print("| decisions/s on one processor | 1 environment | 16 | 256 |\n|---|---|---|---|")
    for name, options in CASES.items():
        rates = [rate(count, **options) for count in (1, 16, 256)]
        print(f"| {name} | " + " | ".join(f"{value:,.0f}" for value in rates) + " |")
    env = gym.make(twin_gym.envs.register_envs()[0], window=32)
    env.reset(seed=0)
    begin = time.process_time()
    for _ in range(200):
        env.reset()
    print(f"\nreset of one environment: {1e6 * (time.process_time() - begin) / 200:.0f} microseconds")


if __name__ == "__main__":
    main()
