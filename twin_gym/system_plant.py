"""The cooling plant of a system as data: parameters of the loops, exchangers, pumps and towers, and how they scale."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, Literal

from twin_gym.system_schema import Checked, FieldError, Range, rules

Flow = Annotated[float, Range(0, 1e6, "kg/s")]
Celsius = Annotated[float, Range(-30, 90, "degC")]
Kelvin = Annotated[float, Range(0, 60, "K")]
Volume = Annotated[float, Range(0, 1e5, "m3")]
Pascals = Annotated[float, Range(0, 5e6, "Pa")]
Conductance = Annotated[float, Range(1, 1e9, "W/K")]
Efficiency = Annotated[float, Range(0.05, 1)]
Fraction = Annotated[float, Range(0, 1)]
Exponent = Annotated[float, Range(0, 3)]
Seconds = Annotated[float, Range(0, 86_400, "s")]
Count = Annotated[int, Range(1, 10_000)]


@dataclass(frozen=True)
class Scales:
    """Mark of a parameter that grows with the plant.

    Attributes
    ----------
    by : str
        ``plant``: with the plant's design power; ``cdu``: with that of one CDU; ``cell``: with that of a tower cell.
    power : float
        The exponent: a loss coefficient in Pa/(kg/s)^2 has -2, so that the loss at design flow stays.
    """

    by: str
    power: float = 1.0


@dataclass(frozen=True)
class Pumps(Checked):
    """Parallel pumps with variable speed; dp = constant + quadratic * flow^2 is what they must deliver.

    Attributes
    ----------
    installed, minimum : int
        Pumps that are there, and that run at least.
    stage_flows_kg_s : tuple of float
        Flows above which one more pump runs, beyond `minimum`.
    dp_constant_pa : float
        Pressure held constant across the consumers, Pa.
    dp_quadratic_pa : float
        Loss coefficient of the pipes, Pa/(kg/s)^2.
    efficiency : float
        Hydraulic, of pump and wheel; the electric side is `CoolingPlant.wire_efficiency`.
    curve_m3_s, curve_m : tuple of float
        Head curve of one pump at full speed: flow, m3/s, ascending, and head, m.
    speed_min, speed_max : float
        Range of the relative speed in automatic operation.
    """

    installed: Count
    minimum: Count
    stage_flows_kg_s: Annotated[tuple[float, ...], Range(0, 1e6, "kg/s"), Scales("plant")]
    dp_constant_pa: Pascals
    dp_quadratic_pa: Annotated[float, Range(0, 1e9, "Pa/(kg/s)^2"), Scales("plant", -2)]
    efficiency: Efficiency
    curve_m3_s: Annotated[tuple[float, ...], Range(0, 1e3, "m3/s"), Scales("plant")]
    curve_m: Annotated[tuple[float, ...], Range(0, 500, "m")]
    speed_min: Fraction
    speed_max: Fraction

    def check(self) -> None:
        """Check that counts, stages and the curve go together."""
        self.in_order("minimum", "installed")
        self.in_order("speed_min", "speed_max")
        if len(self.stage_flows_kg_s) > self.installed - self.minimum:
            raise FieldError(("stage_flows_kg_s",), " names more stages than there are further pumps.")
        for key in ("stage_flows_kg_s", "curve_m3_s"):
            values = getattr(self, key)
            if any(b <= a for a, b in pairwise(values)):
                raise FieldError((key,), " must ascend.")
        if len(self.curve_m) != len(self.curve_m3_s) or len(self.curve_m) < 2:
            raise FieldError(("curve_m",), " must have as many values as curve_m3_s, at least two.")
        if any(b >= a for a, b in pairwise(self.curve_m)):
            raise FieldError(("curve_m",), " must descend.")


@dataclass(frozen=True)
class CduLoop(Checked):
    """One cooling distribution unit: the secondary loop through its cabinets and its exchanger to the primary loop.

    Attributes
    ----------
    design_power_w : float
        IT power behind one CDU for which it is designed, W.
    coolant : str
        Secondary fluid: ``water`` or ``pg25`` (25 % propylene glycol by mass).
    flow_kg_s : float
        Secondary flow at the design pressure, kg/s.
    supply_c, supply_min_c, supply_max_c : float
        Set-point of the secondary supply and the range an operator may choose from, degC.
    over_tower_k : float
        The set-point rises with the towers': at least this much above theirs, K.
    pump_dp_pa, pump_efficiency : float
        Pressure of the CDU's pumps at design flow, Pa, and their hydraulic efficiency.
    pump_speed_min, pump_speed_max : float
        Range of their relative speed.
    ua_w_k : float
        Conductance of the exchanger at the reference flows, W/K.
    ua_primary_kg_s, ua_secondary_kg_s : float
        The reference flows, kg/s.
    ua_exponent : float
        Exponent of flow in each side's film coefficient.
    primary_max_kg_s : float
        Primary flow with an open valve, kg/s.
    valve_min : float
        Smallest opening of the primary valve, as a share of the open one's flow.
    volume_m3 : float
        Coolant in the secondary loop, m3.
    """

    design_power_w: Annotated[float, Range(100, 1e8, "W"), Scales("cdu")]
    coolant: Literal["water", "pg25"]
    flow_kg_s: Annotated[Flow, Scales("cdu")]
    supply_c: Celsius
    supply_min_c: Celsius
    supply_max_c: Celsius
    over_tower_k: Kelvin
    pump_dp_pa: Pascals
    pump_efficiency: Efficiency
    pump_speed_min: Fraction
    pump_speed_max: Fraction
    ua_w_k: Annotated[Conductance, Scales("cdu")]
    ua_primary_kg_s: Annotated[Flow, Scales("cdu")]
    ua_secondary_kg_s: Annotated[Flow, Scales("cdu")]
    ua_exponent: Exponent
    primary_max_kg_s: Annotated[Flow, Scales("cdu")]
    valve_min: Fraction
    volume_m3: Annotated[Volume, Scales("cdu")]

    def check(self) -> None:
        """Check that the set-point lies in its range, and that speeds have one."""
        self.in_order("supply_min_c", "supply_c", "supply_max_c")
        self.in_order("pump_speed_min", "pump_speed_max")


@dataclass(frozen=True)
class PrimaryLoop(Checked):
    """The loop between the CDUs and the towers' exchangers.

    Attributes
    ----------
    min_flow_kg_s : float
        Least flow; what the CDUs do not take bypasses them, kg/s.
    supply_volume_m3, return_volume_m3 : float
        Water on either side, m3.
    pumps : Pumps
        The primary pumps.
    """

    min_flow_kg_s: Annotated[Flow, Scales("plant")]
    supply_volume_m3: Annotated[Volume, Scales("plant")]
    return_volume_m3: Annotated[Volume, Scales("plant")]
    pumps: Pumps


@dataclass(frozen=True)
class Exchangers(Checked):
    """Plate exchangers between primary and tower loop; unit k + 1 runs from a share k / units of the tower cells on.

    Attributes
    ----------
    units : int
        Exchangers in parallel.
    ua_w_k, ua_hot_kg_s, ua_cold_kg_s, ua_exponent : float
        As in `CduLoop`, of one unit; hot is the primary side.
    """

    units: Count
    ua_w_k: Annotated[Conductance, Scales("plant")]
    ua_hot_kg_s: Annotated[Flow, Scales("plant")]
    ua_cold_kg_s: Annotated[Flow, Scales("plant")]
    ua_exponent: Exponent


@dataclass(frozen=True)
class TowerLoop(Checked):
    """The open loop through the cooling towers.

    Attributes
    ----------
    range_k : float
        The flow is chosen so that the water cools down by this much, K ...
    over_primary : float
        ... but is at least this multiple of the primary flow,
    min_flow_kg_s, max_flow_kg_s : float
        ... and lies between these, kg/s.
    supply_volume_m3, return_volume_m3, basin_volume_m3 : float
        Water in the pipes and in the towers' basins, m3.
    pumps : Pumps
        The tower water pumps.
    """

    range_k: Annotated[float, Range(1, 30, "K")]
    over_primary: Annotated[float, Range(0, 10)]
    min_flow_kg_s: Annotated[Flow, Scales("plant")]
    max_flow_kg_s: Annotated[Flow, Scales("plant")]
    supply_volume_m3: Annotated[Volume, Scales("plant")]
    return_volume_m3: Annotated[Volume, Scales("plant")]
    basin_volume_m3: Annotated[Volume, Scales("plant")]
    pumps: Pumps

    def check(self) -> None:
        """Check the range of the flow."""
        self.in_order("min_flow_kg_s", "max_flow_kg_s")


@dataclass(frozen=True)
class Towers(Checked):
    """Cooling tower cells, all alike.

    Attributes
    ----------
    cells, min_cells : int
        Cells that are there, and that run at least.
    correlation : str
        ``york`` or ``cooltools``.
    cell_flow_kg_s : float
        Water per cell beyond which one more cell runs, kg/s.
    reference_flow_kg_s : float
        Water per cell at which the correlation's relative flow is one, kg/s; calibrated.
    air_flow_kg_s : float
        Air per cell at full fan speed, kg/s.
    fan_w, fan_exponent, fan_min : float
        Electric power of one cell's fan at full speed, W, its exponent in the speed, and the least relative speed.
    free_convection : float
        Share of the full-speed cooling that remains with the fan off.
    setpoint_c, setpoint_slope : float
        Leaving temperature wanted: setpoint_c + setpoint_slope * wet bulb, degC ...
    setpoint_min_c, setpoint_max_c : float
        ... within these, degC.
    cycles_of_concentration : float
        Ratio of the salt in the basin to that in the make-up water; decides the blowdown.
    drift : float
        Share of the water that the air carries away at full fan speed.
    """

    cells: Annotated[int, Range(1, 10_000), Scales("plant")]
    min_cells: Annotated[int, Range(1, 10_000), Scales("plant")]
    correlation: Literal["york", "cooltools"]
    cell_flow_kg_s: Annotated[Flow, Scales("cell")]
    reference_flow_kg_s: Annotated[Flow, Scales("cell")]
    air_flow_kg_s: Annotated[Flow, Scales("cell")]
    fan_w: Annotated[float, Range(0, 1e6, "W"), Scales("cell")]
    fan_exponent: Exponent
    fan_min: Fraction
    free_convection: Fraction
    setpoint_c: Celsius
    setpoint_slope: Annotated[float, Range(0, 2)]
    setpoint_min_c: Celsius
    setpoint_max_c: Celsius
    cycles_of_concentration: Annotated[float, Range(1.01, 20)]
    drift: Annotated[float, Range(0, 0.01)]

    def check(self) -> None:
        """Check that counts and the set-point's range make sense."""
        self.in_order("min_cells", "cells")
        self.in_order("setpoint_min_c", "setpoint_max_c")


