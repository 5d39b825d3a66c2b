"""Decisions per second of the environments under a random agent that picks among the legal actions.

python benchmarks/bench_envs.py

Each number is the best of three, for whatever else a machine does only makes it slower.
"""

from __future__ import annotations

import time
from typing import Any

import gymnasium as gym
import numpy as np

from twin_gym.envs.core import TwinVectorEnv

STEPS = 300
MARKET = {"price": "daily", "carbon": "daily", "features": ["jobs", "state", "releases", "facility", "market"]}
CASES: dict[str, dict[str, Any]] = {
    "SelectJob, RLScheduler's 128x8": {"layout": "rlscheduler"},
    "SelectJob, 128 jobs visible": {},
    "SelectJob, 32 jobs visible": {"window": 32},
    "SelectJob, pick=mask": {"pick": "mask"},
    "SelectJob, all groups of features but those of a plant": {**MARKET, "features": [*MARKET["features"], "details"]},
    "DispatchPolicy": {"task": "dispatch"},
    "Inspect": {"task": "inspect"},
    "Backfill": {"task": "backfill"},
    "PriorityWeights, each pass": {"task": "weights"},
    # the plant takes a step each 15 s, whether anything is decided or not
    "SelectJob, Frontier with its plant, 107 jobs a day": {"system": "frontier", "cooling": True, **MARKET},
    "SelectJob, Frontier with its plant, 1,070 jobs a day": {
        "system": "frontier",
        "cooling": True,
        "arrival_scale": 10.0,
        **MARKET,
    },
}


def rate(environments: int, *, threads: int = 1, wall: bool = False, **options: Any) -> float:
    """Return decisions per second of processor time (or of the clock on the wall), drawing actions left out."""
    env = TwinVectorEnv(environments, threads=threads, autoreset_mode="SameStep", copy=False, **options)
    _, info = env.reset(seed=0)
    clock = time.perf_counter if wall else time.process_time
    rng, spent = np.random.default_rng(0), 0.0
    for step in range(STEPS):
        if "action_mask" in info:
            mask = info["action_mask"]
            actions = np.argmax(rng.random(mask.shape, dtype=np.float32) * mask, axis=1)
        else:
            actions = rng.uniform(-1, 1, env.action_space.shape)
        begin = clock()
        _, _, _, _, info = env.step(actions)
        if step >= STEPS // 10:  # the first ones compile and warm up
            spent += clock() - begin
    env.close()
    return environments * (STEPS - STEPS // 10) / spent


def best(environments: int, **options: Any) -> float:
    """Return the best of three rates."""
    return max(rate(environments, **options) for _ in range(3))


def single(**options: Any) -> tuple[float, float]:
    """Return steps per second and microseconds a reset of an environment as `gymnasium.make` gives it."""
    env = gym.make("TwinGym/SelectJob-v0", **options)
    _, info = env.reset(seed=0)
    rng, spent = np.random.default_rng(0), 0.0
    for step in range(12_000):
        mask = info["action_mask"]
        action = int(np.argmax(rng.random(mask.shape) * mask))
        begin = time.process_time()
        _, _, over, _, info = env.step(action)
        spent += time.process_time() - begin if step >= 2000 else 0.0
        if over:
            _, info = env.reset()
    begin = time.process_time()
    for _ in range(1000):
        env.unwrapped.reset()
    return 10_000 / spent, 1e3 * (time.process_time() - begin)


def waiting(length: int) -> float:
    """Return microseconds a decision with about so many jobs in the queue, 128 of them visible."""
    log = {"loader": "synthetic", "model": "lublin", "jobs": 3 * length + 600, "capacity": 256, "load": 0.8, "seed": 0}
    # all come at once, and the agent only ever picks one of the first: the queue shrinks by one with each decision
    env = TwinVectorEnv(
        32, autoreset_mode="SameStep", copy=False, workload=log, episode_jobs=length + 256, arrival_scale=100.0
    )
    _, info = env.reset(seed=0)
    while (env._state.sim["end"] - env._state.sim["first"]).mean() < 0.9 * length:
        before = env._state.sim["arrived"].mean()
        env.step(np.full(32, 128 if info["action_mask"][:, 128].all() else 0))
        if env._state.sim["arrived"].mean() == before:
            break
    begin = time.process_time()
    for _ in range(100):
        env.step(np.zeros(32, np.int64))
    return 1e6 * (time.process_time() - begin) / 3200


def main() -> None:
    """Print tables."""
    print("| decisions/s on one processor | 1 environment | 16 | 256 |\n|---|---|---|---|")
    for name, options in CASES.items():
        rates = [best(count, **options) for count in (1, 16, 256)]
        print(f"| {name} | " + " | ".join(f"{value:,.0f}" for value in rates) + " |", flush=True)
    one, two = (best(256, threads=threads, wall=True) for threads in (1, 2))
    print(f"\n256 environments by the clock on the wall: {one:,.0f}/s with one thread, {two:,.0f}/s with two")
    for window in (128, 32):
        runs = [single(window=window) for _ in range(3)]
        steps, reset = max(steps for steps, _ in runs), min(reset for _, reset in runs)
        print(f"gymnasium.make, window={window}: {steps:,.0f} steps/s, {reset:.0f} microseconds a reset")
    print("\n| jobs waiting | microseconds a decision |\n|---|---|")
    for length in (100, 1000, 5000, 20_000):
        print(f"| {length:,} | {min(waiting(length) for _ in range(3)):.2f} |", flush=True)


if __name__ == "__main__":
    main()
