"""Synthetic weather: the same at every asking, and sane."""

from __future__ import annotations

import numpy as np

from twin_gym.series import DAY, HOUR
from twin_gym.weather import Weather
from twin_gym.weather_year import synthetic_weather

NEW_YEAR = 1_672_531_200  # 2023


def year(latitude: float = 36.0, longitude: float = -84.3, elevation: float = 260.0, seed: int = 0) -> Weather:
    return synthetic_weather(
        NEW_YEAR, NEW_YEAR + 365 * DAY, latitude=latitude, longitude=longitude, elevation=elevation, seed=seed
    )


def test_the_same_instant_has_the_same_weather_whatever_the_span() -> None:
    whole = year()
    start = NEW_YEAR + 200 * DAY + 1_234
    part = synthetic_weather(start, start + 3 * DAY, latitude=36.0, longitude=-84.3, elevation=260.0)
    at = np.arange(start, start + 3 * DAY, 777)
    np.testing.assert_array_equal(part.wet_bulb.at(at), whole.wet_bulb.at(at))


def test_seed_and_place_matter() -> None:
    assert not np.array_equal(year(seed=1).dry_bulb.values, year().dry_bulb.values)
    assert not np.array_equal(year(longitude=9.0).dry_bulb.values, year().dry_bulb.values)
    np.testing.assert_array_equal(year(seed=1).dry_bulb.values, year(seed=1).dry_bulb.values)


def test_seasons_turn_round_below_the_equator() -> None:
    for latitude, sign in ((45.0, 1), (-45.0, -1)):
        dry = year(latitude=latitude).dry_bulb
        july = dry.mean(NEW_YEAR + 181 * DAY, NEW_YEAR + 212 * DAY)
        january = dry.mean(NEW_YEAR, NEW_YEAR + 31 * DAY)
        assert sign * (july - january) > 12


def test_afternoons_are_warm_by_the_sun() -> None:
    for longitude in (-84.3, 0.0, 139.8):
        weather = year(longitude=longitude)
        solar_hour = ((weather.dry_bulb.times / HOUR + longitude / 15) % 24).astype(int)
        means = [weather.dry_bulb.values[solar_hour == hour].mean() for hour in range(24)]
        assert int(np.argmax(means)) in (14, 15)
        assert 8 < max(means) - min(means) < 11


def test_air_is_possible_everywhere() -> None:
    for latitude in (-90.0, -33.0, 0.0, 20.0, 64.0, 90.0):
        weather = year(latitude=latitude, elevation=2_000.0)
        assert weather.humidity.values.min() > 0
        assert weather.humidity.values.max() <= 1
        assert np.all(weather.wet_bulb.values <= weather.dry_bulb.values + 1e-9)
        assert -90 < weather.dry_bulb.values.min() < weather.dry_bulb.values.max() < 50
        assert 70_000 < weather.pressure.values.min() < weather.pressure.values.max() < 90_000


def test_it_covers_what_was_asked_for() -> None:
    weather = synthetic_weather(-12_345, 1, latitude=0.0, longitude=0.0)
    assert weather.wet_bulb.start <= -12_345
    assert weather.wet_bulb.end >= 1
