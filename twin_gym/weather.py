"""`Weather`: dry bulb, humidity, pressure and the wet bulb that follows from them, over time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from twin_gym import psychrometrics
from twin_gym.series import DAY, Outside, Repairs, Series, SeriesError
from twin_gym.stamps import MAX_GAP, regular

__all__ = ["Readings", "Weather"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_HUMIDITY_SLACK = 0.05  # instruments and interpolations show up to 105 %; that is set to 100 %


@dataclass(frozen=True)
class Readings:
    """The rows of a weather file in SI units and degC; NaN where a value is missing.

    Attributes
    ----------
    seconds : int64 array, shape (R,)
        Unix time, s, in the order of the file.
    dry_bulb : float64 array, shape (R,)
        DegC.
    humidity : float64 array, shape (R,)
        Relative, 0..1; NaN where only the dew point is known.
    dew_point : float64 array, shape (R,)
        DegC; NaN where only the humidity is known.
    pressure : float64 array, shape (R,)
        At the station, Pa; NaN where unknown.
    elevation : float
        Above the sea, m, for the standard atmosphere where the pressure is unknown.
    """

    seconds: Ints
    dry_bulb: Floats
    humidity: Floats
    dew_point: Floats
    pressure: Floats
    elevation: float = 0.0


@dataclass(frozen=True, eq=False)
class Weather:
    """Four series at the same times, with straight lines between samples.

    Attributes
    ----------
    dry_bulb, wet_bulb : Series
        DegC. The wet bulb is computed at the samples, then interpolated.
    humidity : Series
        Relative, 0..1.
    pressure : Series
        Pa.
    """

    dry_bulb: Series
    wet_bulb: Series
    humidity: Series
    pressure: Series

    def __repr__(self) -> str:
        return f"Weather({self.wet_bulb!r})"

    @property
    def origin(self) -> str:
        """Where it is from."""
        return self.wet_bulb.origin

    @property
    def repairs(self) -> Repairs:
        """Gaps and the like."""
        return self.wet_bulb.repairs

    @classmethod
    def constant(cls, wet_bulb: float, dry_bulb: float | None = None, pressure: float = 101_325.0) -> Weather:
        """Return weather that never changes; saturated air if only the wet bulb (degC) is given.

        Raises
        ------
        SeriesError
            If the wet bulb is above the dry bulb, or so far below it that no air is so dry.
        """
        dry = wet_bulb if dry_bulb is None else dry_bulb
        humidity = _humidity_at(dry, wet_bulb, pressure)
        return cls(
            Series.constant(dry, "degC"),
            Series.constant(wet_bulb, "degC"),
            Series.constant(humidity, "1"),
            Series.constant(pressure, "Pa"),
        )

    @classmethod
    def measured(cls, readings: Readings, origin: str, max_gap: int = MAX_GAP) -> Weather:
        """Return the weather of a file.

        Rows without dry bulb or humidity are left out; straight lines bridge gaps up to `max_gap` seconds. A missing
        pressure is interpolated, or taken from the standard atmosphere if none is known.

        Raises
        ------
        SeriesError
            If a value is impossible (a wrong unit, most likely), a gap is too long, or too few rows remain.
        """
        dry, dew = readings.dry_bulb, readings.dew_point
        _plausible(dry, -90.0, 60.0, "degC of the dry bulb", origin)
        _plausible(dew, -100.0, 60.0, "degC of the dew point", origin)
        _plausible(readings.humidity, 0.0, 1.0 + _HUMIDITY_SLACK, "of relative humidity (0..1)", origin)
        _plausible(readings.pressure, 40_000.0, 110_000.0, "Pa of air pressure", origin)
        known = np.isfinite(readings.humidity)
        damp = np.where(known, readings.humidity, psychrometrics.humidity_from_dew_point(dry, dew))
        clipped = int(np.sum(damp > 1.0))
        damp = np.minimum(damp, 1.0)
        found = regular(readings.seconds, np.isfinite(dry) & np.isfinite(damp), origin, max_gap)
        dry, damp, air = dry[found.rows], damp[found.rows], readings.pressure[found.rows]
        told = np.isfinite(air)
        if told.any():
            air = np.interp(found.times, found.times[told], air[told])
        else:
            air = np.full(air.size, float(psychrometrics.standard_pressure(readings.elevation)))
        repairs = Repairs(
            found.repairs.samples,
            found.repairs.missing,
            found.repairs.duplicates,
            clipped,
            found.repairs.longest_gap_s,
        )
        return cls.sampled(found.times, found.end, dry, damp, air, origin, repairs)

    @classmethod
    def sampled(
        cls,
        times: Ints,
        end: int,
        dry_bulb: Floats,
        humidity: Floats,
        pressure: Floats,
        origin: str,
        repairs: Repairs | None = None,
    ) -> Weather:
        """Return the weather of complete columns at ascending times; units as in the class."""
        done = repairs or Repairs(samples=int(times.size))
        wet = psychrometrics.wet_bulb(dry_bulb, humidity, pressure)

        def series(values: Floats, unit: str) -> Series:
            return Series(times, values, end, True, unit, origin, done)

        return cls(series(dry_bulb, "degC"), series(wet, "degC"), series(humidity, "1"), series(pressure, "Pa"))

    def on_clock(self, epoch: int) -> Weather:
        """Return weather in Unix time on a clock whose second 0 is `epoch`."""
        return self._each(lambda series: series.on_clock(epoch))

    def over(self, start: int, end: int, outside: Outside = "repeat") -> Weather:
        """Return weather that covers ``[start, end]`` (Unix time); a year repeats by whole days: see `Series.over`."""
        return self._each(lambda series: series.over(start, end, outside, DAY))

    def _each(self, change: Callable[[Series], Series]) -> Weather:
        return Weather(change(self.dry_bulb), change(self.wet_bulb), change(self.humidity), change(self.pressure))


def _plausible(values: Floats, low: float, high: float, what: str, origin: str) -> None:
    wrong = (values < low) | (values > high)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise SeriesError(
            f"{origin}, row {row + 1}: {values[row]:.6g} {what} is not between {low:g} and {high:g}; is the unit right?"
        )


def _humidity_at(dry: float, wet: float, pressure: float) -> float:
    """Return the relative humidity at which the wet bulb is `wet`."""
    low, high = 0.0, 1.0
    driest = float(psychrometrics.wet_bulb(dry, 0.0, pressure))
    if not driest <= wet <= dry:
        raise SeriesError(
            f"a wet bulb of {wet:g} degC does not go with a dry bulb of {dry:g} degC; "
            f"it lies between {driest:.1f} (dry air) and {dry:g}."
        )
    for _ in range(50):
        middle = (low + high) / 2
        if float(psychrometrics.wet_bulb(dry, middle, pressure)) > wet:
            high = middle
        else:
            low = middle
    return (low + high) / 2 if wet < dry else 1.0
