"""A liquid-cooling plant, step by step: CDUs, primary loop, exchangers, tower loop, towers, pumps, fans and controls.

Every exchange of heat is counted once and taken from one side what it gives to the other, so that heat in, heat out and
heat stored balance to rounding. ``docs/models/cooling.md`` holds the equations. Temperatures in degC, flows in kg/s,
power in W, times in s.
"""

from __future__ import annotations

import math

import numpy as np

from twin_gym.kernels.jit import inner, kernel
from twin_gym.kernels.tower import cell_leaving, speed_for

CP = 4186.0  # of water, J/(kg K)
DENSITY = 998.0  # of water, kg/m3
PIPE = 4  # mixed volumes of which each side of the primary loop consists: a delay with a spread
EVAPORATION_HEAT = 2.45e6  # J/kg
ELASTICITY = 0.7  # of a CDU's conductance in its primary flow, near enough for a valve that corrects itself
REMOVE_BELOW = 0.95  # a cell is taken out if the others need no more than this fan speed

# Parameters of a plant, as `twin_gym.cooling.plant` takes them from a `CoolingPlant`.
PARAMETERS = np.dtype(
    [
        (name, np.float64)
        for name in (
            "liquid overhead wire "
            "cdu_flow cdu_cp cdu_mass cdu_shaft cdu_supply cdu_low cdu_high cdu_over "
            "cdu_film_hot cdu_film_cold cdu_reference cdu_exponent cdu_max cdu_min valve_tau "
            "primary_min supply_mass return_mass primary_dp primary_loss primary_eta "
            "units unit_ua unit_hot unit_cold unit_exponent "
            "range over_primary tower_min tower_max cold_mass hot_mass tower_dp tower_loss tower_eta "
            "cells cells_min cell_flow cell_reference fan_w fan_exponent fan_min free "
            "set_base set_slope set_low set_high cycles drift "
            "pump_rate fan_rate set_rate cell_up cell_down chiller chiller_supply cop"
        ).split()
    ]
)
# What a plant remembers, besides each CDU's return temperature and primary flow.
MEMORY = np.dtype(
    [
        ("supply", np.float64, (PIPE,)),  # primary supply, from the exchangers to the CDUs
        ("back", np.float64, (PIPE,)),  # primary return, from the CDUs to the exchangers
        ("cold", np.float64),  # tower water on its way to the exchangers
        ("hot", np.float64),  # tower water on its way to the towers
        ("least", np.float64),  # flow of the primary loop, whatever the valves take
        ("tower_flow", np.float64),
        ("tower_set", np.float64),
        ("cdu_set", np.float64),
        ("fan", np.float64),  # mean relative speed
        ("cells", np.float64),
        ("since_up", np.float64),  # since the last cell was added, s
        ("since_down", np.float64),
    ]
)
# What somebody else may ask of a plant; NaN: its own controls decide.
CONTROL = np.dtype(
    [("tower_set", np.float64), ("cdu_set", np.float64), ("primary_flow", np.float64), ("fan", np.float64)]
)
# What a step reports: means of power over it, the rest at its end.
OUTPUT = np.dtype(
    [
        (name, np.float64)
        for name in (
            "supply primary_return tower_supply tower_return primary_flow tower_flow cells units fan_speed "
            "tower_set cdu_set cdu_pump_power primary_pump_power tower_pump_power fan_power chiller_power "
            "cooling_power heat shaft rejected makeup_water"
        ).split()
    ]
)


@inner(forceinline=True)
def effectiveness(ua, small, large):
    """Return the effectiveness of a counterflow exchanger; `small`, `large`: capacity flows, W/K."""
    units, ratio = ua / small, small / large
    if 1.0 - ratio < 1e-6:
        return units / (1.0 + units)
    decay = math.exp(-units * (1.0 - ratio))
    return (1.0 - decay) / (1.0 - ratio * decay)


