"""Synthetic weather: a year's and a day's cycle with seeded spells, for places without a weather file.

Estimates by the authors of twin_gym, not a climate model: see docs/models/site.md for how far real places are off.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from twin_gym import psychrometrics
from twin_gym.series import DAY, HOUR
from twin_gym.weather import Weather

__all__ = ["synthetic_weather"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_LAPSE = 6.5e-3  # K per m of height
_DIURNAL = 5.0  # half of the span between night and afternoon, K
_WARMEST_DAY = 201  # 20 July in the north; half a year later in the south
_WARMEST_HOUR = 15.0  # solar time
_PERSISTENCE = 0.7  # correlation of a spell from one day to the next
_MEAN_DEPRESSION = 6.0  # dry bulb less dew point, mean over day and night, K
_DEPRESSION_SPREAD = 0.5  # standard deviation of its logarithm
_PRESSURE_SPREAD = 700.0  # standard deviation, Pa
_HISTORY = 30  # days of spells before 1 January, so that each year can be made alone


def synthetic_weather(
    start: int,
    end: int,
    *,
    latitude: float,
    longitude: float,
    elevation: float = 0.0,
    seed: int = 0,
) -> Weather:
    """Return hourly weather of a place, made from its latitude and a seed.

    The same place and seed have the same weather at the same instant, whatever the span asked for.

    Parameters
    ----------
    start, end : int
        What to cover, Unix time, s.
    latitude, longitude : float
        Degrees north and east: set the mean, the seasons and the solar time.
    elevation : float
        Above the sea, m: sets the pressure and lowers the temperature.
    seed : int
        Of the spells; not negative.

    Returns
    -------
    Weather
        In Unix time.
    """
    times = np.arange(start // HOUR, -(-end // HOUR) + 1, dtype=np.int64) * HOUR
    solar = times + longitude / 15.0 * HOUR
    warm, damp, heavy = _spells(times, latitude, longitude, seed)
    size = abs(latitude)
    mean = 26.0 - 6.2e-3 * size**2 - _LAPSE * elevation
    seasonal = min(1.0 + 0.25 * size, 16.0)
    warmest = _WARMEST_DAY if latitude >= 0 else _WARMEST_DAY + 182.62
    day_of_year = (solar / DAY) % 365.2425  # since 1970-01-01; days off by one at most
    season = np.cos(2 * np.pi * (day_of_year - warmest) / 365.2425)
    spell = (1.0 + 0.05 * size) * (1.0 - 0.35 * season)  # standard deviation, K: winters change more than summers
    daily_mean = mean + seasonal * season + spell * warm
    dry = daily_mean + _DIURNAL * np.cos(2 * np.pi * (solar / HOUR - _WARMEST_HOUR) / 24.0)
    dryness = 0.6 * warm + 0.8 * damp  # warm spells are dry ones, so that the hottest air is not the dampest
    depression = _MEAN_DEPRESSION * np.exp(_DEPRESSION_SPREAD * dryness - _DEPRESSION_SPREAD**2 / 2)
    dew = np.minimum(daily_mean - depression, dry)  # the dew point hardly moves in a day; nights may saturate
    humidity = psychrometrics.humidity_from_dew_point(dry, dew)
    pressure = psychrometrics.standard_pressure(elevation) + _PRESSURE_SPREAD * heavy
    return Weather.sampled(times, int(times[-1]), dry, humidity, pressure, f"synthetic weather (seed {seed})")


def _spells(times: Ints, latitude: float, longitude: float, seed: int) -> tuple[Floats, Floats, Floats]:
    """Return three standard normal processes of a day's persistence at `times`: warmth, dampness and pressure."""
    days = np.arange(times[0] // DAY, times[-1] // DAY + 2)
    years = pd.to_datetime(days * DAY, unit="s").year.to_numpy()
    where = (round((latitude + 90) * 100), round((longitude + 180) * 100))
    rows = []
    for year in np.unique(years):
        first = int(pd.Timestamp(int(year), 1, 1).timestamp()) // DAY
        shocks = np.random.default_rng([seed, *where, int(year)]).standard_normal((_HISTORY + 366, 3))
        state = np.zeros(3)
        path = np.empty_like(shocks)
        for day, shock in enumerate(shocks):
            state = _PERSISTENCE * state + np.sqrt(1 - _PERSISTENCE**2) * shock
            path[day] = state
        rows.append(path[_HISTORY + days[years == year] - first])
    daily = np.concatenate(rows)
    warm, damp, heavy = (np.interp(times, days * DAY, column) for column in daily.T)
    return warm, damp, heavy
