"""Moist air against published values."""

from __future__ import annotations

import numpy as np
import pytest

from twin_gym import psychrometrics as air


@pytest.mark.parametrize(
    ("dry", "humidity", "pressure", "wet"),
    [
        (35, 0.40, 101_325, 23.9345),
        (25, 0.50, 101_325, 17.8893),
        (30, 0.90, 101_325, 28.5865),
        (20, 0.80, 98_200, 17.6543),
        (10, 0.60, 98_200, 6.4259),
        (0, 0.70, 98_200, -1.7809),
        (-5, 0.80, 98_200, -5.9021),
        (35, 0.15, 88_000, 16.5837),
        (20, 0.50, 80_000, 13.2139),
    ],
)
def test_wet_bulb(dry: float, humidity: float, pressure: float, wet: float) -> None:
    assert float(air.wet_bulb(dry, humidity, pressure)) == pytest.approx(wet, abs=5e-4)


def test_saturation_pressure_of_the_steam_tables() -> None:
    # ASHRAE 2017, chapter 1, table 3: kPa at -20, 0, 25, 60 degC
    expected = [103.24, 611.2, 3_169.3, 19_946.0]
    np.testing.assert_allclose(air.saturation_pressure([-20.0, 0.0, 25.0, 60.0]), expected, rtol=4e-4)


def test_humidity_ratio() -> None:
    assert float(air.humidity_ratio(25.0, 0.5, 101_325.0)) == pytest.approx(0.009881, abs=1e-6)


def test_saturated_air_is_as_wet_as_it_is_warm() -> None:
    dry = np.linspace(-30, 50, 33)
    np.testing.assert_allclose(air.wet_bulb(dry, 1.0), dry, atol=1e-9)


def test_the_wet_bulb_rises_with_humidity_and_lies_between_dew_point_and_dry_bulb() -> None:
    dry = np.linspace(-30.0, 50.0, 41)[:, None]
    humidity = np.linspace(0.02, 1.0, 50)[None, :]
    wet = air.wet_bulb(dry, humidity, 90_000.0)
    assert np.all(np.diff(wet, axis=1) >= -1e-9)
    assert np.all(wet <= dry + 1e-9)
    assert np.all(
        air.saturation_pressure(wet) >= humidity * air.saturation_pressure(dry) * (1 - 2e-4)
    )  # ice against water at 0 degC: 1e-4


def test_dew_point_gives_the_humidity() -> None:
    assert float(air.humidity_from_dew_point(20.0, 20.0)) == 1.0
    assert float(air.humidity_from_dew_point(20.0, 25.0)) == 1.0  # rounding of instruments
    assert float(air.humidity_from_dew_point(25.0, 13.86)) == pytest.approx(0.5, abs=1e-3)


def test_pressure_by_height() -> None:
    assert float(air.standard_pressure(0.0)) == 101_325.0
    assert float(air.standard_pressure(260.0)) == pytest.approx(98_240, abs=20)
    assert float(air.standard_pressure(5_000.0)) == pytest.approx(54_020, rel=1e-3)