@inner(forceinline=True)
def cdu_conductance(flow, p):
    """Return heat per difference of the inlet temperatures of a CDU's exchanger at a primary flow, W/K."""
    hot = p.cdu_film_hot
    cold = p.cdu_film_cold * math.pow(flow / p.cdu_reference, p.cdu_exponent)
    ua = hot * cold / (hot + cold)
    primary, secondary = flow * CP, p.cdu_flow * p.cdu_cp
    small, large = min(primary, secondary), max(primary, secondary)
    return effectiveness(ua, small, large) * small


@inner(forceinline=True)
def toward(value, target, most):
    """Return a value moved towards a target by no more than `most`."""
    return value + min(max(target - value, -most), most)


@inner()
def cdu_step(heat, dt, valve, supply, setpoint, p, temperature, flow):
    """Let one CDU work; return its new return temperature, the heat that it hands over, W, and its next primary flow.

    The valve moves towards the flow at which the secondary supply meets its set-point.
    """
    low, high = p.cdu_min, p.cdu_max
    wanted = p.cdu_flow * p.cdu_cp * (temperature - setpoint)
    difference = temperature - supply
    conductance = cdu_conductance(flow, p)
    target = low
    if wanted > 0.0:
        target = high
        if difference > 1e-6:
            ask = flow * (1.0 + (wanted / (difference * conductance) - 1.0) / ELASTICITY)
            target = min(max(ask, 0.5 * flow, low), 2.0 * flow, high)
    capacity = p.cdu_mass * p.cdu_cp / dt
    # implicit in the loop's own temperature: stable whatever the step
    temperature = (capacity * temperature + heat + conductance * supply) / (capacity + conductance)
    return temperature, conductance * (temperature - supply), flow + valve * (target - flow)


@inner(forceinline=True)
def pump_shaft(flow, constant, loss, efficiency):
    """Return the shaft power of pumps that hold a pressure and overcome a quadratic loss, W."""
    return flow / DENSITY * (constant + loss * flow * flow) / efficiency


@inner(forceinline=True)
def speed_with(cells, flow, wet_bulb, p, m):
    """Return the fan speed that so many cells need to meet the towers' set-point."""
    return speed_for(m.hot, m.tower_set, wet_bulb, flow / cells / p.cell_reference, p.fan_min, p.free)


