"""`Plant`: a liquid-cooling plant that is stepped, or run over a series of heat and weather."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from twin_gym.errors import OptionError, SystemConfigError
from twin_gym.kernels import cooling as kernels
from twin_gym.kernels.cooling import CONTROL, CP, DENSITY, MEMORY, OUTPUT, PARAMETERS
from twin_gym.system import CoolingPlant

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]
Records = npt.NDArray[Any]

_COOLANTS = {"water": (CP, DENSITY), "pg25": (3944.6, 1014.9)}  # J/(kg K), kg/m3 at 30 degC
_GRAVITY = 9.80665
_SETTLING_S, _SETTLING_STEP_S = 86_400.0, 15.0  # of a plant without limits of rate, until nothing changes any more


@dataclass(frozen=True)
class Controls:
    """What an operator or an agent asks of a plant; None: its own controls decide. Limits of range and rate hold.

    Attributes
    ----------
    tower_set : float or None
        Temperature at which water shall leave the towers, degC.
    cdu_set : float or None
        Temperature of the CDUs' supply to the machine, degC.
    primary_flow : float or None
        Least flow of the primary loop, kg/s; at most what all open valves take.
    fan : float or None
        Relative speed of the towers' fans, 0 to 1.
    """

    tower_set: float | None = None
    cdu_set: float | None = None
    primary_flow: float | None = None
    fan: float | None = None

    def record(self) -> Records:
        """Return the wishes for the kernels, (1,) CONTROL."""
        record = np.full(1, np.nan, CONTROL)
        for name in CONTROL.names or ():
            value = getattr(self, name)
            record[name] = math.nan if value is None else value
        return record


@dataclass(frozen=True, eq=False)
class PlantSnapshot:
    """The state of a plant at one time, independent of it."""

    memory: Records
    loop: Floats
    valves: Floats


@dataclass(frozen=True, eq=False)
class PlantHistory:
    """What a plant did in T steps: powers are means over each, temperatures and flows those at its end.

    Attributes
    ----------
    plant : CoolingPlant or None
        Its parameters; None where another model took its place.
    step : float
        s.
    steps : (T,) OUTPUT
    supplies, returns, flows : (T, C) float64
        Of each CDU: secondary supply and return temperature [degC], primary flow [kg/s].
    """

    plant: CoolingPlant | None
    step: float
    steps: Records
    supplies: Floats
    returns: Floats
    flows: Floats

    def __getattr__(self, name: str) -> Floats:
        """Return a column of the plant, (T,): supply, primary_return, tower_supply, cooling_power ..."""
        if name in (OUTPUT.names or ()):
            column: Floats = self.steps[name]
            return column
        raise AttributeError(name)

    @property
    def pump_power(self) -> Floats:
        """Electric power of all pumps, (T,), W."""
        power: Floats = self.steps["cdu_pump_power"] + self.steps["primary_pump_power"] + self.steps["tower_pump_power"]
        return power

    @cached_property
    def primary_pumps(self) -> npt.NDArray[np.int64]:
        """Primary pumps that run, (T,)."""
        return _count(self._native().primary.pumps, self.steps["primary_flow"])

    @cached_property
    def tower_pumps(self) -> npt.NDArray[np.int64]:
        """Tower pumps that run, (T,)."""
        return _count(self._native().tower_loop.pumps, self.steps["tower_flow"])

    @cached_property
    def primary_pump_speed(self) -> Floats:
        """Relative speed of the primary pumps by their head curve, (T,)."""
        return _speed(self._native().primary.pumps, self.steps["primary_flow"], self.primary_pumps)

    @cached_property
    def tower_pump_speed(self) -> Floats:
        """Relative speed of the tower pumps by their head curve, (T,)."""
        return _speed(self._native().tower_loop.pumps, self.steps["tower_flow"], self.tower_pumps)

    def _native(self) -> CoolingPlant:
        if self.plant is None:
            raise OptionError("only the native plant knows its pumps.")
        return self.plant

    def frame(self) -> pd.DataFrame:
        """Return everything as a table; the columns of CDU i end in ``_i``, and ``attrs["units"]`` holds all units."""
        import pandas as pd

        columns = {name: self.steps[name] for name in OUTPUT.names or ()}
        if self.plant is not None:
            pumps = ("primary_pumps", "tower_pumps", "primary_pump_speed", "tower_pump_speed")
            columns |= {name: getattr(self, name) for name in pumps}
        units = {name: unit_of(name) for name in columns}
        for name, values, unit in (
            ("cdu_supply", self.supplies, "degC"),
            ("cdu_return", self.returns, "degC"),
            ("cdu_flow", self.flows, "kg/s"),
        ):
            for i in range(values.shape[1]):
                columns[f"{name}_{i}"] = values[:, i]
                units[f"{name}_{i}"] = unit
        table = pd.DataFrame(columns)
        table.attrs["units"] = units
        return table


def unit_of(name: str) -> str:
    """Return the unit of a column of a plant."""
    if name.endswith("power") or name in ("heat", "shaft", "rejected"):
        return "W"
    if name.endswith("flow") or name == "makeup_water":
        return "kg/s"
    return "1" if name in ("cells", "units", "fan") or name.endswith(("speed", "pumps")) else "degC"


def _count(pumps: Any, flow: Floats) -> npt.NDArray[np.int64]:
    count: npt.NDArray[np.int64] = pumps.minimum + np.searchsorted(np.array(pumps.stage_flows_kg_s), flow, side="left")
    return count


def _speed(pumps: Any, flow: Floats, count: npt.NDArray[np.int64]) -> Floats:
    """Solve speed^2 * head(flow / (count * speed)) = needed head by halving; affinity laws."""
    each = flow / DENSITY / count
    head = (pumps.dp_constant_pa + pumps.dp_quadratic_pa * flow**2) / (DENSITY * _GRAVITY)
    low, high = np.full(len(flow), 1e-3), np.full(len(flow), 3.0)
    for _ in range(60):
        speed = (low + high) / 2
        enough = speed**2 * np.interp(each / speed, pumps.curve_m3_s, pumps.curve_m) >= head
        low, high = np.where(enough, low, speed), np.where(enough, speed, high)
    found: Floats = (low + high) / 2
    return found


class Plant:
    """A native cooling plant.

    Parameters
    ----------
    plant : CoolingPlant
        Its parameters, as ``System.cooling``.
    cdus : int
        CDUs, all alike.

    Raises
    ------
    SystemConfigError
        If the towers' correlation is not ``york``, or a loop holds no water.
    OptionError
        If there is no CDU.

    Examples
    --------
    >>> system = tg.System.load("frontier")
    >>> plant = Plant(system.cooling, system.cdus)
    >>> plant.reset(heat=np.full(25, 600e3), wet_bulb=15.0)
    >>> history = plant.run(heat, wet_bulb, step=15.0)
    """

    def __init__(self, plant: CoolingPlant, cdus: int) -> None:
        if plant.towers.correlation != "york":
            raise SystemConfigError(
                f"cooling.towers.correlation={plant.towers.correlation!r}: the native plant knows 'york' only."
            )
        if cdus < 1:
            raise OptionError(f"cdus={cdus} must be at least 1.")
        volumes = (plant.primary.supply_volume_m3, plant.primary.return_volume_m3, plant.cdu.volume_m3)
        loop = plant.tower_loop
        if min(*volumes, loop.return_volume_m3, loop.supply_volume_m3 + loop.basin_volume_m3) <= 0:
            raise SystemConfigError("a cooling plant holds no water in one of its loops; give every volume_m3 a size.")
        self.plant, self.cdus = plant, cdus
        self._parameters = _parameters(plant, limited=True)
        self._free = _parameters(plant, limited=False)
        self._memory = np.zeros(1, MEMORY)
        self._loop, self._valves = np.zeros(cdus), np.full(cdus, plant.cdu.ua_primary_kg_s)
        self.reset(np.zeros(cdus), 15.0)

    def reset(self, heat: npt.ArrayLike, wet_bulb: float) -> None:
        """Bring the plant into the steady state of constant heat and weather.

        Parameters
        ----------
        heat : (C,) array
            Electric power of what each CDU cools, W.
        wet_bulb : float
            degC.
        """
        heat = self._heat(heat, 1)
        memory, towers = self._memory[0], self.plant.towers
        setpoint = min(
            max(towers.setpoint_c + towers.setpoint_slope * wet_bulb, towers.setpoint_min_c), towers.setpoint_max_c
        )
        for name in ("supply", "back", "cold", "hot", "tower_set"):
            memory[name] = setpoint
        memory["least"] = self.plant.primary.min_flow_kg_s
        memory["tower_flow"], memory["cdu_set"] = self.plant.tower_loop.min_flow_kg_s, self.plant.cdu.supply_c
        memory["fan"], memory["cells"] = 1.0, towers.min_cells
        self._loop[:] = self.plant.cdu.supply_c
        self._valves[:] = self.plant.cdu.primary_max_kg_s / 2
        # the fewest cells that meet the set-point, found from below
        while True:
            done = self._settle(heat, wet_bulb)
            flow, hot = float(done["tower_flow"]), float(done["tower_return"])
            enough = flow <= memory["cells"] * towers.cell_flow_kg_s * (1 + 1e-9)
            if memory["cells"] >= towers.cells or (
                enough and kernels.speed_needed(self._free[0], memory, flow, hot, wet_bulb) <= 1.0
            ):
                break
            memory["cells"] += 1
        memory["since_up"] = memory["since_down"] = 0.0

    def _settle(self, heat: Floats, wet_bulb: float) -> Any:
        """Let the plant, freed of limits of rate and with the cells that it has, come to rest; return its last step."""
        steps = int(_SETTLING_S / _SETTLING_STEP_S)
        weather = np.full(steps, float(wet_bulb))
        rows = np.repeat(heat, steps, axis=0)
        return self._run(self._free, rows, weather, _SETTLING_STEP_S, Controls().record()).steps[-1]

    def step(
        self, heat: npt.ArrayLike, wet_bulb: float, seconds: float, controls: Controls | None = None
    ) -> PlantHistory:
        """Let the plant work for a time; return what it did, one step.

        Raises
        ------
        OptionError
            If a power is negative or not finite, or there is not one for each CDU.
        """
        return self.run(self._heat(heat, 1), np.array([wet_bulb]), seconds, controls)

    def run(
        self, heat: npt.ArrayLike, wet_bulb: npt.ArrayLike, step: float = 15.0, controls: Controls | None = None
    ) -> PlantHistory:
        """Let the plant work for T steps.

        Parameters
        ----------
        heat : (T, C) array
            Electric power of what each CDU cools in each step, W.
        wet_bulb : (T,) array
            degC.
        step : float
            Length of a step, s; the plant itself takes parts of `PlantControl.step_s` at most.
        controls : Controls, optional
            Wishes that hold all the time.

        Raises
        ------
        OptionError
            If a power is negative or not finite, or the shapes do not fit.
        """
        weather = np.ascontiguousarray(wet_bulb, np.float64)
        heat = self._heat(heat, len(weather))
        if not step > 0:
            raise OptionError(f"step={step} must be a positive number of seconds.")
        if not np.all(np.isfinite(weather)):
            raise OptionError("wet_bulb holds a number that is not finite.")
        return self._run(self._parameters, heat, weather, float(step), (controls or Controls()).record())

    def _run(self, parameters: Records, heat: Floats, weather: Floats, step: float, control: Records) -> PlantHistory:
        steps = len(weather)
        out = np.zeros(steps, OUTPUT)
        supplies, returns, flows = (np.zeros((steps, self.cdus)) for _ in range(3))
        parts = max(1, math.ceil(step / self.longest_step - 1e-9))
        kernels.run_plant(
            parameters[0],
            control,
            self._memory[0],
            self._loop,
            self._valves,
            heat,
            weather,
            step,
            parts,
            out,
            supplies,
            returns,
            flows,
        )
        return PlantHistory(self.plant, step, out, supplies, returns, flows)

    @property
    def longest_step(self) -> float:
        """Longest step taken at once, s: that of the controls, or in which the fastest mixed volume is renewed."""
        p = self._parameters[0]
        primary = max(self.cdus * p["cdu_max"], p["primary_min"])
        pipe = min(p["supply_mass"], p["return_mass"]) / kernels.PIPE
        turnover = min(pipe / primary, min(p["cold_mass"], p["hot_mass"]) / p["tower_max"])
        return float(min(self.plant.control.step_s, turnover))

    def _heat(self, heat: npt.ArrayLike, steps: int) -> Floats:
        array = np.ascontiguousarray(np.atleast_2d(np.asarray(heat, np.float64)))
        if array.shape != (steps, self.cdus):
            raise OptionError(f"heat must hold {steps} rows of {self.cdus} CDUs, not {array.shape}.")
        if not np.all(np.isfinite(array)) or array.min(initial=0.0) < 0:
            raise OptionError("heat holds a power that is negative or not finite.")
        return array

    @property
    def stored(self) -> float:
        """Heat in all water of the plant above 0 degC, J."""
        return float(kernels.stored(self._parameters[0], self._memory[0], self._loop))

    @property
    def parameters(self) -> Any:
        """What the kernels know of the plant, a PARAMETERS record."""
        return self._parameters[0]

    def snapshot(self) -> PlantSnapshot:
        """Keep the present state."""
        return PlantSnapshot(self._memory.copy(), self._loop.copy(), self._valves.copy())

    def restore(self, snapshot: PlantSnapshot) -> None:
        """Go back to a state that was kept."""
        self._memory[:], self._loop[:], self._valves[:] = snapshot.memory, snapshot.loop, snapshot.valves


def _parameters(plant: CoolingPlant, *, limited: bool) -> Records:
    """Lay a plant out for the kernels; without limits of rate it settles at once."""
    cdu, primary, exchangers, loop, towers = plant.cdu, plant.primary, plant.exchangers, plant.tower_loop, plant.towers
    control, chiller = plant.control, plant.chiller
    cp, density = _COOLANTS[cdu.coolant]
    share = (cdu.ua_primary_kg_s / cdu.ua_secondary_kg_s) ** cdu.ua_exponent
    values = {
        "liquid": plant.heat_to_liquid,
        "overhead": plant.overhead_w,
        "wire": plant.wire_efficiency,
        "cdu_flow": cdu.flow_kg_s,
        "cdu_cp": cp,
        "cdu_mass": cdu.volume_m3 * density,
        "cdu_shaft": cdu.flow_kg_s / density * cdu.pump_dp_pa / cdu.pump_efficiency,
        "cdu_supply": cdu.supply_c,
        "cdu_low": cdu.supply_min_c,
        "cdu_high": cdu.supply_max_c,
        "cdu_over": cdu.over_tower_k,
        "cdu_film_cold": (1.0 + share) * cdu.ua_w_k,
        "cdu_film_hot": (1.0 + share) / share * cdu.ua_w_k * (cdu.flow_kg_s / cdu.ua_secondary_kg_s) ** cdu.ua_exponent,
        "cdu_reference": cdu.ua_primary_kg_s,
        "cdu_exponent": cdu.ua_exponent,
        "cdu_max": cdu.primary_max_kg_s,
        "cdu_min": max(cdu.valve_min, 1e-3) * cdu.primary_max_kg_s,
        "valve_tau": control.valve_tau_s,
        "primary_min": primary.min_flow_kg_s,
        "supply_mass": primary.supply_volume_m3 * DENSITY,
        "return_mass": primary.return_volume_m3 * DENSITY,
        "primary_dp": primary.pumps.dp_constant_pa,
        "primary_loss": primary.pumps.dp_quadratic_pa,
        "primary_eta": primary.pumps.efficiency,
        "units": exchangers.units,
        "unit_ua": exchangers.ua_w_k,
        "unit_hot": exchangers.ua_hot_kg_s,
        "unit_cold": exchangers.ua_cold_kg_s,
        "unit_exponent": exchangers.ua_exponent,
        "range": loop.range_k,
        "over_primary": loop.over_primary,
        "tower_min": loop.min_flow_kg_s,
        "tower_max": loop.max_flow_kg_s,
        "cold_mass": (loop.supply_volume_m3 + loop.basin_volume_m3) * DENSITY,
        "hot_mass": loop.return_volume_m3 * DENSITY,
        "tower_dp": loop.pumps.dp_constant_pa,
        "tower_loss": loop.pumps.dp_quadratic_pa,
        "tower_eta": loop.pumps.efficiency,
        "cells": towers.cells,
        "cells_min": towers.min_cells,
        "cell_flow": towers.cell_flow_kg_s,
        "cell_reference": towers.reference_flow_kg_s,
        "fan_w": towers.fan_w,
        "fan_exponent": towers.fan_exponent,
        "fan_min": towers.fan_min,
        "free": towers.free_convection,
        "set_base": towers.setpoint_c,
        "set_slope": towers.setpoint_slope,
        "set_low": towers.setpoint_min_c,
        "set_high": towers.setpoint_max_c,
        "cycles": towers.cycles_of_concentration,
        "drift": towers.drift,
        "pump_rate": control.pump_rate_per_s if limited else 1.0,
        "fan_rate": control.fan_rate_per_s if limited else 1.0,
        "set_rate": control.setpoint_rate_k_s if limited else 1e3,
        "cell_up": control.cell_up_s if limited else np.inf,
        "cell_down": control.cell_down_s if limited else np.inf,
        "chiller": 0.0 if chiller is None else 1.0,
        "chiller_supply": 0.0 if chiller is None else chiller.supply_c,
        "cop": 1.0 if chiller is None else chiller.cop,
    }
    record = np.zeros(1, PARAMETERS)
    for name in PARAMETERS.names or ():
        record[name] = values[name]
    return record
