"""The native plant: worked steady states, balances, steps, limits, and what an operator may ask."""

from __future__ import annotations

import numpy as np
import pytest

import twin_gym as tg
from twin_gym.cooling import Controls, Plant
from twin_gym.errors import OptionError, SystemConfigError
from twin_gym.kernels import tower

SYSTEM = tg.System.load("frontier")

# IT power MW, wet bulb degC: tower supply, primary supply and return, secondary supply and return, tower return [degC];
# primary flow, tower flow [kg/s]; cells, exchangers, primary pumps, tower pumps; fan speed; power of CDU, primary and
# tower pumps, of fans [kW]. Worked out elsewhere by the same rules.
WORKED = {
    (8, 5): (
        12.222, 13.840, 23.537, 28.000, 32.259, 20.282, 189.30, 230.00,
        7, 2, 1, 2, 0.548, 138.03, 56.40, 27.52, 43.04,
    ),
    (8, 15): (
        19.076, 20.694, 30.391, 28.000, 32.259, 27.135, 189.30, 230.00,
        7, 2, 1, 2, 0.589, 138.03, 56.40, 27.52, 53.39,
    ),
    (8, 25): (
        26.943, 28.510, 35.179, 32.943, 37.202, 33.095, 275.25, 302.78,
        7, 2, 1, 2, 0.744, 138.03, 86.70, 38.96, 107.34,
    ),
    (15, 5): (
        12.222, 13.268, 31.314, 28.000, 35.926, 22.222, 189.30, 343.81,
        7, 2, 1, 2, 0.958, 138.03, 56.40, 46.36, 229.44,
    ),
    (15, 15): (
        19.076, 21.375, 31.797, 28.000, 35.926, 28.644, 327.75, 360.53,
        8, 3, 1, 2, 0.897, 138.03, 107.67, 49.61, 214.93,
    ),
    (15, 25): (
        26.943, 28.824, 36.750, 33.527, 41.453, 34.253, 431.00, 474.10,
        9, 3, 2, 3, 0.988, 138.03, 155.99, 75.70, 324.01,
    ),
    (22, 5): (
        12.222, 12.906, 34.614, 28.000, 39.592, 22.222, 230.16, 502.93,
        10, 3, 1, 3, 0.981, 138.03, 70.26, 83.60, 351.93,
    ),
    (22, 15): (
        19.076, 21.442, 33.034, 28.320, 39.912, 29.076, 431.00, 504.79,
        11, 3, 2, 3, 0.937, 138.03, 155.99, 84.13, 336.91,
    ),
    (22, 25): (
        26.943, 29.309, 40.901, 36.187, 47.779, 36.943, 431.00, 504.79,
        11, 3, 2, 3, 0.994, 138.03, 155.99, 84.13, 403.15,
    ),
    (30, 5): (
        12.222, 12.823, 36.026, 28.000, 43.782, 22.222, 293.16, 685.43,
        14, 4, 1, 4, 0.955, 138.03, 93.62, 148.55, 454.53,
    ),
    (30, 15): (
        19.076, 20.464, 36.246, 29.828, 45.610, 29.076, 431.00, 686.79,
        15, 4, 2, 4, 0.934, 138.03, 155.99, 149.15, 456.30,
    ),
    (30, 25): (
        26.943, 28.331, 44.114, 37.695, 53.478, 36.943, 431.00, 686.79,
        15, 4, 2, 4, 0.992, 138.03, 155.99, 149.15, 546.02,
    ),
}  # fmt: skip


def plant() -> Plant:
    return Plant(SYSTEM.cooling, SYSTEM.cdus)


def even(megawatts: float, cdus: int = 25) -> np.ndarray:
    return np.full(cdus, megawatts * 1e6 / cdus)


@pytest.fixture(scope="module")
def swinging() -> tuple[np.ndarray, np.ndarray]:
    """Six hours of load that rises and falls by megawatts in minutes, each CDU's own way, and a wet bulb that rises."""
    rng = np.random.default_rng(0)
    levels = np.interp(np.arange(1440), np.linspace(0, 1439, 13), rng.uniform(8, 26, 13))
    own = 1 + 0.2 * np.sin(np.arange(1440)[:, None] / 40 + np.arange(25))
    return levels[:, None] * 1e6 / 25 * own, np.linspace(5, 15, 1440)


