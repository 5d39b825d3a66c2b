"""A run as the facility sees it: power from the mains, cooling, weather, and what the energy has cost and emitted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from twin_gym.power import PowerHistory, PowerModel, power_history
from twin_gym.site import Surroundings
from twin_gym.system import System
from twin_gym.workload import Workload

if TYPE_CHECKING:
    import pandas as pd

    from twin_gym.cooling import Plant, PlantHistory
    from twin_gym.cooling.fmu import FmuPlant
    from twin_gym.result import Result

Floats = npt.NDArray[np.float64]
_DAY = 86_400
_LITRE = 0.998  # kg of water


@dataclass(frozen=True, eq=False)
class Facility:
    """What a run has meant for the building.

    Attributes
    ----------
    result : Result
        The run.
    power : PowerHistory
        What computers, network and conversion drew, exact.
    surroundings : Surroundings
        Weather, price and carbon intensity.
    plant : PlantHistory or None
        What the cooling plant did in each bin; None where the system describes none, or it was not asked for.
    resolution : int
        Length of a bin, s.
    """

    result: Result
    power: PowerHistory
    surroundings: Surroundings
    plant: PlantHistory | None
    resolution: int

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row for each bin; means over it.

        Columns: time [s, begin]; it (devices and switches), loss (conversion), cooling [W]; total (all three), with
        total_min and total_max of the electrical part [W]; pue = total / it; utilization [0, 1]; wet_bulb, dry_bulb
        [degC]; price [per kWh]; carbon [g/kWh]; and of a plant: pumps, fans [W], supply, tower_return [degC], water
        [kg/s].
        """
        table = self.power.bins(self.resolution)
        edges = np.append(table["time"].to_numpy(), max(int(self.power.time[-1]), int(self.power.time[0]) + 1))
        middle = (edges[:-1] + edges[1:]) // 2
        constant = table.pop("pumps").to_numpy()
        electrical = table.pop("total").to_numpy() - constant
        table["cooling"] = constant
        if self.plant is not None:
            # the plant's own CDU pumps take the place of the constant ones
            for name in ("cooling_power", "pump_power", "fan_power", "supply", "tower_return", "makeup_water"):
                short = {
                    "cooling_power": "cooling",
                    "pump_power": "pumps",
                    "fan_power": "fans",
                    "makeup_water": "water",
                }
                table[short.get(name, name)] = getattr(self.plant, name)
            for name in ("total_min", "total_max"):
                table[name] += table["cooling"] - constant
        table.insert(1, "total", electrical + table["cooling"])
        table["pue"] = table["total"] / table["it"]
        table["wet_bulb"] = self.surroundings.weather.wet_bulb.at(middle)
        table["dry_bulb"] = self.surroundings.weather.dry_bulb.at(middle)
        for name in ("price", "carbon"):
            series = getattr(self.surroundings, name)
            table[name] = series.integral(edges[:-1], edges[1:]) / np.diff(edges)
        return table

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Numbers of the whole run, those of `PowerHistory.summary` (electrical part, constant pumps) among them.

        ``facility_energy`` [J] (with the plant), ``cooling_energy`` [J], ``pue`` (facility energy / IT energy),
        ``pue_max``; with a plant ``water_l`` [L] and ``wue`` (water usage effectiveness, L per kWh of IT energy), both
        estimates; ``cost`` [``currency``] and ``co2_kg``, integrals of power times price and carbon intensity;
        ``energy_per_job`` [J], ``edp`` [J s] and ``ed2p`` [J s^2]: means over the jobs that ran of their nodes' energy,
        times their runtime, times its square.
        """
        table, power = self.table, self.power
        edges = np.append(table["time"].to_numpy(), int(power.time[-1]))
        spans = np.diff(edges)
        cooling = table["cooling"].to_numpy()
        electrical = power.total - power.model.pumps
        summary: dict[str, Any] = dict(power.summary)
        cooling_energy = float(cooling @ spans)
        facility = power.energy(electrical) + cooling_energy
        summary["facility_energy"] = facility
        summary["cooling_energy"] = cooling_energy
        summary["pue"] = facility / summary["it_energy"]
        summary["pue_max"] = float(table["pue"].max())
        padded = np.append(cooling, cooling[-1])
        summary["cost"] = self.surroundings.cost(power.time, electrical) + self.surroundings.cost(edges, padded)
        if self.plant is not None:
            water = float(np.nan_to_num(table["water"].to_numpy()) @ spans)
            summary["water_l"] = water / _LITRE
            summary["wue"] = water / _LITRE / (summary["it_energy"] / 3.6e6)
        summary["currency"] = self.surroundings.currency
        summary["co2_kg"] = self.surroundings.co2_kg(power.time, electrical) + self.surroundings.co2_kg(edges, padded)
        return summary | self._per_job()

    def _per_job(self) -> dict[str, float]:
        jobs = self.result.jobs
        ran = jobs["end"].notna().to_numpy() & jobs["start"].notna().to_numpy()
        if not ran.any():
            return {"energy_per_job": 0.0, "edp": 0.0, "ed2p": 0.0}
        energy = self.power.job_energy[ran]
        runtime = jobs["runtime"][ran].to_numpy(np.float64)
        return {
            "energy_per_job": float(energy.mean()),
            "edp": float((energy * runtime).mean()),
            "ed2p": float((energy * runtime**2).mean()),
        }

    def write(self, folder: Path, *, figures: bool) -> None:
        """Write tables (and pictures) into the directory of a run; see `twin_gym.run_directory`."""
        from twin_gym import facility_files

        facility_files.write(self, folder, figures=figures)


def operate(
    result: Result,
    system: System | PowerModel,
    *,
    workload: Workload | None = None,
    resolution: int | None = None,
    cooling: bool = True,
    plant: Plant | FmuPlant | None = None,
    surroundings: Surroundings | None = None,
    weather: Any = None,
    price: Any = None,
    carbon: Any = None,
    seed: int = 0,
    **options: Any,
) -> Facility:
    """Work out what a run has meant for the facility.

    Parameters
    ----------
    result : Result
        The run.
    system : System or PowerModel
        The machine; `options` are those of `PowerModel`: load_sharing, supply, dc_loss, assumed.
    workload : Workload, optional
        The jobs and their traces, if the result was read from a directory.
    resolution : int, optional
        Length of a bin, s; without it 15 s for runs of up to two days, 60 s up to two weeks, 900 s above. Energies,
        cost and CO2 of the electrical part are exact whatever it is.
    cooling : bool
        Whether to run the cooling plant that the system describes.
    plant : Plant or FmuPlant, optional
        Run this one instead.
    surroundings : Surroundings, optional
        Weather, price and carbon intensity; or say which:
    weather, price, carbon
        See `Surroundings.of`: a file, a constant, ``"daily"`` ...; the site's own if not given.
    seed : int
        Of synthetic weather.

    Raises
    ------
    TwinGymError
        If a file, an option or a recorded power can't be used.

    Examples
    --------
    >>> result = tg.simulate(system, workload, policy="sjf", backfill="easy")
    >>> tg.operate(result, system).summary["pue"]
    """
    machine = system.system if isinstance(system, PowerModel) else system
    begin, finish = int(result.begin), int(result.finish)
    if resolution is None:
        span = finish - begin
        resolution = 15 if span <= 2 * _DAY else 60 if span <= 14 * _DAY else 900
    with_plant = cooling and (machine.cooling is not None or plant is not None)
    power = power_history(result, system, per_cdu=resolution if with_plant else None, workload=workload, **options)
    if surroundings is None:
        reach = (begin, int(power.time[-1]) + resolution)
        surroundings = Surroundings.of(
            machine, result.scenario.epoch, reach, weather=weather, price=price, carbon=carbon, seed=seed
        )
    history = _cooled(machine, power, surroundings, resolution, plant) if with_plant else None
    return Facility(result, power, surroundings, history, resolution)


def _cooled(
    system: System,
    power: PowerHistory,
    surroundings: Surroundings,
    resolution: int,
    plant: Plant | FmuPlant | None,
) -> PlantHistory:
    """Run a plant over the heat of the machine."""
    from twin_gym.cooling import Plant

    heat = power.heat()
    times = int(power.time[0]) + resolution * np.arange(len(heat))
    wet_bulb = surroundings.weather.wet_bulb.at(times + resolution // 2)
    if plant is None:
        assert system.cooling is not None
        plant = Plant(system.cooling, cdus=system.cdus)
    plant.reset(heat[0], float(wet_bulb[0]))
    return plant.run(heat, wet_bulb, float(resolution))
