"""The facility's side of a run on the command line: worked out if it is wanted, told in two lines."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from twin_gym.commands.schema import Command
from twin_gym.commands.tables import amount
from twin_gym.errors import OptionError

if TYPE_CHECKING:
    from twin_gym.facility import Facility
    from twin_gym.result import Result
    from twin_gym.system import System
    from twin_gym.workload import Workload

COMPARED = ("facility_energy", "power_max", "pue", "cost", "co2_kg")
"""What a comparison shows of `Facility.summary`."""


def followed_power(system: System, workload: Workload, config: Command) -> dict[str, Any]:
    """Return what lets the twin follow the machine's power while it runs (`power`, `idle_w`), if that is wanted."""
    if not config.facility.on:
        return {}
    from twin_gym.power import PowerModel

    model = PowerModel(system, assumed=config.facility.assumed)
    return {"power": model.believed(workload), "idle_w": model.idle}


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
