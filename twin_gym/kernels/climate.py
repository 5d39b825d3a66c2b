"""What a batch of environments pays for its power, and how its cooling plants follow it.

While an environment runs to its next decision it logs the power that its jobs are believed to draw. Afterwards `meter`
goes through that log: cost and carbon as exact integrals, the largest change from minute to minute, and the plant in
ticks of a few seconds. All CDUs get the same heat, for which nodes a job has is not known; so one stands for all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from twin_gym.kernels.cooling import step_plant
from twin_gym.kernels.jit import borrowed, inner

MINUTE = 60

# What a meter remembers.
METER = np.dtype(
    [
        ("time", np.int64),  # up to when everything is counted, s
        ("tick", np.int64),  # when the plant's present tick ends, s
        ("minute", np.int64),  # when the present minute ends, s
        ("minutes", np.int64),  # that have ended
        ("heat", np.float64),  # energy in the present tick, J
        ("energy", np.float64),  # energy in the present minute, J
        ("mean", np.float64),  # power in the last minute, W
        ("change", np.float64),  # against the minute before, W
        ("cooling", np.float64),  # power of the plant in the last tick, W
    ]
)


class Climate(NamedTuple):
    """Price, carbon intensity and wet bulb, each as its integral from `begin` to the edges of G equal cells."""

    begin: int  # s
    cell: int  # s
    price: npt.NDArray[np.float64]  # (G+1,) per kWh times s
    carbon: npt.NDArray[np.float64]  # (G+1,) g/kWh times s
    wet_bulb: npt.NDArray[np.float64]  # (G+1,) degC s
    price_range: tuple[float, float]  # lowest and highest value
    carbon_range: tuple[float, float]
    meters: npt.NDArray[np.void]  # (E,) METER; (0,) if nobody asks what power costs
    it_idle: float  # what computers and switches draw of it when no job runs, W
    it_share: float  # and of every watt above that
    # the plants; `memory` is (0,) without any
    parameters: npt.NDArray[np.void]  # (1,) PARAMETERS
    control: npt.NDArray[np.void]  # (1,) CONTROL
    memory: npt.NDArray[np.void]  # (E,) MEMORY
    loops: npt.NDArray[np.float64]  # (E, 1) degC
    valves: npt.NDArray[np.float64]  # (E, 1) kg/s
    out: npt.NDArray[np.void]  # (E,) OUTPUT of the last tick
    heat: npt.NDArray[np.float64]  # (E, 1) electric power of what a CDU cools, W
    supply: npt.NDArray[np.float64]  # (E, 1) of the CDUs, degC
    seconds: int  # of a tick
    parts: int  # in which it is done
    cdus: float
    limit: float  # of the CDUs' supply, degC
    rest: npt.NDArray[np.void]  # (K,) MEMORY at rest with the idle machine, at K wet bulbs
    rest_loops: npt.NDArray[np.float64]  # (K, 1)
    rest_valves: npt.NDArray[np.float64]  # (K, 1)
    rest_low: float  # the first of the K wet bulbs, degC
    rest_step: float  # degC


@inner(forceinline=True)
def integral(sums, time, climate):
    """Return an integral from the first cell's begin to a time; beyond the ends the nearest cell goes on."""
    since = time - climate.begin
    k = min(max(since // climate.cell, 0), sums.shape[0] - 2)
    return sums[k] + (sums[k + 1] - sums[k]) * ((since - k * climate.cell) / climate.cell)


@inner(forceinline=True)
def mean_over(sums, begin, end, climate):
    """Return the mean between two times."""
    return (integral(sums, end, climate) - integral(sums, begin, climate)) / (end - begin)


@inner()
def begin_metering(e, clock, climate):
    """Put a meter to 0 and a plant to rest with the idle machine in the weather of the moment."""
    meter = climate.meters[e]
    meter.time, meter.tick, meter.minute = clock, clock + climate.seconds, clock + MINUTE
    meter.minutes = 0
    meter.heat = meter.energy = meter.mean = meter.change = meter.cooling = 0.0
    if climate.memory.shape[0] > 0:
        warm = mean_over(climate.wet_bulb, clock, clock + 1, climate)
        k = np.int64(np.rint((warm - climate.rest_low) / climate.rest_step))
        k = min(max(k, 0), climate.rest.shape[0] - 1)
        climate.memory[e] = climate.rest[k]
        climate.loops[e, :] = climate.rest_loops[k]
        climate.valves[e, :] = climate.rest_valves[k]
        climate.supply[e, :] = climate.parameters[0].cdu_supply


@inner()
def count_minutes(meter, total, until, watts):
    """Count power from the meter's time on in minutes; those that it fills alone are done at once."""
    time = meter.time
    while time < until:
        end = min(until, meter.minute)
        meter.energy += watts * (end - time)
        time = end
        if time < meter.minute:
            break
        mean = meter.energy / MINUTE
        meter.change = mean - meter.mean if meter.minutes > 0 else 0.0
        total.ramp = max(total.ramp, abs(meter.change))
        meter.mean, meter.energy = mean, 0.0
        meter.minutes += 1
        meter.minute += MINUTE
        whole = (until - time) // MINUTE
        if whole > 0:
            meter.change = watts - mean if whole == 1 else 0.0
            total.ramp = max(total.ramp, abs(watts - mean))
            meter.mean = watts
            meter.minutes += whole
            meter.minute += whole * MINUTE
            time += whole * MINUTE


@inner()
def work_plant(e, meter, total, until, watts, climate):
    """Let a plant follow a constant power up to a time, tick by tick, each with the mean power in it."""
    time = meter.time
    out, dt = climate.out[e], climate.seconds / climate.parts
    loop, valves = borrowed(climate.loops[e]), borrowed(climate.valves[e])
    heat, supply = borrowed(climate.heat[e]), borrowed(climate.supply[e])
    while time < until:
        end = min(until, meter.tick)
        meter.heat += watts * (end - time)
        time = end
        if time < meter.tick:
            break
        warm = mean_over(climate.wet_bulb, time - climate.seconds, time, climate)
        out.cooling_power = 0.0
        heat[0] = meter.heat / climate.seconds / climate.cdus
        for _ in range(climate.parts):
            step_plant(
                climate.parameters[0],
                climate.control[0],
                climate.memory[e],
                loop,
                valves,
                climate.cdus,
                heat,
                warm,
                dt,
                out,
                supply,
            )
        total.cooling += out.cooling_power
        total.cost += out.cooling_power * mean_over(climate.price, time - climate.seconds, time, climate)
        total.carbon += out.cooling_power * mean_over(climate.carbon, time - climate.seconds, time, climate)
        meter.cooling = out.cooling_power / climate.seconds
        total.thermal += climate.seconds * max(supply[0] - climate.limit, 0.0)
        total.peak = max(total.peak, watts + meter.cooling)
        meter.heat = 0.0
        meter.tick += climate.seconds


@inner()
def meter(e, climate, setup, row):
    """Count what has been drawn since the last time, and empty the log."""
    sim, total, it = row.sim[0], row.tally[0], climate.meters[e]
    for k in range(sim.loads):
        until, watts = row.loads[k].until, setup.idle_watts + row.loads[k].watts
        if until <= it.time:
            continue
        total.cost += watts * (integral(climate.price, until, climate) - integral(climate.price, it.time, climate))
        total.carbon += watts * (integral(climate.carbon, until, climate) - integral(climate.carbon, it.time, climate))
        count_minutes(it, total, until, watts)
        if climate.memory.shape[0] > 0:
            work_plant(e, it, total, until, watts, climate)
        it.time = until
    sim.loads = 0
