"""The York correlation from its definition, solved by halving."""

from __future__ import annotations

COEFFICIENTS = [
    -0.359741205, -0.055053608, 0.0023850432, 0.173926877, -0.0248473764, 0.00048430224,
    -0.005589849456, 0.0005770079712, -1.342427256e-5, 2.84765801111111, -0.121765149, 0.0014599242,
    1.680428651, -0.0166920786, -0.0007190532, -0.025485194448, 4.87491696e-5, 2.719234152e-5,
    -0.0653766255555556, -0.002278167, 0.0002500254, -0.0910565458, 0.00318176316, 3.8621772e-5,
    -0.0034285382352, 8.56589904e-6, -1.516821552e-6,
]  # fmt: skip


def approach(wet_bulb, drop, ratio):
    """Sum of 27 terms; the power of the wet bulb runs fastest, then that of the range, then that of water over air."""
    terms = ((i, j, k) for i in range(3) for j in range(3) for k in range(3))
    return sum(c * wet_bulb**k * drop**j * ratio**i for c, (i, j, k) in zip(COEFFICIENTS, terms, strict=True))


def leaving(inlet, wet_bulb, water, air):
    """The temperature T with T = wet bulb + approach(inlet - T)."""
    ratio = water / max(air, water / 8.0)
    low, high = wet_bulb, inlet
    for _ in range(100):
        middle = (low + high) / 2
        if wet_bulb + approach(wet_bulb, inlet - middle, ratio) > middle:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def air_for(inlet, target, wet_bulb, water):
    """The air flow at which water leaves at a target."""
    low, high = water / 8.0, 100.0
    for _ in range(100):
        middle = (low + high) / 2
        if leaving(inlet, wet_bulb, water, middle) > target:
            low = middle
        else:
            high = middle
    return (low + high) / 2
