"""The twin as Gymnasium environments; importing this registers their ids.

>>> import gymnasium as gym
>>> import twin_gym.envs
>>> env = gym.make("TwinGym/SelectJob-v0")
>>> envs = gym.make_vec("TwinGym/SelectJob-v0", num_envs=64)
"""

from __future__ import annotations

import gymnasium as gym

IDS = ("SelectJob", "DispatchPolicy", "Backfill", "Inspect", "PriorityWeights")
"""Names of the environments: the id of one is ``TwinGym/<name>-v0``."""


def register_envs() -> list[str]:
    """Register every id that is not registered yet, and return all."""
    ids = [f"TwinGym/{name}-v0" for name in IDS]
    for name, full in zip(IDS, ids, strict=True):
        if full not in gym.registry:
            gym.register(
                full,
                entry_point=f"{__name__}.ids:{name}Env",
                vector_entry_point=f"{__name__}.ids:{name}VectorEnv",
            )
    return ids


register_envs()