@dataclass(frozen=True)
class PlantControl(Checked):
    """How fast the plant may be moved.

    Attributes
    ----------
    step_s : float
        Time between two actions of the controllers, s.
    pump_rate_per_s, fan_rate_per_s : float
        Largest change of relative speed per second.
    valve_tau_s : float
        Time constant of the CDU valves, s.
    setpoint_rate_k_s : float
        Largest change of a temperature set-point, K/s.
    cell_up_s, cell_down_s, pump_up_s, pump_down_s : float
        Least time between two stagings up or down, s.
    """

    step_s: Annotated[float, Range(0.1, 600, "s")]
    pump_rate_per_s: Annotated[float, Range(1e-5, 1, "1/s")]
    fan_rate_per_s: Annotated[float, Range(1e-5, 1, "1/s")]
    valve_tau_s: Seconds
    setpoint_rate_k_s: Annotated[float, Range(1e-6, 10, "K/s")]
    cell_up_s: Seconds
    cell_down_s: Seconds
    pump_up_s: Seconds
    pump_down_s: Seconds


@dataclass(frozen=True)
class Chiller(Checked):
    """A trim chiller on the primary supply: takes what the towers leave above its set-point.

    Attributes
    ----------
    supply_c : float
        Primary supply temperature that it holds, degC.
    cop : float
        Heat taken per electric power.
    """

    supply_c: Celsius
    cop: Annotated[float, Range(1, 15)]


