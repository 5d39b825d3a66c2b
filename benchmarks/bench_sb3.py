"""What Stable-Baselines3 costs on top of the batch, and what the twins cost in its training.

python benchmarks/bench_sb3.py

Both sides of a share are measured in turns, in processor time. `native` steps a `TwinVectorEnv`, `adapter` does it
through a `TwinVecEnv`, both with the same actions from the same seeds. `bound` trains on environments that do nothing
but hand out what they began with: what Stable-Baselines3 reaches at most.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import VecEnv

from twin_gym.envs.core import TwinVectorEnv
from twin_gym.envs.sb3 import TwinVecEnv, make_vec_env

ID = "TwinGym/SelectJob-v0"
STEPS, ROUNDS = 400, 7
ROLLOUT = 128  # steps of each environment between two updates


class Still(TwinVecEnv):
    """Environments that hand out what they began with, and never end."""

    def reset(self) -> Any:
        self._kept = super().reset()
        self._masks = self.envs.action_masks()
        self._rewards, self._dones = np.zeros(self.num_envs, np.float32), np.zeros(self.num_envs, np.bool_)
        return self._kept

    def step_wait(self) -> Any:
        return self._kept, self._rewards, self._dones, [{} for _ in range(self.num_envs)]

    def env_method(self, method_name: str, *arguments: Any, **options: Any) -> Any:
        return self._masks


def stepping(step: Callable[[np.ndarray], object], batch: TwinVectorEnv) -> Callable[[], float]:
    """Return a function that lets a random legal agent act and returns the seconds in `step` alone."""
    rng = np.random.default_rng(0)

    def run() -> float:
        spent = 0.0
        for _ in range(STEPS):
            masks = batch.action_masks()
            actions = np.argmax(rng.random(masks.shape, dtype=np.float32) * masks, axis=1)
            begin = time.process_time()
            step(actions)
            spent += time.process_time() - begin
        return spent

    return run


def training(env: VecEnv, epochs: int) -> Callable[[], float]:
    """Return a function that trains for one rollout and returns its seconds."""
    size = ROLLOUT * env.num_envs
    model = MaskablePPO("MlpPolicy", env, n_steps=ROLLOUT, n_epochs=epochs, batch_size=size // 4, device="cpu", seed=0)

    def run() -> float:
        begin = time.process_time()
        model.learn(size, reset_num_timesteps=False)
        return time.process_time() - begin

    return run


def in_turns(*runs: Callable[[], float]) -> list[float]:
    """Return the median of the seconds of each, after a round that compiles and warms up."""
    spent = [[run() for run in runs] for _ in range(ROUNDS + 1)]
    medians: list[float] = np.median(spent[1:], axis=0).tolist()
    return medians


def main() -> None:
    """Print two tables."""
    torch.set_num_threads(1)
    print("| SelectJob, 128 jobs visible, steps/s | native | adapter | share |\n|---|---|---|---|")
    for count in (1, 16, 64, 256):
        native = TwinVectorEnv(count, autoreset_mode="SameStep", copy=False)
        native.reset(seed=0)
        adapter = make_vec_env(ID, count, seed=0)
        adapter.reset()
        plain, adapted = in_turns(stepping(native.step, native), stepping(adapter.step, adapter.envs))
        steps = count * STEPS
        print(f"| {count} environments | {steps / plain:,.0f} | {steps / adapted:,.0f} | {plain / adapted:.0%} |")

    print("\n| MaskablePPO, 64x64, steps/s | bound | twins | share |\n|---|---|---|---|")
    for count in (16, 64):
        for epochs in (1, 4):
            still = Still(make_vec_env(ID, count, seed=0).envs)
            bound, real = in_turns(training(still, epochs), training(make_vec_env(ID, count, seed=0), epochs))
            steps = count * ROLLOUT
            name = f"{count} environments, {epochs} epoch{'s' if epochs > 1 else ''}"
            print(f"| {name} | {steps / bound:,.0f} | {steps / real:,.0f} | {bound / real:.0%} |")


if __name__ == "__main__":
    main()
