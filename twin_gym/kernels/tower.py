"""Cooling towers by the York correlation: what leaves a cell, and which fan speed makes it leave at a temperature.

Approach [K] = sum over i, j, k in 0..2 of C[i, j, k] LG^i range^j wet_bulb^k, wet bulb in degC, range in K, LG = water
flow over air flow, each as a share of its design (EnergyPlus Engineering Reference, variable-speed towers; coefficients
of the York model). For given air it is a square equation in the range, for given range one in LG, so nothing is
iterated.
"""

from __future__ import annotations

import math

import numpy as np

from twin_gym.kernels.jit import inner, kernel

YORK = np.array(
    [
        [
            [-0.359741205, -0.055053608, 0.0023850432],
            [0.173926877, -0.0248473764, 0.00048430224],
            [-0.005589849456, 0.0005770079712, -1.342427256e-5],
        ],
        [
            [2.84765801111111, -0.121765149, 0.0014599242],
            [1.680428651, -0.0166920786, -0.0007190532],
            [-0.025485194448, 4.87491696e-5, 2.719234152e-5],
        ],
        [
            [-0.0653766255555556, -0.002278167, 0.0002500254],
            [-0.0910565458, 0.00318176316, 3.8621772e-5],
            [-0.0034285382352, 8.56589904e-6, -1.516821552e-6],
        ],
    ]
)
WET_BULB_MIN, WET_BULB_MAX = -34.4, 26.7  # degC, for which it was fitted
MOST_WATER = 8.0  # LG


@kernel()
def approach(wet_bulb, drop, ratio):
    """Return how far above the wet bulb water leaves, K; `drop`: range, K; `ratio`: LG."""
    total = 0.0
    for i in range(3):
        for j in range(3):
            row = YORK[i, j]
            total += (row[0] + wet_bulb * (row[1] + wet_bulb * row[2])) * drop**j * ratio**i
    return total


@kernel()
def leaving(inlet, wet_bulb, water, air):
    """Return the temperature of the water that leaves a cell, degC.

    Parameters
    ----------
    inlet, wet_bulb : float
        degC.
    water, air : float
        Flows as shares of the design.
    """
    wet_bulb = min(max(wet_bulb, WET_BULB_MIN), WET_BULB_MAX)
    ratio = water / max(air, water / MOST_WATER)
    a0 = a1 = a2 = 0.0
    power = 1.0
    for i in range(3):
        first, second, third = YORK[i, 0], YORK[i, 1], YORK[i, 2]
        a0 += power * (first[0] + wet_bulb * (first[1] + wet_bulb * first[2]))
        a1 += power * (second[0] + wet_bulb * (second[1] + wet_bulb * second[2]))
        a2 += power * (third[0] + wet_bulb * (third[1] + wet_bulb * third[2]))
        power *= ratio
    # inlet - range = wet bulb + a0 + a1 range + a2 range^2
    b, c = a1 + 1.0, a0 + wet_bulb - inlet
    if c >= 0.0:
        return inlet
    root = b * b - 4.0 * a2 * c
    drop = -2.0 * c / (b + math.sqrt(root)) if root > 0.0 else -b / (2.0 * a2)
    return max(inlet - drop, wet_bulb)


@kernel()
def air_for(inlet, target, wet_bulb, water):
    """Return the air flow (share of the design) at which water leaves at a target, degC; large if none is enough."""
    wet_bulb = min(max(wet_bulb, WET_BULB_MIN), WET_BULB_MAX)
    drop, wanted = inlet - target, target - wet_bulb
    if wanted <= 0.0:
        return 1e3
    c0 = c1 = c2 = 0.0
    power = 1.0
    for j in range(3):
        first, second, third = YORK[0, j], YORK[1, j], YORK[2, j]
        c0 += power * (first[0] + wet_bulb * (first[1] + wet_bulb * first[2]))
        c1 += power * (second[0] + wet_bulb * (second[1] + wet_bulb * second[2]))
        c2 += power * (third[0] + wet_bulb * (third[1] + wet_bulb * third[2]))
        power *= drop
    c0 -= wanted
    root = c1 * c1 - 4.0 * c2 * c0
    if root < 0.0 or c1 + math.sqrt(root) == 0.0:
        return 1e3
    ratio = -2.0 * c0 / (c1 + math.sqrt(root))
    return water / ratio if ratio > 0.0 else 1e3


@inner()
def cell_leaving(inlet, wet_bulb, water, speed, fan_min, free):
    """Return what leaves a cell at a mean fan speed; below the lowest speed the fan is on for a part of the time."""
    if speed >= fan_min:
        return leaving(inlet, wet_bulb, water, speed)
    off = inlet - free * (inlet - leaving(inlet, wet_bulb, water, 1.0))
    slow = leaving(inlet, wet_bulb, water, fan_min)
    return off - speed / fan_min * (off - slow)


@inner()
def speed_for(inlet, target, wet_bulb, water, fan_min, free):
    """Return the mean fan speed at which water leaves a cell at a target; above 1 if full speed is not enough."""
    off = inlet - free * (inlet - leaving(inlet, wet_bulb, water, 1.0))
    if off <= target:
        return 0.0
    slow = leaving(inlet, wet_bulb, water, fan_min)
    if slow < target:
        return fan_min * (off - target) / (off - slow)
    return max(air_for(inlet, target, wet_bulb, water), fan_min)
