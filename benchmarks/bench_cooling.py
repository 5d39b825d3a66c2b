"""A day of Frontier's plant and a minute of a plant with 257 CDUs, in steps of 15 s.

python benchmarks/bench_cooling.py
"""

from __future__ import annotations

import time

import numpy as np

import twin_gym as tg
from twin_gym.cooling import Plant

STEPS = 5760


def main() -> None:
    """Print a line for each plant."""
    for name in ("frontier", "summit"):
        system = tg.System.load(name)
        plant = Plant(system.cooling, system.cdus)
        share = np.random.default_rng(0).uniform(0.5, 0.9, (STEPS, 1))
        heat = share * np.full((1, system.cdus), system.cooling.design_power_w / system.cdus)
        weather = np.full(STEPS, 12.0)
        plant.reset(heat[0], 12.0)
        times = []
        for _ in range(5):
            begin = time.process_time()
            plant.run(heat, weather)
            times.append(time.process_time() - begin)
        day = min(times)
        print(f"{name}: {system.cdus} CDUs, a day {1e3 * day:.1f} ms, a minute {1e3 * day / 1440:.4f} ms")


if __name__ == "__main__":
    main()
