"""`Surroundings`: series of a site on a workload's clock, cost and CO2."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from twin_gym.series import DAY, HOUR, Series, SeriesError
from twin_gym.site import Surroundings
from twin_gym.system import Site, System
from twin_gym.weather import Weather

SITE = Site(
    latitude=36.0,
    longitude=-84.3,
    time_zone="America/New_York",
    price_per_kwh=0.1,
    carbon_g_per_kwh=400.0,
    currency="USD",
)
EPOCH = 1_672_531_200 + 100 * DAY + 7


def price_file(folder: Path, hours: int = 8_760) -> Path:
    file = folder / "price.csv"
    stamps = [datetime.fromtimestamp(1_672_531_200 + HOUR * hour, UTC) for hour in range(hours)]
    rows = [f"{stamp:%Y-%m-%d %H:%M},{hour - 100}" for hour, stamp in enumerate(stamps)]
    file.write_text("Time (UTC),Price (EUR/MWh)\n" + "\n".join(rows), encoding="utf-8")
    return file


def test_a_constant_site_costs_energy_times_price() -> None:
    around = Surroundings.of(SITE, EPOCH, (0, DAY))
    times, watts = np.array([0, 10, 4_000]), np.array([1e6, 0.0, 2e6])
    kwh = (10 * 1e6 + (DAY - 4_000) * 2e6) / 3.6e6
    assert around.cost(times, watts, DAY) == pytest.approx(kwh * 0.1, rel=1e-12)
    assert around.co2_kg(times, watts, DAY) == pytest.approx(kwh * 0.4, rel=1e-12)
    assert around.currency == "USD"


def test_prices_stand_on_the_clock_of_the_workload(tmp_path: Path) -> None:
    around = Surroundings.of(SITE, EPOCH, (-HOUR, DAY), price=price_file(tmp_path))
    assert around.currency == "EUR"
    hour = 100 * 24
    assert float(around.price.at(0)) == pytest.approx((hour - 100) / 1e3)  # 7 s after the full hour
    assert float(around.price.at(HOUR - 8)) == pytest.approx((hour - 100) / 1e3)
    assert float(around.price.at(HOUR - 7)) == pytest.approx((hour - 99) / 1e3)
    expected = 3.6e6 * ((HOUR - 7) * (hour - 100) + 7 * (hour - 99)) / 3.6e6 / 1e3
    assert around.cost([0], [3.6e6], HOUR) == pytest.approx(expected, rel=1e-12)


def test_negative_prices_pay(tmp_path: Path) -> None:
    around = Surroundings.of(SITE, 1_672_531_200, (0, DAY), price=price_file(tmp_path))
    assert around.cost([0], [1e6], 3 * HOUR) == pytest.approx(-(0.100 + 0.099 + 0.098) * 1_000)


def test_jobs_add_up_to_the_whole(tmp_path: Path) -> None:
    around = Surroundings.of(SITE, EPOCH, (0, 10 * DAY), price=price_file(tmp_path), carbon="daily")
    rng = np.random.default_rng(3)
    start = rng.integers(0, 9 * DAY, 200)
    end = start + rng.integers(1, DAY, 200)
    watts = rng.uniform(1e3, 1e6, 200)
    edges = np.unique(np.concatenate((start, end)))
    total = np.array([watts[(start <= t) & (t < end)].sum() for t in edges])
    assert around.cost(edges, total) == pytest.approx(around.job_cost(start, end, watts).sum(), rel=1e-10)
    assert around.co2_kg(edges, total) == pytest.approx(around.job_co2_kg(start, end, watts).sum(), rel=1e-10)


def test_a_workload_without_a_date_begins_in_2023() -> None:
    around = Surroundings.of(SITE, None, (0, DAY))
    assert around.epoch == int(datetime(2023, 1, 1, 5, tzinfo=UTC).timestamp())  # midnight in New York
    assert not around.dated
    assert around.summary()["site_dated"] == 0


def test_a_short_file_and_no_date(tmp_path: Path) -> None:
    with pytest.raises(
        SeriesError, match=r"price\.csv covers .* the workload does not know its date .* give the epoch"
    ):
        Surroundings.of(SITE, None, (0, 30 * DAY), price=price_file(tmp_path, 100))


def test_a_year_is_repeated_by_weeks(tmp_path: Path) -> None:
    later = EPOCH + 10 * 364 * DAY
    around = Surroundings.of(SITE, later, (0, DAY), price=price_file(tmp_path))
    assert around.summary()["price_repeated"] == 1
    hour = round(float(around.price.at(0)) * 1_000) + 100
    source = 1_672_531_200 + hour * HOUR
    assert (later - 7 - source) % (7 * DAY) == 0
    with pytest.raises(SeriesError, match="outside='repeat'"):
        Surroundings.of(SITE, later, (0, DAY), price=price_file(tmp_path), outside="error")


def test_given_series_and_constants() -> None:
    price = Series(np.array([EPOCH, EPOCH + 10]), np.array([1.0, 2.0]), EPOCH + DAY, unit="USD/kWh")
    around = Surroundings.of(SITE, EPOCH, (0, DAY), weather=18.5, price=price, carbon=np.int64(12))
    assert around.price.at([9, 10]).tolist() == [1, 2]
    assert float(around.carbon.at(5)) == 12
    assert float(around.weather.wet_bulb.at(5)) == 18.5
    again = Surroundings.of(SITE, EPOCH, (0, DAY), weather=Weather.constant(3.0))
    assert float(again.weather.wet_bulb.at(DAY)) == 3.0


def test_every_shipped_system_has_weather_by_default() -> None:
    for name in System.names():
        around = Surroundings.of(System.load(name), 1_700_000_000, (-DAY, 7 * DAY), price="daily", carbon="daily")
        wet = around.weather.wet_bulb.at(np.arange(-DAY, 7 * DAY, HOUR))
        assert np.all(np.isfinite(wet))
        assert around.weather.repairs.missing == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"outside": "wrap"}, "outside='wrap'"),
        ({"seed": -1}, "seed=-1"),
        ({"span": (5, 4)}, "ends before"),
        ({"price": float("nan")}, "price=nan"),
        ({"weather": float("inf")}, "weather=inf"),
        ({"price": Series.constant(1.0, "EUR/MWh")}, "is in EUR/MWh, not in USD/kWh"),
        ({"weather": "nowhere.epw"}, "no weather file"),
        ({"price": "nowhere.csv"}, "no file nowhere.csv"),
    ],
)
def test_bad_choices(options: dict[str, object], words: str) -> None:
    with pytest.raises(SeriesError, match=words):
        Surroundings.of(SITE, EPOCH, **options)  # type: ignore[arg-type]


def test_the_summary_is_plain() -> None:
    import json

    told = Surroundings.of(SITE, EPOCH, (0, DAY)).summary()
    assert json.loads(json.dumps(told)) == told
