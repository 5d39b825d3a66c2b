"""Moist air: saturation pressure, humidity ratio, wet bulb, and pressure by height.

Formulas: ASHRAE Handbook of Fundamentals 2017, chapter 1: saturation by Hyland and Wexler (eq. 5 over ice, 6 over
water), humidity ratio (eq. 20), wet bulb (eq. 33 above freezing, 35 below), standard atmosphere (eq. 3). Temperatures
in degC, pressures in Pa, relative humidity 0..1; arrays of any shapes that broadcast.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["humidity_from_dew_point", "humidity_ratio", "saturation_pressure", "standard_pressure", "wet_bulb"]

Floats = npt.NDArray[np.float64]

KELVIN = 273.15
_WATER_TO_AIR = 0.621945  # ratio of molar masses
_SPREAD = 60.0  # the wet bulb lies less than this below the dry bulb, K; 60 degC in dry air at 500 hPa: 47 K
_HALVINGS = 40  # 60 K / 2**40 < 1e-10 K


def saturation_pressure(temperature: npt.ArrayLike) -> Floats:
    """Return the vapour pressure over water, below 0 degC over ice, Pa; for -100 to 200 degC."""
    celsius = np.asarray(temperature, dtype=np.float64)
    t = celsius + KELVIN
    water = (
        -5.8002206e3 / t
        + 1.3914993
        + t * (-4.8640239e-2 + t * (4.1764768e-5 + t * -1.4452093e-8))
        + 6.5459673 * np.log(t)
    )
    ice = (
        -5.6745359e3 / t
        + 6.3925247
        + t * (-9.677843e-3 + t * (6.2215701e-7 + t * (2.0747825e-9 + t * -9.484024e-13)))
        + 4.1635019 * np.log(t)
    )
    return np.asarray(np.exp(np.where(celsius >= 0.0, water, ice)))


def humidity_ratio(temperature: npt.ArrayLike, humidity: npt.ArrayLike, pressure: npt.ArrayLike) -> Floats:
    """Return kg of water per kg of dry air, from `temperature`, relative `humidity` and `pressure`."""
    vapour = np.asarray(humidity, dtype=np.float64) * saturation_pressure(temperature)
    return np.asarray(_WATER_TO_AIR * vapour / (np.asarray(pressure, dtype=np.float64) - vapour))


def wet_bulb(temperature: npt.ArrayLike, humidity: npt.ArrayLike, pressure: npt.ArrayLike = 101_325.0) -> Floats:
    """Return the thermodynamic wet-bulb temperature, degC.

    The balance has no closed form; it rises with the wet bulb, so bisection finds it to 1e-10 K. Stull's fit, which
    needs no iteration, is up to 1 K off in dry or cold air and knows sea level only.

    Parameters
    ----------
    temperature : array-like
        Dry bulb, degC.
    humidity : array-like
        Relative, 0..1.
    pressure : array-like
        Of the air, Pa.
    """
    dry = np.asarray(temperature, dtype=np.float64)
    air = np.asarray(pressure, dtype=np.float64)
    ratio = humidity_ratio(dry, humidity, air)
    dry, air, ratio = np.broadcast_arrays(dry, air, ratio)
    high = dry.astype(np.float64)
    low = high - _SPREAD
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        above = _ratio_at_wet_bulb(middle, dry, air) > ratio
        high = np.where(above, middle, high)
        low = np.where(above, low, middle)
    return np.asarray((low + high) / 2)


def _ratio_at_wet_bulb(wet: Floats, dry: Floats, pressure: Floats) -> Floats:
    saturated = humidity_ratio(wet, 1.0, pressure)
    water = ((2501.0 - 2.326 * wet) * saturated - 1.006 * (dry - wet)) / (2501.0 + 1.86 * dry - 4.186 * wet)
    ice = ((2830.0 - 0.24 * wet) * saturated - 1.006 * (dry - wet)) / (2830.0 + 1.86 * dry - 2.1 * wet)
    return np.where(wet >= 0.0, water, ice)


def humidity_from_dew_point(temperature: npt.ArrayLike, dew_point: npt.ArrayLike) -> Floats:
    """Return the relative humidity (0..1) of air at `temperature` that is saturated at `dew_point`, both degC."""
    return np.asarray(np.minimum(saturation_pressure(dew_point) / saturation_pressure(temperature), 1.0))


def standard_pressure(elevation: npt.ArrayLike) -> Floats:
    """Return the pressure of the standard atmosphere, Pa, at a height above the sea, m; for -5,000 to 11,000 m."""
    return np.asarray(101_325.0 * (1.0 - 2.25577e-5 * np.asarray(elevation, dtype=np.float64)) ** 5.2559)
