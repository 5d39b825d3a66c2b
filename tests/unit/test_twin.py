"""The twin: stop, look, decide, copy, save and go on; every way gives the schedule that a straight run gives."""

from __future__ import annotations

import numpy as np
import pytest

import twin_gym as tg
from twin_gym.errors import OptionError, PolicyError, ResultError
from twin_gym.kernels import events as loop
from twin_gym.outages import Outage
from twin_gym.ragged import Ragged
from twin_gym.twin import Twin


@pytest.fixture(scope="module")
def workload():
    return tg.datasets.load("synthetic", None, model="lublin", jobs=400, capacity=64, load=1.0, seed=7)


@pytest.fixture(scope="module")
def system():
    return tg.System.uniform(nodes=64)


CHOICES = [
    {"policy": "fcfs", "backfill": "easy"},
    {"policy": "wfp3", "backfill": "conservative"},
    {"policy": "saf", "backfill": "firstfit", "semantics": "cqsim", "estimates": "hybrid"},
    {"policy": "multifactor", "backfill": "easy", "placement": "contiguous"},
    {
        "policy": "sjf",
        "backfill": "easy",
        "outages": [Outage(tuple(range(40)), 50_000, 90_000, "requeue", planned=False)],
    },
]


def starts(twin: Twin) -> list[object]:
    return list(twin.result().jobs["start"])


@pytest.mark.parametrize("choice", CHOICES, ids=lambda c: f"{c['policy']}-{c['backfill']}")
def test_strides_files_and_forks_change_nothing(workload, system, choice, tmp_path):
    straight = Twin(system, workload, **choice)
    assert straight.advance() == "done"
    expected = starts(straight)

    rng = np.random.default_rng(1)
    strides = Twin(system, workload, **choice)
    while strides.advance(strides.clock + int(rng.integers(0, 5_000))) != "done":
        pass
    assert starts(strides) == expected

    events = Twin(system, workload, **choice)
    assert events.advance(events=100) == "events"
    events.save(tmp_path / "state.npz")
    fork = events.fork()
    kept = events.snapshot()
    events.advance()
    assert starts(events) == expected
    resumed = Twin(system, workload, **choice)
    resumed.load(tmp_path / "state.npz")
    assert resumed.clock == fork.clock < events.clock
    compiled = len(loop.advance.signatures)
    resumed.advance()
    assert starts(resumed) == expected
    assert len(loop.advance.signatures) == compiled, "records from a file must have the type of fresh ones"
    fork.advance()
    assert starts(fork) == expected
    events.restore(kept)
    events.advance()
    assert starts(events) == expected
    events.reset()
    events.advance()
    assert starts(events) == expected


@pytest.mark.parametrize("policy", ["fcfs", "sjf", "wfp3", "f1", "random"])
@pytest.mark.parametrize("backfill", ["none", "easy", "conservative"])
def test_deciding_by_a_policy_is_running_it(workload, system, policy, backfill):
    """A twin built for another policy, told at each decision to use this one, gives this one's schedule."""
    expected = tg.simulate(system, workload, policy, backfill).jobs["start"]
    twin = Twin(system, workload, policy="lcfs")
    while twin.advance(decisions=True) == "decision":
        twin.decide(policy=policy, backfill=backfill)
    assert list(twin.result().jobs["start"]) == list(expected)


def test_starting_jobs_by_hand_is_fcfs(workload, system):
    twin = Twin(system, workload, policy="wfp3")
    while twin.advance(decisions=True) == "decision":
        view = twin.state
        free, chosen = view.free, []
        for row in sorted(view.queue):
            if workload.nodes[row] > free:
                break
            chosen.append(row)
            free -= workload.nodes[row]
        twin.decide(start=chosen)
    assert list(twin.result().jobs["start"]) == list(tg.simulate(system, workload, "fcfs").jobs["start"])


def test_order_shows_a_policys_queue_without_touching_it(workload, system):
    twin = Twin(system, workload, policy="fcfs")
    while len(twin.state.queue) < 6:
        twin.advance(events=1)
    before = twin.state.queue
    shortest = twin.order("sjf")
    assert list(workload.requested_time[shortest]) == sorted(workload.requested_time[before])
    assert np.array_equal(twin.state.queue, before)
    assert np.array_equal(twin.order(), before)


