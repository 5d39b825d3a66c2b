"""What surrounds an episode: weights, prices, plants, what runs when it begins, what fails, what is visible."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest

import twin_gym as tg
from twin_gym.envs.core import TwinVectorEnv
from twin_gym.envs.single import TwinEnv
from twin_gym.errors import OptionError
from twin_gym.outages import Outage
from twin_gym.power import power_history
from twin_gym.site import Surroundings

NODES = 64
SMALL = {
    "workload": {"loader": "synthetic", "model": "lublin", "jobs": 400, "capacity": 32, "load": 0.9, "seed": 5},
    "episode_jobs": 30,
    "window": 8,
}


@pytest.fixture(scope="module")
def log() -> tg.Workload:
    return tg.datasets.load("synthetic", None, model="lublin", jobs=300, capacity=NODES, load=0.9, seed=3)


@pytest.fixture(scope="module")
def system() -> tg.System:
    return tg.System.uniform(nodes=NODES)


def play(env: TwinEnv, choose, first: int = 0) -> dict:
    """Play the episode that begins with a row; return the last info."""
    _, info = env.reset(seed=0, options={"first": first})
    over = False
    while not over:
        _, _, over, _, info = env.step(choose(info))
    return info


def starts_of(env: TwinEnv) -> np.ndarray:
    return env.batch._state.job["start"][0]


# ------------------------------------------------------------------------------------------------ weights


@pytest.mark.parametrize("backfill", ["none", "easy"])
@pytest.mark.parametrize("family", ["loglinear", "exponential", "multifactor"])
def test_weights_that_stay_are_a_policy(family, backfill, log, system):
    rng = np.random.default_rng(1)
    terms = {"loglinear": 10, "exponential": 4, "multifactor": 4}[family]
    env = TwinEnv(
        task="weights", family=family, backfill=backfill, interval="episode", system=system, workload=log,
        episode_jobs=len(log),
    )  # fmt: skip
    for _ in range(3):
        action = rng.uniform(-1, 1, terms).astype(np.float32)
        play(env, lambda _, action=action: action)
        weights = action.astype(float)
        if family == "multifactor":
            age, size, fairshare, queue = 0.5 + 0.5 * weights
            factors = tg.Multifactor(age=age, size=size, fairshare=fairshare, queue=queue)
            expected = tg.simulate(system, log, family, backfill, multifactor=factors)
        else:
            expected = tg.simulate(system, log, family, backfill, weights=tuple(weights))
        assert starts_of(env).tolist() == expected.jobs["start"].tolist()


def test_weights_are_forgotten_when_an_episode_ends():
    env = TwinEnv(task="weights", interval="episode", **SMALL)
    first, _ = env.reset(seed=3, options={"first": 40})
    env.step(np.full(10, 0.7, np.float32))
    again, _ = env.reset(options={"first": 40})
    np.testing.assert_array_equal(first, again)


@pytest.mark.parametrize("action", [np.full(10, np.nan, np.float32), np.zeros(4, np.float32)])
def test_weights_must_be_numbers_of_the_right_shape(action):
    env = TwinEnv(task="weights", **SMALL)
    env.reset(seed=0)
    with pytest.raises(OptionError, match="finite numbers of shape"):
        env.step(action)


# ------------------------------------------------------------------------------------------------ what is asked


def test_a_strict_environment_raises_what_others_count():
    kind = TwinEnv(pick="mask", **SMALL)
    kind.reset(seed=0)
    kind.step(5)
    strict = TwinEnv(pick="mask", strict=True, **SMALL)
    _, info = strict.reset(seed=0)
    wrong = int(np.argmin(info["action_mask"]))
    for action in (wrong, -1, 9):
        with pytest.raises(OptionError, match="is masked out"):
            strict.step(action)
    strict.step(int(np.argmax(info["action_mask"])))


def test_the_last_mask_of_an_episode_outlives_the_next_reset():
    env = TwinVectorEnv(4, copy=False, autoreset_mode="SameStep", pick="mask", **SMALL)
    plain = TwinVectorEnv(4, autoreset_mode="SameStep", pick="mask", **SMALL)
    _, info = env.reset(seed=0)
    plain.reset(seed=0)
    ends = 0
    while ends < 4:
        actions = info["action_mask"].argmax(axis=1)
        _, _, over, _, info = env.step(actions)
        expected = plain.step(actions)[-1]
        if over.any():
            ends += 1
            np.testing.assert_array_equal(
                info["final_info"]["action_mask"][over], expected["final_info"]["action_mask"][over]
            )


def test_buffers_that_take_turns_stay_as_they_are_for_one_step():
    env = TwinVectorEnv(3, copy=False, **SMALL)
    plain = TwinVectorEnv(3, **SMALL)
    seen, info = env.reset(seed=0)
    expected, _ = plain.reset(seed=0)
    for _ in range(60):
        before, mask = seen.copy(), info["action_mask"].copy()
        actions = mask.argmax(axis=1)
        later, _, _, _, new = env.step(actions)
        expected, *_ = plain.step(actions)
        np.testing.assert_array_equal(seen, before)
        np.testing.assert_array_equal(info["action_mask"], mask)
        np.testing.assert_array_equal(later, expected)
        assert later is not seen
        seen, info = later, new


# ------------------------------------------------------------------------------------------------ what is visible


def waiting_ids(env: TwinEnv) -> np.ndarray:
    sim = env.batch._state.sim[0]
    return env.batch._state.queue[0, sim["first"] : sim["end"]].copy()


@pytest.mark.parametrize("view", ["head", "split", "sample"])
def test_the_window_shows_the_head_the_tail_or_a_sample_and_picks_what_it_shows(view, log, system):
    env = TwinEnv(view=view, window=8, pick="mask", system=system, workload=log, episode_jobs=len(log), layout="dict")
    observation, info = env.reset(seed=0)
    over, longest, shown_behind = False, 0, set()
    rng = np.random.default_rng(0)
    while not over:
        queue = waiting_ids(env)
        requests = log.requested_time[queue]
        shown = observation["jobs"][:, 1][observation["jobs"][:, 8] == 1]
        expected = requests / (requests + 3600)
        longest = max(longest, len(queue))
        if len(queue) <= 8 or view == "head":
            np.testing.assert_allclose(shown, expected[:8], rtol=1e-5)
        else:
            np.testing.assert_allclose(shown[:4], expected[:4], rtol=1e-5)
            if view == "split":
                np.testing.assert_allclose(shown[4:], expected[-4:], rtol=1e-5)
            else:
                parts = np.array_split(np.arange(4, len(queue)), 4)
                for value, part in zip(shown[4:], parts, strict=True):
                    low, high = part[0] - 1, part[-1] + 2
                    assert np.isclose(expected[low:high], value, rtol=1e-5).any()
                shown_behind.add(shown[4:].tobytes())
        able = np.flatnonzero(info["action_mask"])
        action = int(rng.choice(able))
        before = set(queue.tolist())
        observation, _, over, _, info = env.step(action)
        if action < 8 and len(queue) > 8 and view == "split" and action >= 4:
            started = [who for who in before if starts_of(env)[who] > -(2**62)]
            assert queue[len(queue) - 8 + action] in started
    assert longest > 12


def test_details_tell_users_energy_and_deadlines(system):
    frame = pd.DataFrame(
        {
            "id": [1, 2, 3, 4], "submit": [0, 0, 0, 0], "runtime": [3600] * 4, "requested_time": [3600] * 4,
            "nodes": [32, 16, 16, 64], "user": ["a", "a", "b", "b"], "deadline": [0, 3600, 10_000, 10**6],
        }
    )  # fmt: skip
    log = tg.Workload.from_frame(frame)
    env = TwinEnv(
        system=system, workload=log, features=["details"], window=4, pick="mask", episode_jobs=4, layout="dict"
    )
    observation, _ = env.reset(seed=0)
    energy, nodes, queued, share, slack = observation["details"].T
    assert (nodes == 0).all()
    np.testing.assert_allclose(queued, 2 / 66, rtol=1e-6)
    assert (share == 1).all()
    assert energy[0] == pytest.approx(energy[3] / 2 / (1 - energy[3] / 2), rel=0.3)
    assert slack[1] == 0.5
    assert slack[0] < 0.5 < slack[2] < slack[3]
    observation, *_ = env.step(0)
    _, nodes, queued, share, _ = observation["details"].T
    np.testing.assert_allclose(nodes, [0.5, 0, 0, 0])  # a's next job, then b's two
    np.testing.assert_allclose(queued, [1 / 65, 2 / 66, 2 / 66, 0], rtol=1e-6)
    np.testing.assert_allclose(share, [0.5, 1, 1, 0])


def test_every_group_stays_in_bounds():
    env = gym.make_vec(
        "TwinGym/SelectJob-v0", num_envs=8, pick="mask", price="daily", carbon="daily", system="selene", cooling=True,
        features=["jobs", "details", "state", "releases", "facility", "market"], estimate_noise=0.5, view="sample",
        arrival_scale=(0.5, 2.0), runtime_scale=(0.5, 2.0), prepopulate="sjf+easy", power_cap=2e6, tick=60, **SMALL,
    )  # fmt: skip
    observation, info = env.reset(seed=0)
    rng = np.random.default_rng(0)
    assert len(env.get_attr("layout")[0].names() if hasattr(env, "get_attr") else env.layout.names()) > 0
    for _ in range(300):
        assert observation in env.observation_space
        actions = np.argmax(rng.random(info["action_mask"].shape) * info["action_mask"], axis=1)
        observation, *_, info = env.step(actions)


# ------------------------------------------------------------------------------------------------ power and money


def test_cost_carbon_and_ramp_are_those_of_the_run(log, system):
    env = TwinEnv(
        task="dispatch", pool=[("sjf", "easy")], system=system, workload=log, episode_jobs=len(log), price="daily",
        carbon="daily", reward={"cost": -1.0},
    )  # fmt: skip
    info = play(env, lambda _: 0)
    result = tg.simulate(system, log, "sjf", "easy")
    power = power_history(result, system)
    around = Surroundings.of(system, None, (0, int(power.time[-1]) + 1), price="daily", carbon="daily")
    # a job is believed to draw whole watts, rounded up; prices are means of quarters of an hour
    assert info["objective/cost"] == pytest.approx(around.cost(power.time, power.total), rel=1e-3)
    assert info["objective/carbon"] == pytest.approx(around.co2_kg(power.time, power.total), rel=1e-3)
    assert info["objective/ramp"] == pytest.approx(power.summary["ramp_max"] / 1e3, rel=1e-3)


def test_the_plant_of_an_environment_is_the_plant_of_the_facility():
    system = tg.System.load("selene")
    log = tg.datasets.load("synthetic", None, model="lublin", jobs=150, capacity=system.nodes, load=0.9, seed=4)
    env = TwinEnv(
        task="dispatch", pool=[("fcfs", "easy")], system=system, workload=log, episode_jobs=len(log), cooling=True,
        features=["facility"],
    )  # fmt: skip
    info = play(env, lambda _: 0)
    facility = tg.operate(tg.simulate(system, log, "fcfs", "easy"), system, resolution=15)
    ours = info["objective/energy"] * 3.6e6
    # the same heat in all, but spread evenly over the CDUs
    assert ours == pytest.approx(facility.summary["facility_energy"], rel=0.01)
    without = power_history(tg.simulate(system, log, "fcfs", "easy"), system)
    cooling = ours - without.energy() + without.model.pumps * (without.time[-1] - without.time[0])
    assert cooling == pytest.approx(facility.summary["cooling_energy"], rel=0.05)


# ------------------------------------------------------------------------------------------------ episodes


@pytest.mark.parametrize("base", [("fcfs", "easy"), ("sjf", "none")])
def test_a_prepopulated_episode_goes_on_where_the_base_policy_was(base, log, system):
    whole = tg.simulate(system, log, *base).jobs
    env = TwinEnv(
        task="dispatch", pool=[base], system=system, workload=log, episode_jobs=60, prepopulate="+".join(base),
        estimates="requested",
    )  # fmt: skip
    for first in (0, 37, 120, 200):
        info = play(env, lambda _: 0, first)
        setup = env.batch._setups[0]
        rows = slice(first, first + 60)
        ours = starts_of(env)[setup["before"] : setup["count"]]
        # until the next job after the episode's last comes, which the whole run has and the episode has not
        theirs = whole["start"].to_numpy()[rows]
        until = log.submit[first + 60]
        np.testing.assert_array_equal(ours[theirs < until], theirs[theirs < until])
        assert (ours[theirs >= until] >= until).all()
        assert (theirs < until).sum() > 10
        assert setup["before"] == 0 or env.batch._state.sim["running"][0] == 0
    assert info["objective/wait"] >= 0


def test_a_replayed_beginning_is_what_the_log_says(system):
    log = tg.Workload.build(
        id=[1, 2, 3, 4], submit=[0, 10, 20, 30], start=[0, 10, 500, 600], runtime=[100, 5, 50, 50],
        requested_time=[200] * 4, nodes=[40, 10, 30, 60],
    )  # fmt: skip
    env = TwinEnv(system=system, workload=log, prepopulate="replay", episode_jobs=1, window=4)
    _, info = env.reset(seed=0, options={"first": 3})
    # job 1 still runs on 40 nodes, job 2 has ended, job 3 waits with job 4
    assert info["clock"] == 30
    assert waiting_ids(env).tolist() == [2, 3]
    assert env.batch._state.sim["free"][0] == 24
    assert env.batch._setups["counted"][0] == 2


def test_an_episode_may_be_a_span_of_time(log, system):
    span = 86_400
    env = TwinVectorEnv(32, system=system, workload=log, episode_time=span)
    env.reset(seed=0)
    for setup in env._setups:
        inside = (log.submit >= setup["clock"]) & (log.submit < setup["clock"] + span)
        assert setup["count"] == inside.sum()
        assert setup["clock"] + span <= log.submit[-1]


def test_noise_changes_what_is_believed_and_nothing_else(log, system):
    def belief(noise: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
        env = TwinEnv(
            task="dispatch", pool=[("fcfs", "none")], system=system, workload=log, episode_jobs=len(log),
            estimate_noise=noise,
        )  # fmt: skip
        _, _ = env.reset(seed=seed)
        over = False
        while not over:
            _, _, over, _, _ = env.step(0)
        return env.batch._state.job["plan"][0].copy(), starts_of(env).copy()

    exact, starts = belief(0.0, 0)
    np.testing.assert_array_equal(exact, log.requested_time)
    noisy, same = belief(0.5, 0)
    np.testing.assert_array_equal(starts, same)
    ratio = np.log(noisy / exact)
    assert np.std(ratio) == pytest.approx(0.5, rel=0.15)
    assert abs(np.mean(ratio)) < 0.1
    other, _ = belief(0.5, 1)
    assert (other != noisy).any()


def test_arrivals_and_run_times_are_scaled(log, system):
    env = TwinEnv(
        task="dispatch", pool=[("fcfs", "none")], system=system, workload=log, episode_jobs=len(log),
        arrival_scale=2.0, runtime_scale=0.5,
    )  # fmt: skip
    play(env, lambda _: 0)
    job = env.batch._state.job[0]
    np.testing.assert_allclose(job["submit"] - log.submit[0], (log.submit - log.submit[0]) / 2, atol=1)
    np.testing.assert_allclose(job["run"], np.minimum(log.runtime, log.requested_time) / 2, atol=1)
    assert (job["start"] >= job["submit"]).all()


@pytest.mark.parametrize("mode", ["requeue", "fail"])
def test_failures_are_outages_that_nobody_has_planned(mode, log, system):
    env = TwinEnv(
        task="dispatch", pool=[("fcfs", "easy")], system=system, workload=log, episode_jobs=len(log),
        failures={"mtbf": 400.0, "repair": 3.0, "seed": 2, "mode": mode},
    )  # fmt: skip
    info = play(env, lambda _: 0)
    table = env.batch.world.outages
    outages = [
        Outage((int(node),), int(start), int(end), mode=mode, planned=False)
        for node, start, end in zip(table.values, table.start, table.end, strict=True)
    ]
    expected = tg.simulate(system, log, "fcfs", "easy", outages=outages)
    assert starts_of(env).tolist() == expected.jobs["start"].tolist()
    if mode == "requeue":
        assert expected.jobs["restarts"].sum() > 0
        assert info["objective/wait"] == pytest.approx(expected.summary["wait_mean"])
        assert info["objective/bounded_slowdown"] == pytest.approx(expected.summary["bounded_slowdown_mean"])
    else:
        assert (expected.jobs["state"] == "FAILED").any()


# ------------------------------------------------------------------------------------------------ RLScheduler


def as_rlscheduler(log: tg.Workload, nodes: int, key, backfill: bool) -> list[int]:
    """Schedule as RLScheduler's simulator does: whatever is picked blocks; others run only if they end before it."""
    jobs = [
        (int(s), int(r), int(t), int(n))
        for s, r, t, n in zip(log.submit, log.runtime, log.requested_time, log.nodes, strict=True)
    ]
    start, queue, running, free, now, coming = [-1] * len(jobs), [], [], nodes, jobs[0][0], 0

    def let_time_run() -> None:
        nonlocal now, free, coming
        ends = [end for end, _ in running]
        submits = [jobs[coming][0]] if coming < len(jobs) else []
        now = max(now, min(ends + submits))
        for item in sorted(running):
            if item[0] <= now:
                running.remove(item)
                free += jobs[item[1]][3]
        while coming < len(jobs) and jobs[coming][0] <= now:
            queue.append(coming)
            coming += 1

    def begin(j: int) -> None:
        nonlocal free
        start[j] = now
        free -= jobs[j][3]
        queue.remove(j)
        running.append((now + jobs[j][1], j))

    while coming < len(jobs) or queue:
        while not queue:
            let_time_run()
        j = min(queue, key=lambda k: (key(*jobs[k]), k))
        if jobs[j][3] > free:
            shadow, room = now, free
            for end, k in sorted((start[k] + jobs[k][2], k) for _, k in running):
                room += jobs[k][3]
                shadow = end
                if room >= jobs[j][3]:
                    break
            while jobs[j][3] > free:
                if backfill:
                    for k in sorted(queue):
                        if now + jobs[k][2] < shadow and jobs[k][3] <= free:
                            begin(k)
                let_time_run()
        begin(j)
    return start


@pytest.mark.parametrize("backfill", [False, True])
@pytest.mark.parametrize("policy", ["fcfs", "sjf", "f1"])
def test_blocking_picks_are_rlschedulers(policy, backfill, log, system):
    keys = {
        "fcfs": lambda s, r, t, n: s,
        "sjf": lambda s, r, t, n: t,
        "f1": lambda s, r, t, n: np.log10(t) * n + 870 * np.log10(max(s, 1)),
    }
    env = TwinEnv(
        system=system, workload=log, pick="block", policy=policy, origin="log", episode_jobs=len(log), window=128,
        backfill="ending_before" if backfill else "none", layout="rlscheduler",
    )  # fmt: skip
    play(env, lambda _: 0)
    assert starts_of(env).tolist() == as_rlscheduler(log, NODES, keys[policy], backfill)
