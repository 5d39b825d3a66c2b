"""Power caps and sleeping nodes by hand: who waits, who boots, what a keeper may switch, what is refused."""

from __future__ import annotations

import math

import pytest

import twin_gym as tg
from twin_gym.errors import OptionError
from twin_gym.outages import Outage
from twin_gym.power import PowerModel
from twin_gym.twin import Twin

SYSTEM = tg.System.uniform(nodes=4)  # boots in 180 s, shuts down in 30 s
IDLE = PowerModel(SYSTEM).idle


def jobs(*rows: tuple[int, int, int]) -> tg.Workload:
    """Jobs of (submit, runtime, nodes), their runtime requested."""
    submit, runtime, nodes = zip(*rows, strict=True)
    return tg.Workload.build(id=range(len(rows)), submit=submit, runtime=runtime, requested_time=runtime, nodes=nodes)


def naps(twin: Twin) -> list[tuple[int, ...]]:
    """Every nap as (node, off, on, ready)."""
    found = twin.result().naps
    return sorted(zip(*(getattr(found, name).tolist() for name in ("node", "off", "on", "ready")), strict=True))


def test_a_job_waits_for_the_watts_that_another_one_holds():
    workload = jobs((0, 100, 1), (0, 100, 1), (0, 10, 1))
    result = tg.simulate(SYSTEM, workload, "fcfs", "easy", power_cap=IDLE + 100, power=[60, 60, 40])
    assert list(result.jobs["start"]) == [0, 100, 0]
    assert list(tg.simulate(SYSTEM, workload, power_cap=IDLE + 100, power=[60, 60, 40]).jobs["start"]) == [0, 100, 100]


def test_a_job_that_no_cap_lets_run_is_refused():
    result = tg.simulate(SYSTEM, jobs((0, 10, 1), (0, 10, 1)), power_cap=IDLE + 100, power=[101, 100])
    assert list(result.jobs["state"]) == ["REFUSED", "COMPLETED"]


def test_jobs_are_slowed_to_the_highest_frequency_that_keeps_the_cap():
    slowing = tg.Slowing(floor=0.5, exponent=2.0, sensitivity=1.0)
    options = {"power_cap": IDLE + 100, "over_cap": "slow", "slowing": slowing}
    result = tg.simulate(SYSTEM, jobs((0, 100, 2), (50, 100, 2)), power=[100, 100], **options)
    # from 50 on both run at sqrt(1/2): the first has 50 s of work left, 70.7 s of time; then the second alone at full
    assert result.paces.time.tolist() == [0, 50, 121]
    assert result.paces.frequency == pytest.approx([1.0, 0.5**0.5, 1.0])
    assert list(result.jobs["end"]) == [121, 171]
    assert list(result.jobs["state"]) == ["COMPLETED", "COMPLETED"]
    # at the lowest frequency four of them draw 100 W: the fifth waits
    result = tg.simulate(SYSTEM, jobs(*[(0, 100, 0 + 1)] * 4, (0, 100, 1)), power=[100] * 5, **options)
    assert sorted(result.jobs["start"]) == [0, 0, 0, 0, 200]


def test_nodes_are_switched_off_when_they_have_been_idle_and_boot_for_a_job():
    twin = Twin(SYSTEM, jobs((0, 100, 2), (1000, 50, 3), (1100, 50, 1)), idle_timeout=600)
    twin.advance()
    assert list(twin.result().jobs["start"]) == [0, 1180, 1280]
    assert list(twin.result().jobs["end"]) == [100, 1230, 1330]
    assert naps(twin) == [(0, 700, 1000, 1180), (1, 700, 1000, 1180), (2, 600, 1000, 1180), (3, 600, 1100, 1280)]


def test_a_node_that_is_just_shutting_down_does_so_before_it_boots():
    twin = Twin(SYSTEM, jobs((0, 10, 4), (615, 50, 4)), idle_timeout=600)
    twin.advance()
    assert list(twin.result().jobs["start"]) == [0, 615 + 25 + 180]


