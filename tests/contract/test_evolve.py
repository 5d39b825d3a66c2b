"""Windows are the same for every agent; a search finds the same function again, and one that is better."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import twin_gym as tg
from twin_gym import cli
from twin_gym.agents import Learned, find_agent
from twin_gym.agents.windows import draw, paired_interval, play
from twin_gym.envs.options import EnvOptions, env_options
from twin_gym.errors import OptionError, TwinGymError
from twin_gym.learned import PriorityFunction, read_function

pytest.importorskip("cma", reason="evolve needs cma")
from twin_gym.agents.evolve import evolve

SMALL = {"generations": 6, "population": 8, "windows": 12}


@pytest.fixture(scope="module")
def options() -> EnvOptions:
    log = tg.datasets.load("synthetic", None, model="lublin", jobs=3000, capacity=64, load=0.85, seed=2)
    return env_options(system=tg.System.uniform(nodes=64), workload=log, backfill="easy", episode_jobs=150)


def test_windows_are_drawn_inside_their_split_and_the_same_again(options):
    for split, (low, high) in {"train": (0, 2100), "validation": (2100, 2550), "test": (2550, 3000)}.items():
        first = draw(options, 50, split, seed=4)
        assert low <= first.min() <= first.max() <= high - 150
        np.testing.assert_array_equal(first, draw(options, 50, split, seed=4))
        assert (first != draw(options, 50, split, seed=5)).any()


def test_a_window_comes_out_the_same_alone_and_among_others(options):
    first = draw(options, 9, "test")
    for name in ("sjf+easy", "random", "wfp3"):
        together = play(find_agent(name), options, first, threads=2)
        assert len(together["wait"]) == 9
        if name != "random":  # which draws for all windows in turn
            alone = [play(find_agent(name), options, first[k : k + 1])["wait"][0] for k in range(9)]
            np.testing.assert_array_equal(together["wait"], alone)


@pytest.mark.parametrize("family", ["loglinear", "exponential"])
def test_a_learned_function_plays_its_policy(family, options):
    rng = np.random.default_rng(0)
    weights = tuple(rng.uniform(0.1, 5.0, {"loglinear": 10}.get(family, 4)))  # beyond the bounds: only ratios count
    values = play(Learned(PriorityFunction(family, weights), "easy"), options, np.array([40]))
    window = options.workload.select(np.arange(len(options.workload)) >= 40).select(np.arange(2960) < 150)
    expected = tg.simulate(options.system, window, family, "easy", weights=weights).summary
    assert values["bounded_slowdown"][0] == pytest.approx(expected["bounded_slowdown_mean"], rel=1e-9)


def test_a_paired_interval_by_hand():
    mean, low, high = paired_interval(np.array([1.0, 2.0, 3.0]), np.array([2.0, 3.0, 4.0]))
    assert (mean, low, high) == (-1.0, -1.0, -1.0)
    rng = np.random.default_rng(1)
    ours, theirs = rng.normal(0, 1, 400), rng.normal(0.5, 1, 400)
    mean, low, high = paired_interval(ours, theirs)
    half = 1.96 * np.std(ours - theirs) / 20
    assert (low, high) == pytest.approx((mean - half, mean + half), abs=0.02)


def test_the_same_seed_finds_the_same_function_whatever_the_threads(options):
    one, two = (evolve(options, seed=3, threads=threads, **SMALL) for threads in (1, 2))
    assert one.function == two.function
    pd.testing.assert_frame_equal(one.history, two.history)
    assert evolve(options, seed=4, **SMALL).function != one.function


def test_the_found_function_beats_first_come_first_served_with_easy_on_later_windows(options):
    found = evolve(options, generations=12, population=12, windows=24)
    first = draw(options, 60, "test", seed=1)
    ours = play(Learned(found.function, "easy"), options, first)["bounded_slowdown"]
    theirs = play(find_agent("fcfs+easy"), options, first)["bounded_slowdown"]
    _, _, high = paired_interval(ours, theirs)
    assert high < 0


def test_a_search_that_is_interrupted_returns_what_it_has(options):
    def stop(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    assert len(evolve(options, progress=stop, **SMALL).history) == 2


def test_the_command_writes_a_function_that_simulate_takes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["workload.jobs=1500", "workload.capacity=64", "env.episode_jobs=60", "test_windows=20", "out=found"]
    assert cli.main(["evolve", "generations=3", "population=6", "windows=8", *words]) == 0
    said = capsys.readouterr().out
    found = read_function(Path("found/best.yaml"))
    assert f"score = {found.formula}" in said
    table = pd.read_csv("found/test.csv")
    assert table["agent"].tolist()[:2] == ["learned+easy", "fcfs+easy"]
    assert (table["low"] <= table["difference"]).all()
    assert len(pd.read_csv("found/history.csv")) == 3
    assert Path("found/test.png").stat().st_size > 5000
    assert cli.main(["simulate", "policy=learned:found/best.yaml", "workload.jobs=60", "figures=false"]) == 0
    assert cli.main(["play", "PriorityWeights", "agent=learned:found/best.yaml+easy", "steps=1", *words[:3]]) == 0
    assert cli.main(["evolve", *words]) == 2  # it does not overwrite what is there


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["objective=slodown"], "Did you mean 'slowdown'"),
        (["family=linear"], "loglinear"),
        (["generations=0"], "at least 1"),
        (["against=[fcsf]"], "Did you mean 'fcfs'"),
        (["env.episode_jobs=100000"], "fewer than"),
    ],
)
def test_a_mistake_is_one_sentence(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["evolve", "workload.jobs=500", *words]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_errors_of_python(options):
    with pytest.raises(OptionError, match="population of at least 4"):
        evolve(options, population=2)
    with pytest.raises(TwinGymError, match="No such file"):
        find_agent("learned:nowhere.yaml+easy")
