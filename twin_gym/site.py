"""`Surroundings`: the weather, price and carbon intensity around a machine, on the clock of one workload."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from os import PathLike

import numpy as np
import numpy.typing as npt

from twin_gym.errors import suggest
from twin_gym.markets import CARBON_UNIT, Column, Cycle, daily_cycle, read_carbon, read_price
from twin_gym.series import DAY, WEEK, Outside, Series, SeriesError
from twin_gym.stamps import MAX_GAP, zone_of
from twin_gym.system import Site, System
from twin_gym.weather import Weather
from twin_gym.weather_files import read_weather
from twin_gym.weather_year import synthetic_weather

__all__ = ["Surroundings"]

Floats = npt.NDArray[np.float64]
Source = str | PathLike[str] | float | None

JOULES_PER_KWH = 3.6e6
UNDATED_YEAR = 2023  # in which a workload runs that does not know its date
_OUTSIDE = ("repeat", "hold", "error")
# Of "daily" prices and carbon intensities; estimates: dear evenings, clean noons.
_PRICE_SWING, _PRICE_PEAK = 0.3, 18.0
_CARBON_SWING, _CARBON_PEAK = 0.2, 1.0


@dataclass(frozen=True, eq=False)
class Surroundings:
    """What a facility can't choose: weather, price and carbon intensity over one run.

    Attributes
    ----------
    weather : Weather
        On the workload's clock.
    price : Series
        Per kWh, in `currency`, on the workload's clock.
    carbon : Series
        G CO2 equivalent per kWh, on the workload's clock.
    currency : str
        Of the price file, or of the site.
    epoch : int
        Unix time of second 0.
    dated : bool
        False if the workload did not know its date, so that a rule chose `epoch`.
    """

    weather: Weather
    price: Series
    carbon: Series
    currency: str = "USD"
    epoch: int = 0
    dated: bool = True

    @classmethod
    def of(
        cls,
        system: System | Site,
        epoch: int | None,
        span: tuple[int, int] = (0, 366 * DAY),
        *,
        weather: Weather | Source = None,
        price: Series | Source = None,
        carbon: Series | Source = None,
        price_column: Column | None = None,
        carbon_column: Column | None = None,
        carbon_scope: str = "direct",
        outside: Outside = "repeat",
        max_gap: int = MAX_GAP,
        seed: int = 0,
    ) -> Surroundings:
        """Gather the surroundings of a run.

        Parameters
        ----------
        system : System or Site
            Where the machine stands.
        epoch : int or None
            Unix time of the workload's second 0. None if unknown (``workload.epoch_known``): then second 0 is midnight,
            the site's time, at the beginning of 2023, and recorded years are repeated to get there.
        span : (int, int)
            First and last second that will be asked for, on the workload's clock: the run and what forecasts look
            ahead. It is an error to ask beyond.
        weather : path, float, Weather or None
            A file (EPW, JSON, CSV), a constant wet bulb in degC, weather in Unix time, or None (or ``"synthetic"``) for
            a synthetic year of the site's latitude.
        price : path, float, Series or None
            A CSV file, a constant per kWh, a series per kWh in Unix time, ``"daily"`` for a daily cycle about the
            site's price, or None for that price.
        carbon : path, float, Series or None
            The same in g CO2 per kWh.
        price_column, carbon_column : Column, optional
            For files whose headers do not say what and in which unit they are.
        carbon_scope : str
            ``direct`` or ``lca``, of files that have both.
        outside : str
            What holds where a file does not reach: see `Series.over`. Weather repeats by whole days, price and
            carbon by whole weeks.
        max_gap : int
            Longest gap within a file that is bridged, s.
        seed : int
            Of synthetic weather.

        Raises
        ------
        SeriesError
            If a file or a choice can't be used; one sentence says why.
        """
        site = system.site if isinstance(system, System) else system
        if outside not in _OUTSIDE:
            raise SeriesError(f"outside={outside!r} is unknown.{suggest(str(outside), _OUTSIDE)}")
        if seed < 0:
            raise SeriesError(f"seed={seed} of the weather must not be negative.")
        if span[1] < span[0]:
            raise SeriesError(f"span={span} ends before it begins.")
        zero = _undated_epoch(site) if epoch is None else int(epoch)
        start, end = zero + int(span[0]), zero + int(span[1])
        found = _weather(site, weather, start, end, max_gap, seed)
        cost, currency = _price(site, price, price_column, start, end, max_gap)
        grams = _carbon(site, carbon, carbon_column, carbon_scope, start, end, max_gap)
        try:
            return cls(
                weather=found.over(start, end, outside).on_clock(zero),
                price=cost.over(start, end, outside, WEEK).on_clock(zero),
                carbon=grams.over(start, end, outside, WEEK).on_clock(zero),
                currency=currency,
                epoch=zero,
                dated=epoch is not None,
            )
        except SeriesError as problem:
            if epoch is not None:
                raise
            raise SeriesError(
                f"{str(problem).rstrip('.')}; the workload does not know its date and is taken to begin in "
                f"{UNDATED_YEAR}: give the epoch."
            ) from None

    def cost(self, times: npt.ArrayLike, watts: npt.ArrayLike, end: int | None = None) -> float:
        """Return what a piecewise-constant power costs, in `currency`.

        Parameters
        ----------
        times : array-like of int, shape (T,)
            When each piece begins, s.
        watts : array-like of float, shape (T,)
            Power drawn from the grid, losses and cooling among it.
        end : int, optional
            Where the last piece ends; ``times[-1]`` if left out.
        """
        return self.price.integrate(times, watts, end) / JOULES_PER_KWH

    def co2_kg(self, times: npt.ArrayLike, watts: npt.ArrayLike, end: int | None = None) -> float:
        """Return what a piecewise-constant power emits, kg CO2 equivalent; parameters as for `cost`."""
        return self.carbon.integrate(times, watts, end) / JOULES_PER_KWH / 1e3

    def job_cost(self, start: npt.ArrayLike, end: npt.ArrayLike, watts: npt.ArrayLike) -> Floats:
        """Return what constant powers over ``[start, end)`` cost, in `currency`; one value per job."""
        return np.asarray(self.price.integral(start, end) * np.asarray(watts) / JOULES_PER_KWH)

    def job_co2_kg(self, start: npt.ArrayLike, end: npt.ArrayLike, watts: npt.ArrayLike) -> Floats:
        """Return what constant powers over ``[start, end)`` emit, kg CO2 equivalent; one value per job."""
        return np.asarray(self.carbon.integral(start, end) * np.asarray(watts) / JOULES_PER_KWH / 1e3)

    def summary(self) -> Mapping[str, str | int | float]:
        """Return where the series are from and what was repaired, flat and fit for JSON."""
        told: dict[str, str | int | float] = {
            "currency": self.currency,
            "site_epoch": self.epoch,
            "site_dated": int(self.dated),
        }
        for name, series in (("weather", self.weather), ("price", self.price), ("carbon", self.carbon)):
            told[f"{name}_source"] = series.origin
            told[f"{name}_missing"] = series.repairs.missing
            told[f"{name}_duplicates"] = series.repairs.duplicates
            told[f"{name}_repeated"] = int(series.repairs.repeated)
        return told


def _undated_epoch(site: Site) -> int:
    """Return the Unix time of midnight on 1 January of the undated year, by the site's clock."""
    return int(datetime(UNDATED_YEAR, 1, 1, tzinfo=zone_of(site.time_zone)).timestamp())