def test_awake_nodes_are_preferred_and_sleeping_ones_stay_off():
    twin = Twin(SYSTEM, jobs((0, 10, 1), (5, 900, 1), (910, 10, 2)), idle_timeout=600)
    twin.advance()
    assert list(twin.result().jobs["start"]) == [0, 5, 910 + 180]
    assert sorted(twin.result().placement[2]) == [0, 1]
    assert [nap[0] for nap in naps(twin)] == [0, 2, 3]


def test_a_keeper_switches_nodes_instead_of_the_timeout():
    twin = Twin(SYSTEM, jobs((0, 100, 1), (500, 10, 4)), idle_timeout=math.inf)
    twin.advance(until=200)
    assert twin.switch_off([0, 1, 2]) == 3
    assert twin.switch_off([0]) == 1  # at the same instant it is still on
    twin.advance(until=300)
    assert twin.switch_off([0]) == 0
    assert twin.switch_on([0, 3]) == 1
    twin.advance()
    assert list(twin.result().jobs["start"]) == [0, 500 + 180]
    assert naps(twin) == [(0, 200, 300, 480), (1, 200, 500, 680), (2, 200, 500, 680)]


def test_a_keeper_can_only_switch_nodes_of_a_twin_that_is_built_for_it():
    with pytest.raises(OptionError, match="idle_timeout"):
        Twin(SYSTEM, jobs((0, 1, 1))).switch_off([0])
    with pytest.raises(OptionError, match="between 0 and 3"):
        Twin(SYSTEM, jobs((0, 1, 1)), idle_timeout=5).switch_on([4])


def test_a_run_with_sleeping_nodes_can_be_saved_stopped_and_resumed(tmp_path):
    workload = tg.datasets.load("synthetic", None, model="lublin", jobs=300, capacity=4, load=0.5, seed=1)
    straight = Twin(SYSTEM, workload, policy="sjf", backfill="easy", idle_timeout=60)
    straight.advance()
    twin = Twin(SYSTEM, workload, policy="sjf", backfill="easy", idle_timeout=60)
    twin.advance(events=150)
    twin.save(tmp_path / "state.npz")
    resumed = Twin(SYSTEM, workload, policy="sjf", backfill="easy", idle_timeout=60)
    resumed.load(tmp_path / "state.npz")
    resumed.advance()
    assert naps(resumed) == naps(straight)
    straight.result().save(tmp_path / "run", figures=False)
    kept = tg.Result.load(tmp_path / "run").naps
    assert kept.off.tolist() == straight.result().naps.off.tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"power_cap": IDLE}, "is not above the"),
        ({"power_cap": -1}, "power_cap=-1 must be a positive number of W"),
        ({"idle_timeout": -1}, "idle_timeout=-1 must be 0 or more"),
        ({"power_cap": 1e6, "policy": "replay"}, "power_cap does not go with policy=replay"),
        ({"idle_timeout": 5, "window": 3}, "idle_timeout does not go with window"),
        ({"idle_timeout": 5, "reservations": "nodes"}, "does not go with reservations=nodes"),
        ({"idle_timeout": 5, "outages": [Outage((0,), 0, 5, "drain", planned=True)]}, "does not go with outages"),
        ({"power_cap": 1e6, "power": [1.0, 2.0]}, "power must be 1 numbers of W"),
        ({"power_cap": 1e6, "power": [-1.0]}, "0 or more"),
        ({"over_cap": "slow"}, "needs a power_cap"),
        ({"power_cap": 1e6, "over_cap": "slow", "idle_timeout": 5}, "does not go with idle_timeout"),
    ],
)
def test_what_does_not_make_sense_is_refused_in_a_sentence(options, message):
    with pytest.raises(OptionError, match=message):
        tg.simulate(SYSTEM, jobs((0, 10, 1)), **options)


def test_a_system_must_say_how_its_nodes_are_switched():
    data = SYSTEM.to_dict()
    for part in data["partitions"].values():
        part["states"] = None
    with pytest.raises(OptionError, match="describe that under 'states'"):
        Twin(tg.System.from_dict(data), jobs((0, 10, 1)), idle_timeout=5)