@inner()
def step_plant(p, control, m, loop, valves, copies, heat, wet_bulb, dt, out, supply_out):
    """Let a plant work for `dt` seconds.

    Parameters
    ----------
    p, control, m : PARAMETERS, CONTROL, MEMORY records
        `m` is changed.
    loop, valves : (C,) float64
        Return temperature, degC, and primary flow, kg/s, of each CDU; changed.
    copies : float
        CDUs for which each of the C stands: 1, or all where they are all alike and C is 1.
    heat : (C,) float64
        Electric power of what each CDU cools, W.
    wet_bulb : float
        degC.
    dt : float
        s.
    out : OUTPUT record
        Powers, heat and water are added (times `dt`); the rest is set.
    supply_out : (C,) float64
        Secondary supply temperature of each CDU; written.
    """
    # set-points
    wish = p.set_base + p.set_slope * wet_bulb if math.isnan(control.tower_set) else control.tower_set
    m.tower_set = toward(m.tower_set, min(max(wish, p.set_low), p.set_high), p.set_rate * dt)
    wish = p.cdu_supply if math.isnan(control.cdu_set) else min(max(control.cdu_set, p.cdu_low), p.cdu_high)
    m.cdu_set = toward(m.cdu_set, wish, p.set_rate * dt)
    setpoint = max(m.cdu_set, m.tower_set + p.cdu_over)

    # CDUs
    supply = m.supply[PIPE - 1]
    valve = 1.0 - math.exp(-dt / p.valve_tau) if p.valve_tau > 0.0 else 1.0
    taken = total = given = 0.0
    for i in range(heat.shape[0]):
        into = p.liquid * heat[i] + p.cdu_shaft
        taken += copies * valves[i]
        loop[i], moved, valves[i] = cdu_step(into, dt, valve, supply, setpoint, p, loop[i], valves[i])
        supply_out[i] = loop[i] - moved / (p.cdu_flow * p.cdu_cp)
        total += copies * moved
        given += copies * (p.liquid * heat[i])
    cdus = copies * heat.shape[0]
    most = cdus * p.cdu_max
    wish = p.primary_min if math.isnan(control.primary_flow) else min(max(control.primary_flow, 0.0), most)
    m.least = toward(m.least, wish, p.pump_rate * most * dt)
    flow = max(taken, m.least, 1e-9)
    mixed = supply + total / (flow * CP)  # what bypasses the CDUs among it

    # primary pumps, exchangers, tower pumps
    primary_shaft = pump_shaft(flow, p.primary_dp, p.primary_loss, p.primary_eta)
    inlet = m.back[PIPE - 1] + primary_shaft / (flow * CP)
    units = 1.0
    for k in range(1, int(p.units)):
        if m.cells >= k * p.cells / p.units:
            units = k + 1.0
    tower_flow = m.tower_flow
    tower_shaft = pump_shaft(tower_flow, p.tower_dp, p.tower_loss, p.tower_eta)
    cold = m.cold + tower_shaft / (tower_flow * CP)
    ua = (
        units
        * p.unit_ua
        * 2.0
        / (
            math.pow(flow / units / p.unit_hot, -p.unit_exponent)
            + math.pow(tower_flow / units / p.unit_cold, -p.unit_exponent)
        )
    )
    small, large = min(flow, tower_flow) * CP, max(flow, tower_flow) * CP
    moved = effectiveness(ua, small, large) * small * (inlet - cold)
    cooled = inlet - moved / (flow * CP)
    chilled = 0.0
    if p.chiller > 0.0:
        chilled = max(flow * CP * (cooled - p.chiller_supply), 0.0)
        cooled -= chilled / (flow * CP)
    chiller = chilled / p.cop if p.chiller > 0.0 else 0.0
    warmed = cold + (moved + chilled + chiller) / (tower_flow * CP)

    # towers
    demand = moved + chilled + chiller + tower_shaft
    base = min(max(math.ceil(tower_flow / p.cell_flow - 1e-9), p.cells_min), p.cells)
    m.since_up += dt
    m.since_down += dt
    if m.since_up >= p.cell_up and m.cells < p.cells:
        if m.cells < base or speed_with(m.cells, tower_flow, wet_bulb, p, m) > 1.0:
            m.cells += 1.0
            m.since_up = 0.0
    if m.since_down >= p.cell_down and m.cells > base:
        if speed_with(m.cells - 1.0, tower_flow, wet_bulb, p, m) < REMOVE_BELOW:
            m.cells -= 1.0
            m.since_down = 0.0
    water = tower_flow / m.cells / p.cell_reference
    speed = control.fan
    if math.isnan(speed):
        speed = speed_with(m.cells, tower_flow, wet_bulb, p, m)
    m.fan = toward(m.fan, min(max(speed, 0.0), 1.0), p.fan_rate * dt)
    leaving = cell_leaving(m.hot, wet_bulb, water, m.fan, p.fan_min, p.free)
    if m.fan >= p.fan_min:
        fans = m.cells * p.fan_w * math.pow(m.fan, p.fan_exponent)
    else:
        fans = m.cells * p.fan_w * math.pow(p.fan_min, p.fan_exponent) * m.fan / p.fan_min
    rejected = tower_flow * CP * (m.hot - leaving)

    # what the step reports
    out.supply, out.primary_return = supply, mixed
    out.tower_supply, out.tower_return = m.cold, m.hot
    out.primary_flow, out.tower_flow = flow, tower_flow
    out.cells, out.units, out.fan_speed = m.cells, units, m.fan
    out.tower_set, out.cdu_set = m.tower_set, setpoint
    pumps = cdus * p.cdu_shaft
    out.cdu_pump_power += dt * pumps / p.wire
    out.primary_pump_power += dt * primary_shaft / p.wire
    out.tower_pump_power += dt * tower_shaft / p.wire
    out.fan_power += dt * fans
    out.chiller_power += dt * chiller
    out.cooling_power += dt * ((pumps + primary_shaft + tower_shaft) / p.wire + fans + chiller + p.overhead)
    out.heat += dt * given
    out.shaft += dt * (pumps + primary_shaft + tower_shaft + chiller)
    out.rejected += dt * rejected
    share = min(max(0.69 + 0.0155 * (wet_bulb - 5.0), 0.5), 1.1)
    evaporated = share * max(rejected, 0.0) / EVAPORATION_HEAT
    drift = p.drift * tower_flow * m.fan
    out.makeup_water += dt * (evaporated + drift + max(evaporated / (p.cycles - 1.0) - drift, 0.0))

    # the water moves on
    part = flow * dt / (p.supply_mass / PIPE)
    for k in range(PIPE - 1, 0, -1):
        m.supply[k] += part * (m.supply[k - 1] - m.supply[k])
    m.supply[0] += part * (cooled - m.supply[0])
    part = flow * dt / (p.return_mass / PIPE)
    for k in range(PIPE - 1, 0, -1):
        m.back[k] += part * (m.back[k - 1] - m.back[k])
    m.back[0] += part * (mixed - m.back[0])
    m.cold += tower_flow * dt / p.cold_mass * (leaving - m.cold)
    m.hot += tower_flow * dt / p.hot_mass * (warmed - m.hot)
    target = max(demand / (CP * p.range), p.over_primary * flow)
    target = min(max(target, p.tower_min), p.tower_max)
    m.tower_flow = toward(tower_flow, target, p.pump_rate * p.tower_max * dt)


