"""What the terminal shows of a run while it goes on."""

from __future__ import annotations

import io

import numpy as np
from rich.console import Console

import twin_gym as tg
from twin_gym.commands import progress, schema
from twin_gym.commands.facility import followed_power
from twin_gym.commands.times import clock_of
from twin_gym.twin import Twin


def test_the_state_of_a_twin_in_one_line():
    log = tg.Workload.build(
        id=[1, 2], submit=[0, 0], runtime=[90_000, 10], requested_time=[90_000, 10], nodes=[3, 2], epoch=1_300_000_000
    )
    twin = Twin(tg.System.uniform(nodes=4), log, power=np.array([500.0, 300.0]))
    twin.advance(until=3600)
    assert progress.state_of(twin, 1000.0) == "2011-03-13 08:06, 1 waiting, 1 running, 75 % busy, 1.5 kW"
    plain = Twin(tg.System.uniform(nodes=4), log)
    plain.advance(until=3600)
    assert progress.state_of(plain) == "2011-03-13 08:06, 1 waiting, 1 running, 75 % busy"


def test_a_cooled_machine_shows_its_pue():
    system = tg.System.load("frontier")
    log = tg.datasets.load("synthetic", None, model="lublin", jobs=300, capacity=system.nodes, load=0.8, seed=1)
    config = schema.SimulateCommand()
    config.facility.on = True
    followed = followed_power(system, log, config)
    twin = Twin(system, log, power=followed["power"])
    shown = []
    for day in range(1, 5):
        twin.advance(until=day * 86_400)
        shown.append(progress.state_of(twin, followed["idle_w"], followed["pue"]))
    values = [float(line.rpartition("PUE ")[2]) for line in shown]
    # what the whole run comes to, losses among it
    facility = tg.operate(tg.simulate(system, log), system, resolution=900)
    assert all(abs(value - facility.summary["pue"]) < 0.03 for value in values), (values, facility.summary["pue"])
    assert followed_power(tg.System.uniform(nodes=64), log, config).keys() == {"power", "idle_w"}


def test_clocks_without_a_date():
    assert clock_of(2 * 86_400 + 3661, None) == "day 2 01:01"
    assert clock_of(-60, None) == "day -1 23:59"


def test_a_run_is_shown_on_a_terminal_and_nowhere_else(monkeypatch):
    log = tg.datasets.load("synthetic", None, model="lublin", jobs=200_000, capacity=256, load=0.7, seed=1)
    system = tg.System.uniform(nodes=256)
    for terminal in (True, False):
        out = io.StringIO()
        monkeypatch.setattr(
            progress, "console", lambda stderr, t=terminal, o=out: Console(file=o, force_terminal=t, width=120)
        )
        with progress.live("Scheduling") as shown:
            tg.simulate(system, log, **shown)
        assert ("waiting" in out.getvalue()) == terminal
        assert bool(shown) == terminal
