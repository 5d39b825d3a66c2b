"""Memory of a process that steps environments at random for a long time; it must not grow.

python benchmarks/soak_envs.py [MINUTES]
"""

from __future__ import annotations

import resource
import sys
import time

import gymnasium as gym
import numpy as np

from twin_gym.envs import register_envs


def resident() -> int:
    """Return the memory of this process that is in use now, KiB."""
    with open("/proc/self/statm", encoding="ascii") as counters:
        return int(counters.read().split()[1]) * resource.getpagesize() // 1024


def main() -> None:
    """Step a batch of every id in turn; print memory now and then."""
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 120.0
    batches = [gym.make_vec(name, num_envs=16, estimate_noise=0.3) for name in register_envs()]
    infos = [env.reset(seed=0)[1] for env in batches]
    rng = np.random.default_rng(0)
    begin = told = time.monotonic()
    steps = 0
    print("| minutes | steps | MiB |\n|---|---|---|")
    while time.monotonic() - begin < 60 * minutes:
        for k, env in enumerate(batches):
            mask = infos[k].get("action_mask")
            if mask is None:
                actions = rng.uniform(-1, 1, env.action_space.shape).astype(np.float32)
            else:
                actions = np.argmax(rng.random(mask.shape) * mask, axis=1)
            infos[k] = env.step(actions)[-1]
            steps += env.num_envs
        if time.monotonic() - told > 60 * minutes / 12:
            told = time.monotonic()
            print(f"| {(told - begin) / 60:.1f} | {steps:,} | {resident() / 1024:.1f} |", flush=True)


if __name__ == "__main__":
    main()
