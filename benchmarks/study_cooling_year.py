"""A year of Frontier's cooling under its own controls and under the best set-points of each hour.

A synthetic year of jobs gives the power, a synthetic year of the site's weather (or an EPW file) the wet bulb, both by
the hour. For a grid of loads and wet bulbs the cheapest admissible wishes are found with the plant at rest (see
study_cooling.py); each hour asks for those of the nearest point of the grid, and the plant follows in steps of 15 s: at
once, with limits of rate lifted, or within the limits that its controls have.

Run: python benchmarks/study_cooling_year.py [weather.epw]
"""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import product

import numpy as np

import twin_gym as tg
from twin_gym.cooling import Controls, Plant
from twin_gym.power import power_history
from twin_gym.site import Surroundings

HOURS, STEPS = 365 * 24, 240  # of the year; of 15 s in an hour
LOADS_MW = (8.0, 12.0, 16.0, 20.0, 24.0, 28.0)
WET_BULBS_C = (-5.0, 0.0, 5.0, 10.0, 15.0, 20.0, 25.0)
FAN_RATINGS_W = (37_285.0, 82_000.0)
LIMIT_C = 32.0  # of the secondary supply
SUPPLIES_C = (28.0, 29.0, 30.0, 31.0, 32.0)
TOWERS_K = (0.0, 2.0, 4.0, 6.0)
AT_REST = 960  # steps


def year(system: tg.System, weather: str | None) -> tuple[np.ndarray, np.ndarray]:
    """Return power, W, and wet bulb, degC, of every hour."""
    log = tg.datasets.load(
        "synthetic", None, model="lublin", jobs=60_000, capacity=system.nodes, load=0.7, seed=0
    ).window(0, HOURS * 3600)
    history = power_history(tg.simulate(system, log, "fcfs", "easy"), system)
    edges = int(history.time[0]) + 3600 * np.arange(HOURS + 1)
    watts = history.means(history.total, np.minimum(edges, int(history.time[-1])))
    watts = np.where(np.isfinite(watts), watts, history.model.idle)
    around = Surroundings.of(system, None, (0, HOURS * 3600), weather=weather)
    return watts[:HOURS], around.weather.wet_bulb.at(3600 * np.arange(HOURS) + 1800)


def best_wishes(plant: Plant, *, towers: bool) -> dict[tuple[float, float], Controls]:
    """Return the cheapest admissible wishes at each point of the grid; without `towers` for the CDUs and flow alone."""
    found = {}
    for load, wet_bulb in product(LOADS_MW, WET_BULBS_C):
        heat = np.full(plant.cdus, load * 1e6 / plant.cdus)
        plant.reset(heat, wet_bulb)
        start, rows = plant.snapshot(), np.repeat(heat[None], AT_REST, axis=0)

        def after(controls: Controls, *, start=start, rows=rows, wet_bulb=wet_bulb) -> tuple[np.void, float]:
            plant.restore(start)
            history = plant.run(rows, np.full(AT_REST, wet_bulb), 15.0, controls)
            return history.steps[-1], float(history.supplies[-1].max())

        own, own_supply = after(Controls())
        cheapest, wishes = own["cooling_power"], Controls()
        for supply, more in product(SUPPLIES_C, TOWERS_K if towers else (0.0,)):
            above = float(own["tower_set"]) + more if towers else None
            wish = Controls(tower_set=above, cdu_set=supply, primary_flow=1.0)
            now, warmest = after(wish)
            if warmest <= max(LIMIT_C, own_supply) + 0.01 and now["cooling_power"] < cheapest:
                cheapest, wishes = now["cooling_power"], wish
        found[load, wet_bulb] = wishes
    return found


def run(plant: Plant, watts: np.ndarray, wet_bulb: np.ndarray, wishes: dict | None) -> tuple[float, float, float]:
    """Return the year's cooling energy, J, that of the fans, J, and K h of secondary supply above the limit."""
    plant.reset(np.full(plant.cdus, watts[0] / plant.cdus), float(wet_bulb[0]))
    energy = fans = above = 0.0
    loads, bulbs = np.array(LOADS_MW) * 1e6, np.array(WET_BULBS_C)
    for power, warm in zip(watts, wet_bulb, strict=True):
        controls = Controls()
        if wishes is not None:
            key = LOADS_MW[int(np.abs(loads - power).argmin())], WET_BULBS_C[int(np.abs(bulbs - warm).argmin())]
            controls = wishes[key]
        heat = np.full((STEPS, plant.cdus), power / plant.cdus)
        history = plant.run(heat, np.full(STEPS, warm), 15.0, controls)
        energy += float(history.cooling_power.sum()) * 15.0
        fans += float(history.fan_power.sum()) * 15.0
        above += float(np.maximum(history.supplies.max(axis=1) - LIMIT_C - 0.5, 0.0).sum()) * 15.0 / 3600.0
    return energy, fans, above


def main() -> None:
    """Print a table for both ratings of the fans that sources name."""
    system = tg.System.load("frontier")
    watts, wet_bulb = year(system, sys.argv[1] if len(sys.argv) > 1 else None)
    print(
        f"power {watts.min() / 1e6:.1f} to {watts.max() / 1e6:.1f} MW, mean {watts.mean() / 1e6:.1f}; "
        f"wet bulb {wet_bulb.min():.1f} to {wet_bulb.max():.1f} degC, mean {wet_bulb.mean():.1f}"
    )
    for rating in FAN_RATINGS_W:
        towers = replace(system.cooling.towers, fan_w=rating)
        control = replace(
            system.cooling.control, pump_rate_per_s=1.0, fan_rate_per_s=1.0, setpoint_rate_k_s=10.0, cell_up_s=0.0,
            cell_down_s=0.0,
        )  # fmt: skip
        limited = Plant(replace(system.cooling, towers=towers), system.cdus)
        free = Plant(replace(system.cooling, towers=towers, control=control), system.cdus)
        flow, joint = best_wishes(limited, towers=False), best_wishes(limited, towers=True)
        print(f"\nfans of {rating / 1e3:.1f} kW per cell")
        print(f"| | GWh | saved | fans' share | K h above {LIMIT_C + 0.5} degC |")
        print("|---|---|---|---|---|")
        base = 0.0
        for name, plant, wishes in (
            ("own controls", limited, None),
            ("flow alone", limited, flow),
            ("flow and towers, limits of rate lifted", free, joint),
            ("flow and towers, within the limits", limited, joint),
        ):
            energy, fans, above = run(plant, watts, wet_bulb, wishes)
            base = base or energy
            print(
                f"| {name} | {energy / 3.6e12:.3f} | {1 - energy / base:.1%} | {fans / energy:.0%} | {above:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