def _weather(site: Site, source: Weather | Source, start: int, end: int, max_gap: int, seed: int) -> Weather:
    if isinstance(source, Weather):
        return source
    if source is None or source == "synthetic":
        place = {"latitude": site.latitude, "longitude": site.longitude, "elevation": site.elevation_m}
        return synthetic_weather(start, end, seed=seed, **place)
    if isinstance(source, int | float | np.number):
        return Weather.constant(_finite(source, "weather"))
    return read_weather(source, time_zone=site.time_zone, elevation=site.elevation_m, max_gap=max_gap)


def _price(
    site: Site, source: Series | Source, column: Column | None, start: int, end: int, max_gap: int
) -> tuple[Series, str]:
    if isinstance(source, str | PathLike) and source != "daily":
        return read_price(source, time_zone=site.time_zone, currency=site.currency, column=column, max_gap=max_gap)
    unit = f"{site.currency}/kWh"
    cycle = Cycle(site.price_per_kwh, _PRICE_SWING, _PRICE_PEAK)
    return _unrecorded(source, cycle, site, start, end, unit, "price"), site.currency


def _carbon(
    site: Site, source: Series | Source, column: Column | None, scope: str, start: int, end: int, max_gap: int
) -> Series:
    if isinstance(source, str | PathLike) and source != "daily":
        return read_carbon(source, scope=scope, time_zone=site.time_zone, column=column, max_gap=max_gap)
    cycle = Cycle(site.carbon_g_per_kwh, _CARBON_SWING, _CARBON_PEAK)
    return _unrecorded(source, cycle, site, start, end, CARBON_UNIT, "carbon")


def _unrecorded(
    source: Series | Source, cycle: Cycle, site: Site, start: int, end: int, unit: str, what: str
) -> Series:
    """Return a series that is given, constant or a cycle of the day."""
    if isinstance(source, Series):
        if source.unit not in ("", unit):
            raise SeriesError(f"the {what} series is in {source.unit}, not in {unit}; convert it with scaled().")
        return source
    if source is None:
        return Series.constant(cycle.mean, unit, f"constant {what} of the site")
    if isinstance(source, int | float | np.number):
        return Series.constant(_finite(source, what), unit, f"constant {what}")
    return daily_cycle(cycle, start, end, time_zone=site.time_zone, unit=unit, origin=f"daily {what}")


def _finite(value: float, what: str) -> float:
    if not math.isfinite(value):
        raise SeriesError(f"{what}={value} is no number to reckon with; give a finite one.")
    return float(value)