def test_mistakes_are_named(workload, system, tmp_path):
    with pytest.raises(PolicyError, match=r"'fcsf' is unknown\. Did you mean 'fcfs'"):
        Twin(system, workload, policy="fcsf")
    with pytest.raises(PolicyError, match="'longest' or 'largest'"):
        Twin(system, workload, policy="ljf")
    with pytest.raises(OptionError, match=r"option 'backfil' is unknown\. Did you mean 'backfill'"):
        Twin(system, workload, backfil="easy")
    with pytest.raises(PolicyError, match="replay needs a recorded start"):
        Twin(system, workload, policy="replay")
    with pytest.raises(OptionError, match="placement=recorded"):
        Twin(system, workload, placement="recorded")
    with pytest.raises(OptionError, match="predicted"):
        Twin(system, workload, estimates="predicted")
    with pytest.raises(OptionError, match="names node 64, but the system's nodes are 0 to 63"):
        Twin(system, workload, outages=[Outage((64,), 0, 1)])
    with pytest.raises(OptionError, match="window does not go with outages"):
        Twin(system, workload, window=3, outages=[Outage((1,), 0, 1)])
    twin = Twin(system, workload)
    twin.advance(workload.submit[10])
    with pytest.raises(OptionError, match="no decision is due"):
        twin.decide()
    with pytest.raises(OptionError, match="time can't go back"):
        twin.advance(twin.clock - 1)
    twin.save(tmp_path / "a.npz")
    with pytest.raises(ResultError, match="another system, workload, configuration"):
        Twin(system, workload, policy="sjf").load(tmp_path / "a.npz")
    (tmp_path / "b.npz").write_bytes(b"no archive")
    with pytest.raises(ResultError, match="is not a saved state"):
        twin.load(tmp_path / "b.npz")
    with pytest.raises(ResultError, match="can't be written"):
        twin.save(tmp_path / "no" / "c.npz")


def test_a_decision_that_can_not_be_done_says_why(workload, system):
    twin = Twin(system, workload)
    assert twin.advance(decisions=True) == "decision"
    with pytest.raises(OptionError, match="can't start at"):
        twin.decide(start=[len(workload) - 1])
    with pytest.raises(OptionError, match="must lie between"):
        twin.decide(start=[len(workload)])
    with pytest.raises(OptionError, match="not both"):
        twin.decide(start=[], policy="fcfs")


def test_compare_gives_what_simulate_gives_whatever_the_threads(workload, system):
    options = {"policies": ["fcfs", "wfp3", "random"], "backfills": ["none", "easy"], "seed": 3}
    one = tg.compare(system, workload, workers=1, keep=True, **options)
    two = tg.compare(system, workload, workers=2, **options)
    assert one.equals(two)
    for row, result in zip(one.itertuples(), one.attrs["results"], strict=True):
        alone = tg.simulate(system, workload, row.policy, row.backfill, seed=3)
        assert list(alone.jobs["start"]) == list(result.jobs["start"])
        assert row.wait_mean == alone.summary["wait_mean"]


def test_compare_checks_the_last_choice_before_the_first_run(workload, system):
    with pytest.raises(PolicyError, match="wfp33"):
        tg.compare(system, workload, policies=["fcfs", "wfp33"])
    with pytest.raises(PolicyError, match="eazy"):
        tg.compare(system, workload, backfills=["none", "eazy"])
    with pytest.raises(OptionError, match="at least one"):
        tg.compare(system, workload, policies=[])


def test_predictions_feed_the_backfill(workload, system):
    perfect = tg.simulate(system, workload, "fcfs", "easy", estimates="perfect", kill_at_request=False)
    predicted = tg.simulate(
        system, workload, "fcfs", "easy", estimates="predicted", predicted=workload.runtime, kill_at_request=False
    )
    assert list(perfect.jobs["start"]) == list(predicted.jobs["start"])
    with pytest.raises(OptionError, match="at least 1 s"):
        tg.simulate(system, workload, estimates="predicted", predicted=np.zeros(len(workload)))


def recorded(starts_: list[int], nodes: list[list[int]], runtime: int = 100) -> tg.Workload:
    """Jobs of a log that says when and where each of them ran."""
    frame = {
        "id": range(1, len(starts_) + 1),
        "submit": [0] * len(starts_),
        "runtime": [runtime] * len(starts_),
        "requested_time": [50] * len(starts_),
        "nodes": [len(n) for n in nodes],
        "start": starts_,
    }
    return tg.Workload.build(**frame, node_ids=Ragged.from_rows(nodes))


def test_replay_repeats_starts_ends_and_nodes():
    log = recorded([5, 7, 105], [[0, 3], [1], [3, 1]])
    result = tg.simulate(tg.System.uniform(nodes=4), log, policy="replay")
    assert list(result.jobs["start"]) == [5, 7, 105]
    assert list(result.jobs["end"]) == [105, 107, 205]  # as recorded, not cut at the requested 50 s
    # node 1 is held until 107, so the third job, due at 105, gets the lowest free ones
    assert [sorted(map(int, result.placement[j])) for j in range(3)] == [[0, 3], [1], [0, 2]]
    assert result.summary["relocated"] == 1
    assert result.summary["delayed"] == 0


def test_replay_counts_what_does_not_fit():
    result = tg.simulate(tg.System.uniform(nodes=2), recorded([0, 10], [[0, 1], [0]]), policy="replay")
    assert list(result.jobs["start"]) == [0, 100]
    assert result.summary["delayed"] == 1


def test_recorded_nodes_are_places_in_the_racks():
    """Frontier's rack 41 is missing: the place after it is the scheduler's node 41 * 128."""
    frontier = tg.System.load("frontier")
    log = recorded([0, 0], [[0], [42 * 128]])
    result = tg.simulate(frontier, log, policy="replay")
    assert [list(map(int, result.placement[j])) for j in range(2)] == [[0], [41 * 128]]
    missing = tg.simulate(frontier, recorded([0], [[41 * 128]]), policy="replay")
    assert missing.summary["relocated"] == 1