@pytest.mark.parametrize(("megawatts", "wet_bulb"), WORKED)
def test_worked_steady_states(megawatts, wet_bulb):
    it = plant()
    it.reset(even(megawatts), wet_bulb)
    history = it.step(even(megawatts), wet_bulb, 15.0)
    now = history.steps[0]
    expected = WORKED[megawatts, wet_bulb]
    temperatures = [now["tower_supply"], now["supply"], now["primary_return"], history.supplies[0, 0]]
    temperatures += [history.returns[0, 0], now["tower_return"]]
    assert temperatures == pytest.approx(expected[:6], abs=0.002)
    assert [now["primary_flow"], now["tower_flow"]] == pytest.approx(expected[6:8], rel=1e-4)
    counts = [now["cells"], now["units"], history.primary_pumps[0], history.tower_pumps[0]]
    assert counts == list(expected[8:12])
    assert now["fan_speed"] == pytest.approx(expected[12], abs=0.001)
    kilowatts = [now[f"{name}_power"] / 1e3 for name in ("cdu_pump", "primary_pump", "tower_pump", "fan")]
    assert kilowatts == pytest.approx(expected[13:], rel=2e-4)
    assert 30 <= now["primary_return"] <= 38 or megawatts == 8 or wet_bulb == 25
    assert 1.02 < 1 + now["cooling_power"] / (megawatts * 1e6) < 1.10


def test_heat_balances_at_rest_and_while_it_is_stored(swinging):
    it = plant()
    it.reset(even(20), 10.0)
    now = it.step(even(20), 10.0, 15.0).steps[0]
    assert now["rejected"] == pytest.approx(now["heat"] + now["shaft"], rel=1e-9)
    before = it.stored
    heat, weather = swinging
    steps = it.run(heat, weather).steps
    given = 15.0 * (steps["heat"] + steps["shaft"]).sum()
    taken = 15.0 * steps["rejected"].sum()
    assert it.stored - before == pytest.approx(given - taken, rel=1e-9, abs=1e-9 * given)
    assert abs(it.stored - before) > 1e-5 * given  # something was stored


def test_shorter_steps_change_next_to_nothing(swinging):
    heat, weather = swinging
    energy = []
    for parts in (1, 2):
        data = SYSTEM.to_dict()
        data["cooling"]["control"]["step_s"] = 15.0 / parts
        it = Plant(tg.System.from_dict(data).cooling, 25)
        it.reset(even(20), 10.0)
        steps = it.run(heat, weather).steps
        energy.append([steps[name].sum() for name in ("cooling_power", "rejected", "primary_return", "tower_return")])
    np.testing.assert_allclose(energy[0], energy[1], rtol=1e-3)


def test_small_pipes_and_long_steps_stay_stable():
    small = tg.System.load("mit_supercloud")
    data = SYSTEM.to_dict()
    data["cooling"]["control"]["step_s"] = 120.0
    for system, step in ((small, 15.0), (tg.System.from_dict(data), 120.0)):
        it = Plant(system.cooling, system.cdus)
        heat = np.full(system.cdus, 0.6 * system.cooling.design_power_w / system.cdus)
        it.reset(heat, 20.0)
        steps = it.run(np.repeat(1.3 * heat[None], 200, axis=0), np.full(200, 20.0), step).steps
        assert np.ptp(steps["supply"][-20:]) < 1.0
        assert steps["supply"].min() > 15.0


def test_temperatures_follow_load_and_weather():
    def at_rest(megawatts: float, wet_bulb: float) -> np.void:
        it = plant()
        it.reset(even(megawatts), wet_bulb)
        return it.step(even(megawatts), wet_bulb, 15.0).steps[0]

    loads = [at_rest(megawatts, 12.0) for megawatts in (6, 10, 14, 18, 22, 26)]
    assert np.all(np.diff([now["primary_return"] for now in loads]) > 0)
    assert np.all(np.diff([now["cooling_power"] for now in loads]) > 0)
    weathers = [at_rest(20, wet_bulb) for wet_bulb in (6, 10, 14, 18, 22)]
    assert np.all(np.diff([now["tower_supply"] for now in weathers]) > 0)
    assert np.all(np.diff([now["supply"] for now in weathers]) > 0)


def test_no_speed_or_set_point_moves_faster_than_it_may():
    it = plant()
    it.reset(even(6), 5.0)
    steps = it.run(np.repeat(even(28)[None], 480, axis=0), np.full(480, 18.0)).steps
    control = SYSTEM.cooling.control
    assert np.abs(np.diff(steps["fan_speed"])).max() <= control.fan_rate_per_s * 15 * (1 + 1e-9)
    assert np.abs(np.diff(steps["tower_set"])).max() <= control.setpoint_rate_k_s * 15 * (1 + 1e-9)
    assert np.abs(np.diff(steps["cells"])).max() == 1
    ups = np.flatnonzero(np.diff(steps["cells"]) > 0)
    assert np.diff(ups).min() * 15 >= control.cell_up_s
    back = steps["tower_return"]
    risen = 15 * np.argmax(back > back[0] + 0.6 * (back.max() - back[0]))
    assert 120 < risen < 3600  # minutes, not seconds


