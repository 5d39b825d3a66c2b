"""`Weather`: what follows from readings, and constant weather."""

from __future__ import annotations

import numpy as np
import pytest

from twin_gym import psychrometrics
from twin_gym.series import HOUR, SeriesError
from twin_gym.weather import Readings, Weather

NONE = np.full(4, np.nan)


def readings(**changes: object) -> Readings:
    columns: dict[str, object] = {
        "seconds": HOUR * np.arange(4),
        "dry_bulb": np.array([20.0, 22.0, 24.0, 26.0]),
        "humidity": np.array([0.5, 0.6, 0.7, 0.8]),
        "dew_point": NONE,
        "pressure": NONE,
        "elevation": 500.0,
    }
    return Readings(**{**columns, **changes})  # type: ignore[arg-type]


def test_the_wet_bulb_is_that_of_the_samples() -> None:
    weather = Weather.measured(readings(), "station")
    pressure = psychrometrics.standard_pressure(500.0)
    expected = psychrometrics.wet_bulb([20, 22, 24, 26], [0.5, 0.6, 0.7, 0.8], pressure)
    np.testing.assert_allclose(weather.wet_bulb.values, expected)
    assert float(weather.wet_bulb.at(HOUR // 2)) == pytest.approx(expected[:2].mean())
    np.testing.assert_allclose(weather.pressure.values, pressure)


def test_humidity_from_the_dew_point_where_it_is_missing() -> None:
    dew = np.array([np.nan, 12.0, np.nan, np.nan])
    weather = Weather.measured(readings(humidity=np.array([0.5, np.nan, 0.7, np.nan]), dew_point=dew), "station")
    assert len(weather.humidity) == 3
    assert weather.humidity.values[1] == pytest.approx(float(psychrometrics.humidity_from_dew_point(22.0, 12.0)))


def test_a_missing_pressure_is_interpolated() -> None:
    weather = Weather.measured(readings(pressure=np.array([90_000, np.nan, 92_000, np.nan])), "station")
    assert weather.pressure.values.tolist() == [90_000, 91_000, 92_000, 92_000]


def test_humidity_a_little_above_saturation_is_set_to_it_and_counted() -> None:
    weather = Weather.measured(readings(humidity=np.array([0.5, 1.02, 1.0, 1.05])), "station")
    assert weather.humidity.values.max() == 1.0
    assert weather.repairs.clipped == 2


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"dry_bulb": np.array([20.0, 295.0, 24.0, 26.0])},
            "row 2: 295 degC of the dry bulb is not between",
        ),
        ({"humidity": np.array([50.0, 60.0, 70.0, 80.0])}, "row 1: 50 of relative humidity"),
        ({"pressure": np.array([1_013.0] * 4)}, "1013 Pa of air pressure is not between 40000"),
        ({"seconds": np.array([0, 1, 2, 24]) * HOUR}, "a gap of 22 h"),
        ({"humidity": NONE}, "at least two"),
    ],
)
def test_bad_readings(changes: dict[str, object], words: str) -> None:
    with pytest.raises(SeriesError, match=words):
        Weather.measured(readings(**changes), "station")


def test_constant_weather() -> None:
    weather = Weather.constant(17.8893, 25.0)
    assert float(weather.humidity.at(10**9)) == pytest.approx(0.5, abs=1e-4)
    assert Weather.constant(20.0).humidity.values[0] == 1.0
    assert weather.on_clock(5).wet_bulb is weather.wet_bulb
    with pytest.raises(SeriesError, match="lies between"):
        Weather.constant(30.0, 25.0)
    with pytest.raises(SeriesError, match="lies between"):
        Weather.constant(-20.0, 25.0)
