"""The facility's side of a run on the command line: worked out if it is wanted, told in two lines."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from twin_gym.commands.schema import Command
from twin_gym.commands.tables import amount
from twin_gym.errors import OptionError

if TYPE_CHECKING:
    from twin_gym.facility import Facility
    from twin_gym.power import PowerModel
    from twin_gym.result import Result
    from twin_gym.system import System
    from twin_gym.twin import Twin
    from twin_gym.workload import Workload

COMPARED = ("facility_energy", "power_max", "pue", "cost", "co2_kg")
"""What a comparison shows of `Facility.summary`."""


def followed_power(system: System, workload: Workload, config: Command) -> dict[str, Any]:
    """Return what lets the twin follow the machine's power while it runs (`power`, `idle_w`, `pue`), if wanted."""
    if not config.facility.on:
        return {}
    from twin_gym.power import PowerModel

    model = PowerModel(system, assumed=config.facility.assumed)
    followed = {"power": model.believed(workload), "idle_w": model.idle}
    if config.facility.cooling and system.cooling is not None and config.facility.fmu is None and len(workload):
        followed["pue"] = BelievedPue(model, workload, config)
    return followed


class BelievedPue:
    """The PUE that a running twin is believed to have: a plant that has had its present power for a while.

    Parameters
    ----------
    model : PowerModel
    workload : Workload
    config : Command
        Weather.
    """

    STEPS, STEP = 120, 60.0  # so long, s, the plant has had it

    def __init__(self, model: PowerModel, workload: Workload, config: Command) -> None:
        from twin_gym.cooling import Plant
        from twin_gym.site import Surroundings

        system = model.system
        assert system.cooling is not None
        self._model, self._plant = model, Plant(system.cooling, system.cdus)
        self._reach = int(workload.submit[0]), int(workload.submit[-1])
        epoch = workload.epoch if workload.epoch_known else None
        around = Surroundings.of(system, epoch, self._reach, weather=config.facility.weather, seed=config.seed)
        self._wet_bulb = around.weather.wet_bulb

    def __call__(self, twin: Twin) -> float:
        """Return (devices and switches, losses, cooling) / (devices and switches) of a twin at this moment."""
        model, drawn = self._model, float(twin.drawn or 0)
        power = model.idle - model.pumps + drawn
        clock = min(max(twin.clock, self._reach[0]), self._reach[1])
        heat = np.full((self.STEPS, self._plant.cdus), power / self._plant.cdus)
        weather = np.full(self.STEPS, float(self._wet_bulb.at(clock)))
        cooling = float(self._plant.run(heat, weather, self.STEP).cooling_power[-1])
        share = (model.full_it - model.idle_it) / (model.full - model.idle)
        return (power + cooling) / (model.idle_it + share * drawn)


def operated(result: Result, system: System, config: Command) -> Facility | None:
    """Work out what a run has meant for the facility, if that is wanted."""
    wanted = asdict(config.facility)
    if not wanted.pop("on"):
        return None
    from twin_gym.facility import operate

    fmu, mapping = wanted.pop("fmu"), wanted.pop("mapping")
    if (fmu is None) != (mapping is None):
        raise OptionError("facility.fmu and facility.mapping go together: an FMU, and what its variables mean.")
    plant = None
    if fmu is not None:
        from twin_gym.cooling.fmu import FmuPlant

        plant = FmuPlant(fmu, mapping, system.cdus)
    return operate(result, system, seed=config.seed, plant=plant, **wanted)


def tell(facility: Facility) -> str:
    """Return power, PUE, cost and CO2 in words."""
    summary: dict[str, Any] = facility.summary
    wet_bulb = facility.table["wet_bulb"]
    return (
        f"Power {amount(summary['power_mean'], 'W')} on average, {amount(summary['power_max'], 'W')} at most; "
        f"facility {amount(summary['facility_energy'] / 3600, 'Wh')}, PUE {summary['pue']:.3f} "
        f"(wet bulb {wet_bulb.min():.1f} to {wet_bulb.max():.1f} °C).\n"
        f"{summary['cost']:,.0f} {summary['currency']}, {summary['co2_kg'] / 1000:,.1f} t CO2; "
        f"{summary['pflops_mean']:.4g} Pflop/s on average, {summary['gflops_per_watt']:.3g} Gflop/s/W."
    )