@kernel()
def speed_needed(p, m, flow, hot, wet_bulb):
    """Return the fan speed that the running cells need at rest to meet the set-point; above 1: too few run."""
    return speed_for(hot, m.tower_set, wet_bulb, flow / m.cells / p.cell_reference, p.fan_min, p.free)


@kernel()
def stored(p, m, loop):
    """Return the heat that all water of a plant holds above 0 degC, J."""
    total = 0.0
    for k in range(PIPE):
        total += p.supply_mass / PIPE * m.supply[k] + p.return_mass / PIPE * m.back[k]
    total = CP * (total + p.cold_mass * m.cold + p.hot_mass * m.hot)
    for i in range(loop.shape[0]):
        total += p.cdu_mass * p.cdu_cp * loop[i]
    return total


@kernel()
def run_plant(p, control, m, loop, valves, heat, wet_bulb, step, parts, out, supplies, returns, flows):
    """Let a plant work for T steps of `step` seconds, each in `parts` equal parts.

    Parameters
    ----------
    p : PARAMETERS record
    control : (T,) CONTROL or (1,) CONTROL
        One for each step, or one for all.
    m, loop, valves
        As in `step_plant`; left as at the end.
    heat : (T, C) float64
    wet_bulb : (T,) float64
    out : (T,) OUTPUT
        Zeroed; written.
    supplies, returns, flows : (T, C) float64
        Secondary supply and return temperature, and primary flow, of each CDU; written.
    """
    dt = step / parts
    for t in range(wet_bulb.shape[0]):
        asked = control[t] if control.shape[0] > 1 else control[0]
        for _ in range(parts):
            step_plant(p, asked, m, loop, valves, 1.0, heat[t], wet_bulb[t], dt, out[t], supplies[t])
        out[t].cdu_pump_power /= step
        out[t].primary_pump_power /= step
        out[t].tower_pump_power /= step
        out[t].fan_power /= step
        out[t].chiller_power /= step
        out[t].cooling_power /= step
        out[t].heat /= step
        out[t].shaft /= step
        out[t].rejected /= step
        out[t].makeup_water /= step
        returns[t, :] = loop
        flows[t, :] = valves