def test_an_operator_asks_within_limits():
    it = plant()
    it.reset(even(15), 5.0)
    usual = it.snapshot()

    def after(controls: Controls | None) -> np.void:
        it.restore(usual)
        return it.run(np.repeat(even(15)[None], 2000, axis=0), np.full(2000, 5.0), 15.0, controls).steps[-1]

    own = after(None)
    warmer = after(Controls(tower_set=16.0))
    assert warmer["tower_supply"] == pytest.approx(16.0, abs=0.01)
    assert warmer["fan_power"] < own["fan_power"]
    assert after(Controls(tower_set=99.0))["tower_set"] == pytest.approx(SYSTEM.cooling.towers.setpoint_max_c)
    assert after(Controls(primary_flow=400.0))["primary_flow"] == pytest.approx(400.0)
    assert after(Controls(primary_flow=9e9))["primary_flow"] == pytest.approx(25 * SYSTEM.cooling.cdu.primary_max_kg_s)
    assert after(Controls(fan=0.4))["fan_speed"] == pytest.approx(0.4)
    assert after(Controls(fan=0.4))["tower_supply"] > own["tower_supply"] + 1
    assert after(Controls(cdu_set=60.0))["cdu_set"] == pytest.approx(SYSTEM.cooling.cdu.supply_max_c)
    it.restore(usual)
    again = it.run(np.repeat(even(15)[None], 2000, axis=0), np.full(2000, 5.0)).steps[-1]
    assert again == own


def test_a_chiller_holds_the_supply_where_towers_alone_do_not():
    system = tg.System.load("summit")
    it = Plant(system.cooling, system.cdus)
    heat = np.full(257, 8e6 / 257)
    it.reset(heat, 24.0)
    now = it.step(heat, 24.0, 15.0).steps[0]
    assert now["supply"] == pytest.approx(system.cooling.chiller.supply_c, abs=1e-6)
    assert now["chiller_power"] > 0
    assert now["rejected"] == pytest.approx(now["heat"] + now["shaft"], rel=1e-8)
    it.reset(heat, 2.0)
    assert it.step(heat, 2.0, 15.0).steps[0]["chiller_power"] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("name", [name for name in tg.System.names() if tg.System.load(name).cooling is not None])
def test_every_systems_plant_comes_to_rest(name):
    system = tg.System.load(name)
    it = Plant(system.cooling, system.cdus)
    heat = np.full(system.cdus, 0.6 * system.cooling.design_power_w / system.cdus)
    it.reset(heat, 12.0)
    now = it.step(heat, 12.0, 15.0).steps[0]
    assert now["rejected"] == pytest.approx(now["heat"] + now["shaft"], rel=1e-6)
    assert 1.01 < 1 + now["cooling_power"] / heat.sum() < 1.35


def test_components_against_worked_numbers():
    # approach by the correlation: wet bulb, range, water over air
    for wet_bulb, drop, ratio, expected in (
        (-10, 5, 0.75, 11.450), (0, 5, 2.5, 23.112), (15, 8, 1.5, 12.845), (25, 11, 1.0, 6.674),
        (25.55, 5.56, 1.0, 3.8445),
    ):  # fmt: skip
        assert tower.approach(wet_bulb, drop, ratio) == pytest.approx(expected, abs=6e-4)
    # 600 kg/s over 11 cells, 24 degC in, wet bulb 5 degC, full fans
    assert tower.leaving(24.0, 5.0, 600 / 11 / 103, 1.0) == pytest.approx(13.1334, abs=1e-3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: plant().run(-even(5)[None], [5.0]), "negative or not finite"),
        (lambda: plant().run(np.full((1, 25), np.nan), [5.0]), "negative or not finite"),
        (lambda: plant().run(np.ones((2, 25)), [5.0]), "1 rows of 25 CDUs"),
        (lambda: plant().run(np.ones((1, 7)), [5.0]), "1 rows of 25 CDUs"),
        (lambda: plant().run(np.ones((1, 25)), [np.nan]), "wet_bulb"),
        (lambda: plant().run(np.ones((1, 25)), [5.0], step=0.0), "step=0"),
        (lambda: Plant(SYSTEM.cooling, 0), "cdus=0"),
    ],
)
def test_what_can_not_be_is_refused(make, message):
    with pytest.raises(OptionError, match=message):
        make()


def test_a_correlation_that_the_plant_does_not_know():
    data = SYSTEM.to_dict()
    data["cooling"]["towers"]["correlation"] = "cooltools"
    with pytest.raises(SystemConfigError, match="york"):
        Plant(tg.System.from_dict(data).cooling, 25)


def test_a_plant_without_water():
    data = SYSTEM.to_dict()
    data["cooling"]["primary"]["supply_volume_m3"] = 0.0
    with pytest.raises(SystemConfigError, match="no water"):
        Plant(tg.System.from_dict(data).cooling, 25)


def test_the_table_names_everything_with_its_unit():
    table = plant().run(even(10)[None], [5.0]).frame()
    units = table.attrs["units"]
    assert set(units) == set(table.columns)
    assert units["supply"] == units["cdu_supply_24"] == "degC"
    assert units["fan_power"] == "W"
    assert units["cells"] == "1"
