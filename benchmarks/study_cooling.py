"""Published findings on Frontier's cooling, tried on the native plant at rest: fans' share, savings by set-points.

Every state is one of four loads and three wet bulbs, weighted alike: not a year of measured weather and load, so
the savings can be held against the published ones in kind, not in the last per cent. An operator's wishes hold for
four hours, after which the plant is at rest; a wish is admissible if the secondary supply stays below `LIMIT_C`, or,
where the plant's own controls pass that, no warmer than with them. The least flow of the primary loop is lifted for
wishes. The joint wishes include those of flow alone, so they can not save less.

Run: python benchmarks/study_cooling.py
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np

import twin_gym as tg
from twin_gym.cooling import Controls, Plant

LOADS_MW = (8.0, 15.0, 22.0, 30.0)
WET_BULBS_C = (5.0, 15.0, 25.0)
FAN_RATINGS_W = (37_285.0, 82_000.0)
LIMIT_C = 32.0  # of the secondary supply
STEPS = 960  # of 15 s
SUPPLIES_C = (28.0, 30.0, 32.0)  # wishes for the CDUs' supply
TOWERS_K = (0.0, 2.0, 4.0, 6.0)  # wishes for the towers, above their own set-point


def main() -> None:
    """Print share of the fans, PUE and savings for both ratings of the fans that sources name."""
    system = tg.System.load("frontier")
    for rating in FAN_RATINGS_W:
        cooling = replace(system.cooling, towers=replace(system.cooling.towers, fan_w=rating))
        study(Plant(cooling, system.cdus), rating)


def study(plant: Plant, rating: float) -> None:
    """Print what one plant does."""
    used = {"own": 0.0, "flow": 0.0, "joint": 0.0}
    fans, pues, ratios = [], [], []
    for load, wet_bulb in product(LOADS_MW, WET_BULBS_C):
        heat = np.full(plant.cdus, load * 1e6 / plant.cdus)
        plant.reset(heat, wet_bulb)
        start = plant.snapshot()

        def after(controls: Controls, *, heat=heat, wet_bulb=wet_bulb, start=start) -> tuple[np.void, float]:
            plant.restore(start)
            rows = np.repeat(heat[None], STEPS, axis=0)
            history = plant.run(rows, np.full(STEPS, wet_bulb), 15.0, controls)
            return history.steps[-1], float(history.supplies[-1].max())

        own, own_supply = after(Controls())
        fans.append(own["fan_power"] / own["cooling_power"])
        pues.append(1 + own["cooling_power"] / (load * 1e6))
        limit = max(LIMIT_C, own_supply) + 0.01
        flow, joint, least = own["cooling_power"], own["cooling_power"], own["primary_flow"]
        for supply, more in product(SUPPLIES_C, TOWERS_K):
            wish = Controls(tower_set=float(own["tower_set"]) + more, cdu_set=supply, primary_flow=1.0)
            now, warmest = after(wish)
            if warmest <= limit:
                joint = min(joint, now["cooling_power"])
                if more == 0.0:
                    flow, least = min(flow, now["cooling_power"]), min(least, now["primary_flow"])
        ratios.append(own["primary_flow"] / least)
        for name, power in (("own", own["cooling_power"]), ("flow", flow), ("joint", joint)):
            used[name] += power
    print(f"fans of {rating / 1e3:.1f} kW per cell")
    print(f"  share of fans in cooling power: {min(fans):.2f} to {max(fans):.2f}, mean {np.mean(fans):.2f}")
    print(f"  PUE: {min(pues):.4f} to {max(pues):.4f}")
    print(f"  primary flow over the least that is admissible: {np.mean(ratios):.2f} (up to {max(ratios):.2f})")
    by_flow, by_both = (1 - used[name] / used["own"] for name in ("flow", "joint"))
    print(f"  saved by flow alone: {by_flow:.1%}; with the towers: {by_both:.1%}")


if __name__ == "__main__":
    main()
