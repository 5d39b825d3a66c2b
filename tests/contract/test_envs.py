"""Every environment keeps Gymnasium's contract and the twin's: same seed same episode, whatever the batch."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import RecordEpisodeStatistics, RecordVideo
from gymnasium.wrappers.vector import NormalizeObservation
from gymnasium.wrappers.vector import RecordEpisodeStatistics as VectorStatistics

import twin_gym as tg
from twin_gym.envs import register_envs
from twin_gym.envs.core import TwinVectorEnv, World
from twin_gym.envs.options import env_options
from twin_gym.envs.single import TwinEnv
from twin_gym.errors import OptionError, WorkloadError
from twin_gym.kernels.tally import METERED, NAMES
from twin_gym.policies import FAMILIES
from twin_gym.power import power_history

IDS = register_envs()
SMALL = {
    "workload": {"loader": "synthetic", "model": "lublin", "jobs": 400, "capacity": 32, "load": 0.9, "seed": 5},
    "episode_jobs": 30,
    "window": 8,
}


@pytest.fixture(scope="module")
def log() -> tg.Workload:
    return tg.datasets.load("synthetic", None, model="lublin", jobs=200, capacity=64, load=0.9, seed=3)


@pytest.fixture(scope="module")
def system() -> tg.System:
    return tg.System.uniform(nodes=64)


def legal(mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw one of the actions that make sense in each environment."""
    return np.argmax(rng.random(mask.shape) * mask, axis=-1)


def choose(env: gym.Env, info: dict, rng: np.random.Generator) -> np.ndarray:
    """Draw an action, or one for each environment, that makes sense."""
    if "action_mask" in info:
        return legal(info["action_mask"], rng)
    return rng.uniform(-1.2, 1.2, env.action_space.shape).astype(np.float32)


def play(env: TwinEnv, choose) -> float:
    """Play one episode and return the sum of rewards."""
    _, info = env.reset(seed=0)
    total, over = 0.0, False
    while not over:
        _, reward, over, _, info = env.step(choose(info.get("action_mask")))
        total += reward
    return total


# ------------------------------------------------------------------------------------------------ Gymnasium


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("layout", ["flat", "dict"])
def test_gymnasiums_own_checker_is_content(name, layout):
    check_env(gym.make(name, layout=layout, **SMALL).unwrapped)


@pytest.mark.parametrize("name", IDS)
def test_spec_and_environment_survive_json_and_pickle(name):
    env = gym.make(name, **SMALL)
    again = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    third = gym.make(pickle.loads(pickle.dumps(env.spec)))
    first, _ = env.reset(seed=4)
    for other in (again, third):
        np.testing.assert_array_equal(other.reset(seed=4)[0], first)


@pytest.mark.parametrize("again", [lambda env: pickle.loads(pickle.dumps(env)), copy.deepcopy], ids=["pickle", "copy"])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_copy_in_the_middle_of_an_episode_goes_on_by_itself(again, threads):
    options = {
        **SMALL,
        "system": "selene",
        "cooling": True,
        "prepopulate": "fcfs+easy",
        "features": ["jobs", "facility"],
    }
    env = TwinVectorEnv(3, autoreset_mode="SameStep", threads=threads, copy=False, **options)
    _, info = env.reset(seed=0)
    for _ in range(9):
        _, _, _, _, info = env.step(info["action_mask"].argmax(axis=1))
    other = again(env)
    mask = info["action_mask"].copy()
    for _ in range(60):  # several episodes: their draws go on, too
        seen, reward, _, _, info = env.step(mask.argmax(axis=1))
        same, equal, _, _, told = other.step(mask.argmax(axis=1))
        np.testing.assert_array_equal(seen, same)
        np.testing.assert_array_equal(reward, equal)
        np.testing.assert_array_equal(info["clock"], told["clock"])
        mask = info["action_mask"].copy()
    env.step(mask.argmax(axis=1))
    assert (other._state.sim["clock"] == told["clock"]).all()  # it has a state of its own
    env.close()
    other.close()


def test_registering_twice_changes_nothing():
    before = dict(gym.registry)
    assert register_envs() == IDS
    assert dict(gym.registry) == before


