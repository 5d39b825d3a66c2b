"""A run as the building sees it: PUE, cost and CO2 by hand, with and without a plant, in tables, files and pictures."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import twin_gym as tg
from twin_gym import facility_plots
from twin_gym.errors import OptionError, TwinGymError
from twin_gym.ragged import Trace
from twin_gym.series import Series

EPOCH = 1_700_000_000


def log(**traces: Trace) -> tg.Workload:
    return tg.Workload.build(
        id=[1, 2],
        submit=[0, 3600],
        runtime=[3600, 3600],
        requested_time=[3600] * 2,
        nodes=[1, 3],
        traces=traces,
        epoch=EPOCH,
    )


@pytest.fixture(scope="module")
def frontier() -> tuple[tg.System, tg.Result]:
    system = tg.System.load("frontier")
    jobs = tg.datasets.load("synthetic", None, model="lublin", jobs=300, capacity=system.nodes, load=0.9, seed=2)
    return system, tg.simulate(system, jobs.window(0, 86_400), "sjf", "easy")


def test_cost_and_co2_are_integrals_of_power_times_price_not_products_of_means():
    system = tg.System.uniform(nodes=4)
    price = Series(EPOCH + np.array([0, 3600]), np.array([0.10, -0.05]), end=EPOCH + 10_000)
    busy = Trace.scalars([1.0, 1.0], "1")
    facility = tg.operate(
        tg.simulate(system, log(cpu=busy, gpu=busy)), system, price=price, carbon=400.0, weather=10.0, resolution=900
    )
    power = facility.power.total
    kwh = [power[0] / 1000, power[1] / 1000]  # one hour each
    assert facility.power.time.tolist() == [0, 3600, 7200]
    summary = facility.summary
    assert summary["cost"] == pytest.approx(0.10 * kwh[0] - 0.05 * kwh[1], rel=1e-9)
    assert summary["co2_kg"] == pytest.approx(0.4 * sum(kwh), rel=1e-9)
    assert summary["facility_energy"] == pytest.approx(3.6e6 * sum(kwh), rel=1e-9)
    assert summary["pue"] == pytest.approx(facility.power.energy() / facility.power.energy(facility.power.it), rel=1e-9)
    energies = facility.power.job_energy
    assert summary["energy_per_job"] == pytest.approx(energies.mean())
    assert summary["edp"] == pytest.approx(3600 * energies.mean())
    assert summary["ed2p"] == pytest.approx(3600**2 * energies.mean())


def test_the_plant_takes_the_place_of_constant_pumps(frontier):
    system, result = frontier
    cooled, bare = (tg.operate(result, system, cooling=cooling, weather=12.0) for cooling in (True, False))
    spans = np.diff(np.append(cooled.table["time"], cooled.power.time[-1]))
    cooling = (cooled.plant.cooling_power * spans).sum()
    assert cooled.summary["cooling_energy"] == pytest.approx(cooling, rel=1e-12)
    electrical = cooled.power.energy() - cooled.power.model.pumps * (cooled.power.time[-1] - cooled.power.time[0])
    assert cooled.summary["facility_energy"] == pytest.approx(electrical + cooling, rel=1e-9)
    assert bare.summary["facility_energy"] == pytest.approx(bare.power.energy(), rel=1e-9)
    assert 1.07 < cooled.summary["pue"] < 1.13  # conversion losses among it
    litres = (cooled.plant.makeup_water * spans).sum() / 0.998
    assert cooled.summary["wue"] == pytest.approx(litres / (cooled.summary["it_energy"] / 3.6e6), rel=1e-9)
    assert 1.0 < cooled.summary["wue"] < 2.5
    table = cooled.table
    np.testing.assert_allclose(table["total"], table["it"] + table["loss"] + table["cooling"], rtol=1e-9)
    np.testing.assert_allclose(table["pue"], table["total"] / table["it"], rtol=1e-12)
    assert (table["tower_return"] > table["wet_bulb"]).all()


def test_the_plant_sees_the_heat_of_every_chassis(frontier):
    system, result = frontier
    facility = tg.operate(result, system, weather=12.0, resolution=60)
    heat = facility.plant.steps["heat"][:-1]
    electrical = facility.power.bins(60)["total"].to_numpy()[:-1] - facility.power.model.pumps
    np.testing.assert_allclose(heat, system.cooling.heat_to_liquid * electrical, rtol=1e-9)


def test_warmer_weather_costs(frontier):
    system, result = frontier
    cold, warm = (tg.operate(result, system, weather=wet_bulb).summary for wet_bulb in (5.0, 22.0))
    assert warm["pue"] > cold["pue"]
    assert warm["cost"] > cold["cost"]
    assert warm["power_max"] == cold["power_max"]


def test_everything_is_written_with_the_run(frontier, tmp_path):
    system, result = frontier
    facility = tg.operate(result, system)
    result.save(tmp_path / "run", facility=facility)
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert names >= {"power_history.parquet", "loss_history.parquet", "facility.parquet", "cooling_model.parquet"}
    assert {path.name for path in (tmp_path / "run" / "figures").iterdir()} >= {"power.png", "facility.png"}
    power = pd.read_parquet(tmp_path / "run" / "power_history.parquet")
    np.testing.assert_array_equal(power["total"], facility.power.total)
    cooling = pd.read_parquet(tmp_path / "run" / "cooling_model.parquet")
    assert len(cooling) == len(facility.table)
    assert f"cdu_supply_{system.cdus - 1}" in cooling
    stats = json.loads((tmp_path / "run" / "stats.json").read_text())
    assert stats["facility"]["pue"] == pytest.approx(facility.summary["pue"])
    assert tg.Result.load(tmp_path / "run").summary == result.summary


def test_figures_overlay_runs_and_refuse_what_they_cannot_show(frontier):
    system, result = frontier
    cooled, bare = tg.operate(result, system), tg.operate(result, system, cooling=False)
    assert len(facility_plots.facility([cooled, cooled]).axes) == 4
    assert len(facility_plots.power(bare).axes) == 2
    with pytest.raises(OptionError, match="without a cooling plant"):
        facility_plots.facility(bare)
    with pytest.raises(OptionError, match="1 to 6 runs"):
        facility_plots.power([])


def test_mistakes_are_one_sentence(frontier, tmp_path):
    system, result = frontier
    with pytest.raises(TwinGymError, match=r"no weather file .*nothing\.epw"):
        tg.operate(result, system, weather=tmp_path / "nothing.epw")
    with pytest.raises(OptionError, match="no option 'suply'"):
        tg.operate(result, system, suply="dc")