@dataclass(frozen=True)
class CoolingPlant(Checked):
    """A liquid-cooling plant: CDUs, primary loop, exchangers, tower loop, towers.

    Attributes
    ----------
    design_power_w : float
        IT power for which it is built, W.
    heat_to_liquid : float
        Share of the IT power that the liquid takes; the rest warms the room.
    wire_efficiency : float
        Of motor and drive of every pump: shaft power per electric power.
    overhead_w : float
        Constant further draw of the plant (lights, controls, losses), W.
    cdu, primary, exchangers, tower_loop, towers, control
        Its parts.
    chiller : Chiller or None
        None where there is none.
    """

    design_power_w: Annotated[float, Range(1_000, 1e9, "W"), Scales("plant")]
    heat_to_liquid: Annotated[float, Range(0.01, 1)]
    wire_efficiency: Efficiency
    overhead_w: Annotated[float, Range(0, 1e8, "W"), Scales("plant")]
    cdu: CduLoop
    primary: PrimaryLoop
    exchangers: Exchangers
    tower_loop: TowerLoop
    towers: Towers
    control: PlantControl
    chiller: Chiller | None = None


def scaled(reference: CoolingPlant, design_power_w: float, cdu_power_w: float) -> dict[str, Any]:
    """Size a plant by the ratios of another one.

    Parameters
    ----------
    reference : CoolingPlant
        The plant whose ratios are taken.
    design_power_w, cdu_power_w : float
        IT power of the whole machine and behind one CDU, W.

    Returns
    -------
    dict
        Plain data of a plant without chiller. Flows, volumes, conductances and fans grow with power; temperatures,
        pressures, efficiencies and rates stay; tower cells are whole, and each is as large as it must be.
    """
    plant = design_power_w / reference.design_power_w
    cells = reference.towers.cells * plant
    factors = {
        "plant": plant,
        "cdu": cdu_power_w / reference.cdu.design_power_w,
        "cell": cells / _whole(cells),
    }
    data = _scaled(reference, factors)
    data.pop("chiller", None)
    return data


def _scaled(part: Checked, factors: Mapping[str, float]) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for key, rule in rules(type(part)).items():
        value = getattr(part, key)
        mark = next((note for note in rule.notes if isinstance(note, Scales)), None)
        if isinstance(value, Checked):
            data[key] = _scaled(value, factors)
        elif mark is None or value is None:
            data[key] = list(value) if isinstance(value, tuple) else value
        else:
            factor = factors[mark.by] ** mark.power
            if isinstance(value, tuple):
                data[key] = [item * factor for item in value]
            else:
                data[key] = _whole(value * factor) if rule.kind is int else value * factor
    return data


def _whole(count: float) -> int:
    return math.ceil(count - 1e-9)  # 16 cells x 1.0000000000000002 are 16