@pytest.mark.parametrize("name", IDS)
def test_many_random_steps_stay_in_bounds_with_an_action_left(name):
    env = gym.make_vec(name, num_envs=8, **SMALL)
    space, rng = env.observation_space, np.random.default_rng(0)
    observation, info = env.reset(seed=0)
    for step in range(100_000 // 8):
        assert 0 <= observation.min() <= observation.max() <= 1
        assert step % 100 or observation in space
        if "action_mask" in info:
            assert info["action_mask"].any(axis=1).all()
            actions = rng.integers(0, env.single_action_space.n, 8)
        else:
            actions = choose(env, info, rng)
        observation, *_, info = env.step(actions)
    assert (info["invalid"] >= 0).all()


def test_wrappers_of_gymnasium_work_on_top():
    env = RecordEpisodeStatistics(gym.make(IDS[0], **SMALL))
    _, info = env.reset(seed=1)
    over, total = False, 0.0
    while not over:
        _, reward, over, _, info = env.step(int(info["action_mask"].argmax()))
        total += reward
    assert info["episode"]["r"] == pytest.approx(total)

    batch = NormalizeObservation(VectorStatistics(gym.make_vec(IDS[0], num_envs=4, **SMALL)))
    batch.reset(seed=1)
    for _ in range(80):
        observation, *_ = batch.step(batch.action_space.sample())
    assert np.isfinite(observation).all()
    assert batch.env.episode_count > 0


@pytest.mark.parametrize("name", IDS)
def test_pictures_and_text_show_the_present_state(name):
    picture = gym.make(name, render_mode="rgb_array", **SMALL)
    picture.reset(seed=0)
    first = picture.render()
    assert first.shape == (480, 720, 3)
    picture.step(picture.action_space.sample())
    assert (picture.render() != first).any()
    text = gym.make(name, render_mode="ansi", **SMALL)
    text.reset(seed=0)
    assert "of 32 nodes busy" in text.render()


class Screen:
    """Stands for matplotlib's pyplot where there is a screen."""

    def __init__(self) -> None:
        self.shown: list[np.ndarray] = []

    def __getattr__(self, name):
        return self

    def __call__(self, *arguments, **options):
        self.shown += [a for a in arguments if isinstance(a, np.ndarray)]
        return self


def test_a_person_sees_each_reset_and_step(monkeypatch, capsys):
    import matplotlib
    from matplotlib import pyplot

    blind = gym.make(IDS[0], render_mode="human", **SMALL)
    blind.reset(seed=0)
    assert "of 32 nodes busy" in capsys.readouterr().out
    screen = Screen()
    monkeypatch.setattr(matplotlib, "get_backend", lambda: "qtagg")
    for name in ("figure", "show", "pause", "close"):
        monkeypatch.setattr(pyplot, name, screen)
    env = gym.make(IDS[0], render_mode="human", **SMALL)
    _, info = env.reset(seed=0)
    env.step(int(info["action_mask"].argmax()))
    assert env.render() is None
    pictures = [shown for shown in screen.shown if shown.ndim == 3]
    assert len(pictures) == 3  # the first one is put into the window and shown
    assert (pictures[-1] != pictures[0]).any()
    env.close()


def test_pictures_of_a_capped_and_cooled_machine_tell_both():
    env = TwinEnv(
        render_mode="rgb_array", system="selene", cooling=True, power_cap=1.5e6, prepopulate="fcfs+easy",
        workload={"loader": "synthetic", "model": "lublin", "jobs": 600, "capacity": 560, "load": 0.9, "seed": 1},
        episode_jobs=30, pick="mask",
    )  # fmt: skip
    _, info = env.reset(seed=0)
    for _ in range(20):
        picture = env.render()
        _, _, over, _, info = env.step(int(info["action_mask"].argmax()))
        if over:
            break
    assert picture.shape == (560, 720, 3)
    cap_line = (picture[286:350, 400] == (200, 30, 30)).all(axis=1)
    assert cap_line.sum() == 1


def test_videos_are_recorded_frame_by_frame(tmp_path):
    pytest.importorskip("moviepy", reason="gymnasium's RecordVideo needs moviepy")
    env = RecordVideo(gym.make(IDS[0], render_mode="rgb_array", **SMALL), str(tmp_path), episode_trigger=lambda _: True)
    _, info = env.reset(seed=0)
    over = False
    while not over:
        _, _, over, _, info = env.step(int(info["action_mask"].argmax()))
    env.close()
    assert list(tmp_path.glob("*.mp4"))


# ------------------------------------------------------------------------------------------------ one core


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_a_batch_is_a_loop_of_single_environments(name, mode):
    count, steps = 4, 120
    batch = gym.make_vec(name, num_envs=count, autoreset_mode=mode, **SMALL)
    assert batch.metadata["autoreset_mode"] == mode
    singles = [gym.make(name, **SMALL).unwrapped for _ in range(count)]
    rng = np.random.default_rng(7)
    seen, info = batch.reset(seed=10)
    for i, env in enumerate(singles):
        observation, _ = env.reset(seed=10 + i)
        np.testing.assert_array_equal(observation, seen[i])
    over = np.zeros(count, bool)
    ends = 0
    for _ in range(steps):
        actions = choose(batch, info, rng)
        if mode == AutoresetMode.DISABLED and over.any():
            seen, info = batch.reset(options={"reset_mask": over})
            for i in np.flatnonzero(over):
                singles[i].reset()
            over[:] = False
            continue
        seen, reward, terminated, truncated, info = batch.step(actions)
        for i, env in enumerate(singles):
            if over[i]:  # next-step mode: this step has begun the next episode
                observation, single = env.reset()
                expected = (0.0, False)
            else:
                observation, gain, end, _, single = env.step(actions[i])
                expected = (gain, end)
                if end and mode == AutoresetMode.SAME_STEP:
                    np.testing.assert_array_equal(info["final_obs"][i], observation)
                    assert info["final_info"]["clock"][i] == single["clock"]
                    observation, single = env.reset()
            np.testing.assert_array_equal(observation, seen[i])
            if "action_mask" in info:
                np.testing.assert_array_equal(single["action_mask"], info["action_mask"][i])
            assert (reward[i], terminated[i]) == expected
        assert not truncated.any()
        ends += terminated.sum()
        over = terminated.copy() if mode != AutoresetMode.SAME_STEP else over
    assert ends > 0


RUN = """
import hashlib, sys
import numpy as np
import gymnasium as gym
import twin_gym.envs
options = eval(sys.argv[2])
env = gym.make_vec(sys.argv[1], num_envs=3, **options)
seen, digest = env.reset(seed=5)[0], hashlib.sha256()
actions = np.random.default_rng(0).uniform(-1, 1, (80, 3, 10))
for row in actions:
    act = (row[:, 0] > 0).astype(int) if hasattr(env.single_action_space, "n") else row
    seen, reward, *_ = env.step(act)
    digest.update(seen.tobytes() + reward.tobytes())
print(digest.hexdigest())
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", [IDS[0], IDS[-1]])
def test_another_process_sees_the_same(name, tmp_path):
    def digest(seed: str) -> str:
        command = [sys.executable, "-c", RUN, name, repr(SMALL)]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        return done.stdout

    assert digest("1") == digest("2")


def test_neither_threads_nor_the_size_of_the_batch_change_anything():
    def run(count: int, threads: int) -> list[np.ndarray]:
        env = TwinVectorEnv(count, threads=threads, autoreset_mode="SameStep", **SMALL)
        rng = [np.random.default_rng(i) for i in range(count)]
        _, info = env.reset(seed=0)
        seen = []
        for _ in range(60):
            actions = np.array([legal(mask, r) for mask, r in zip(info["action_mask"], rng, strict=True)])
            observation, reward, *_, info = env.step(actions)
            seen.append(np.concatenate([observation[0], reward[:1]]))
        env.close()
        return seen

    expected = run(1, 1)
    for count, threads in ((5, 1), (5, 2), (3, 8)):
        np.testing.assert_array_equal(run(count, threads), expected)


def test_observations_can_be_written_where_the_caller_keeps_them():
    shape = (2, TwinVectorEnv(1, **SMALL).layout.size)
    buffer = np.full(shape, 7.0, np.float32)
    env = TwinVectorEnv(2, buf=buffer, **SMALL)
    observation, _ = env.reset(seed=0)
    assert observation is buffer
    np.testing.assert_array_equal(buffer, TwinVectorEnv(2, **SMALL).reset(seed=0)[0])
    with pytest.raises(OptionError, match="buf must be"):
        TwinVectorEnv(2, buf=buffer[:1], **SMALL)


# ------------------------------------------------------------------------------------------------ the twin's rules

FIXED = ["fcfs", "sjf", "largest", "f1", "random"]
MOVING = ["wfp3", "unicep", "bal"]


def policies() -> list[str]:
    return [name for name in tg.policies()["policy"] if name != "replay" and name not in FAMILIES]


def starts_of(env: TwinEnv) -> list[int]:
    return env.batch._state.job["start"][0].tolist()


@pytest.mark.parametrize("policy", policies())
def test_an_agent_that_plays_a_policy_gives_the_schedule_of_simulate(policy, log, system):
    whole = {"system": system, "workload": log, "window": len(log), "episode_jobs": len(log)}
    first = {"none": lambda mask: 0 if mask[0] else len(log), "firstfit": lambda mask: int(mask.argmax())}
    for backfill in ("none", "firstfit", "easy", "conservative"):
        expected = tg.simulate(system, log, policy, backfill)
        players = [
            (TwinEnv(task="dispatch", pool=[("lcfs", "none"), (policy, backfill)], **whole), lambda mask: 1),
            (TwinEnv(task="inspect", policy=policy, backfill=backfill, **whole), lambda mask: 0),
        ]
        if backfill in first:
            players.append((TwinEnv(policy=policy, pick="mask", **whole), first[backfill]))
        else:
            players.append((TwinEnv(policy=policy, pick="reserve", backfill=backfill, **whole), lambda mask: 0))
        if backfill == "easy":
            players.append((TwinEnv(task="backfill", policy=policy, **whole), lambda mask: int(mask.argmax())))
        for env, choose in players:
            total = play(env, choose)
            assert starts_of(env) == expected.jobs["start"].tolist(), env.batch.options.task
            assert -total == pytest.approx(expected.summary["bounded_slowdown_mean"])


def test_a_picked_job_blocks_until_it_fits():
    log = tg.Workload.build(
        id=[1, 2, 3], submit=[0, 1, 2], runtime=[10, 10, 10], requested_time=[10] * 3, nodes=[3, 4, 1]
    )
    env = TwinEnv(system=4, workload=log, pick="block", episode_jobs=3, window=4)
    play(env, lambda mask: int(mask.argmax()))
    assert starts_of(env) == [0, 10, 20]  # the third had room from the beginning, but the second was picked first
    env = TwinEnv(system=4, workload=log, pick="block", backfill="easy", episode_jobs=3, window=4)
    play(env, lambda mask: int(mask.argmax()))
    assert starts_of(env) == [0, 10, 20]  # it would end at 12, after the shadow time of the second


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("weights", [{term: 0.5 + k for k, term in enumerate(NAMES)}, "multi_objective"], ids=str)
def test_dense_rewards_add_up_to_the_terminal_one_and_terms_to_the_reward(name, weights):
    rng = np.random.default_rng(3)
    totals = []
    for dense in (True, False):
        env = gym.make(name, reward=weights, dense=dense, **SMALL)
        _, info = env.reset(seed=2)
        rng, over, total = np.random.default_rng(3), False, 0.0
        while not over:
            _, reward, over, _, info = env.step(choose(env, info, rng))
            terms = sum(value for key, value in info.items() if key.startswith("reward/"))
            assert terms == pytest.approx(reward, abs=1e-9)
            assert dense or over or reward == 0.0
            total += reward
        totals.append(total)
    assert totals[0] == pytest.approx(totals[1], rel=1e-9)
    known = set(NAMES) - (set() if isinstance(weights, dict) else set(METERED))
    assert {key for key in info if key.startswith("objective/")} == {f"objective/{term}" for term in known}


def test_objectives_are_the_numbers_of_the_summary(log, system):
    env = TwinEnv(system=system, workload=log, policy="sjf", pick="mask", window=len(log), episode_jobs=len(log))
    _, info = env.reset(seed=0)
    over = False
    while not over:
        _, _, over, _, info = env.step(0 if info["action_mask"][0] else len(log))
    summary = tg.simulate(system, log, "sjf").summary
    for objective, key in (
        ("wait", "wait_mean"),
        ("turnaround", "turnaround_mean"),
        ("slowdown", "slowdown_mean"),
        ("bounded_slowdown", "bounded_slowdown_mean"),
        ("awrt", "awrt"),
        ("utilization", "utilization"),
        ("throughput", "throughput"),
        ("queue", "queued_mean"),
    ):
        assert info[f"objective/{objective}"] == pytest.approx(summary[key], rel=1e-9), objective
    energy = power_history(tg.simulate(system, log, "sjf"), system).energy()
    # a job is believed to draw whole watts, rounded up
    assert info["objective/energy"] == pytest.approx(energy / 3.6e6, rel=1e-4)


@pytest.mark.parametrize("name", IDS)
def test_what_cannot_be_known_cannot_be_seen(name, log, system):
    """Other runtimes of jobs that still run, and other jobs to come, leave every observation up to then as it was."""
    changed = log.to_frame()
    half = len(log) // 2
    later = changed["submit"] > changed["submit"][half]
    changed.loc[later, "nodes"] = 64 - changed.loc[later, "nodes"] + 1
    other = tg.Workload.from_frame(changed.drop(columns="status", errors="ignore"))
    horizon = int(log.submit[half])
    seen = []
    for workload in (log, other):
        env = gym.make(
            name, system=system, workload=workload, episode_jobs=len(log), window=16, price="daily", view="sample",
            features=["jobs", "details", "state", "releases", "facility", "market"],
        ).unwrapped  # fmt: skip
        observation, info = env.reset(seed=0)
        rows, over = [], False
        while not over and info["clock"] <= horizon:
            rows.append(observation)
            action = int(info["action_mask"].argmax()) if "action_mask" in info else np.full(10, 0.5, np.float32)
            observation, _, over, _, info = env.step(action)
        seen.append(np.stack(rows))
    np.testing.assert_array_equal(*seen)


def test_runtimes_are_not_seen_unless_estimates_are_perfect():
    def seen(runtime: int, estimates: str) -> np.ndarray:
        log = tg.Workload.build(
            id=[1, 2, 3], submit=[0, 5, 6], runtime=[runtime, 50, 9], requested_time=[90] * 3, nodes=[2, 1, 1]
        )
        env = TwinEnv(system=4, workload=log, estimates=estimates, pick="mask", episode_jobs=3, window=4)
        observation, _ = env.reset(seed=0)
        first = env.step(0)[0]
        return np.concatenate([observation, first])

    np.testing.assert_array_equal(seen(20, "requested"), seen(80, "requested"))
    assert (seen(20, "perfect") != seen(80, "perfect")).any()


def test_episodes_stay_inside_their_split():
    world = World.of(env_options(**SMALL))
    jobs = len(world.workload)
    bounds = {"train": (0, 280), "validation": (280, 340), "test": (340, jobs)}
    for split, (low, high) in bounds.items():
        env = TwinVectorEnv(64, split=split, workload=world.workload, system=32, episode_jobs=30)
        env.reset(seed=0)
        first = env._setups["first"]
        assert low <= first.min() <= first.max() <= high - 30
        assert len(set(first.tolist())) > 5
        with pytest.raises(OptionError, match="must lie between"):
            env.reset(options={"first": (low - 1) % (jobs - 29)})
    env.reset(options={"first": 350})
    assert set(env._setups["first"].tolist()) == {350}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "selekt"}, "Did you mean 'select'"),
        ({"windo": 3}, "no option 'windo'. Did you mean 'window'"),
        ({"window": 0}, "whole number from 1"),
        ({"reward": "boundedslowdown"}, "Did you mean 'bounded_slowdown'"),
        ({"reward": {"waits": 1.0}}, "Did you mean 'wait'"),
        ({"reward": {"wait": float("nan")}}, "finite"),
        ({"episode_jobs": 10**6}, "fewer than"),
        ({"pool": [("replay", "none")], "task": "dispatch"}, "depends on more"),
        ({"pool": [], "task": "dispatch"}, "pool is empty"),
        ({"split_at": (0.9, 0.5)}, "rising shares"),
        ({"estimates": "predicted"}, "Choose from: perfect, requested"),
        ({"policy": "fcsf"}, "Did you mean 'fcfs'"),
        ({"features": ["jobs", "stat"]}, "Did you mean 'state'"),
        ({"features": "jobs"}, "list of groups"),
        ({"interval": "day"}, "whole number"),
        ({"family": "linear"}, "Did you mean 'loglinear'"),
        ({"episode_time": 10**9}, "fewer than episode_time"),
        ({"prepopulate": "fcfs+esay"}, "Did you mean 'easy'"),
        ({"prepopulate": "replay"}, "recorded start"),
        ({"arrival_scale": (2.0, 1.0)}, "two rising ones"),
        ({"estimate_noise": -1}, "between 0 and 5"),
        ({"failures": {"mtbf": -1}}, "needs mtbf"),
        ({"failures": {"mtbf": 1e-3}}, "choose a longer one"),
        ({"cooling": True}, "describes no cooling plant"),
        ({"backfill": "ending_before", "pick": "mask"}, "pick=block alone"),
        ({"pool": [("loglinear", "none")], "task": "dispatch"}, "depends on more"),
    ],
)
def test_a_wrong_option_is_one_sentence(options, message):
    with pytest.raises((OptionError, WorkloadError, tg.TwinGymError), match=message):
        TwinEnv(**{**SMALL, **options})
