"""Priority functions with weights: their formulas, their files, and what they do in a run."""

from __future__ import annotations

import math

import numpy as np
import pytest

import twin_gym as tg
from twin_gym.config import RunConfig
from twin_gym.errors import PolicyError
from twin_gym.kernels.order import exponential, log_linear
from twin_gym.learned import PriorityFunction, read_function
from twin_gym.policies import FAMILIES


@pytest.fixture(scope="module")
def log() -> tg.Workload:
    return tg.datasets.load("synthetic", None, model="lublin", jobs=300, capacity=64, load=0.9, seed=3)


@pytest.fixture(scope="module")
def system() -> tg.System:
    return tg.System.uniform(nodes=64)


PYTHON = {
    "e(wait [h])": "e(w / 3600)",
    "e(t [h])": "e(t / 3600)",
    "e(n [% of machine])": "e(100 * n / 64)",
    "e(n t [% of machine x h])": "e(100 * n / 64 * t / 3600)",
}


def value_of(term: str, w: float, t: float, n: float) -> float:
    """Reckon a term as its name is written."""
    term = PYTHON.get(term, term.replace("log t", "log(t)").replace("log n", "log(n)").replace("^", "**"))
    names = {"w": w, "t": t, "n": n, "log": math.log, "e": lambda x: math.exp(1 / math.sqrt(x + 1))}
    return eval(term, {}, names)


def test_a_score_is_the_weighted_sum_of_the_terms_that_the_family_names():
    rng = np.random.default_rng(0)
    for _ in range(50):
        w, t, n = rng.uniform(0, 1e5), rng.uniform(1, 1e5), float(rng.integers(1, 64))
        for family in ("loglinear", "exponential"):
            terms = np.array([value_of(term, w, t, n) for term in FAMILIES[family].terms])
            weights = np.zeros(16)
            weights[: len(terms)] = rng.uniform(-1, 1, len(terms))
            score = log_linear(weights, w, t, n) if family == "loglinear" else exponential(weights, w, t, n, 64.0)
            assert score == pytest.approx(float(weights[: len(terms)] @ terms), rel=1e-9)


@pytest.mark.parametrize("backfill", ["none", "easy"])
def test_without_weights_the_log_linear_function_is_all_but_saf(backfill, log, system):
    ours = tg.simulate(system, log, "loglinear", backfill).jobs["start"]
    theirs = tg.simulate(system, log, "saf", backfill).jobs["start"]
    assert (ours == theirs).mean() > 0.9  # areas that are equal may differ in the last bit of their logarithm


def test_a_function_comes_back_from_its_file_and_schedules_as_before(tmp_path, log, system):
    weights = (-1.0, -0.25, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.125)
    found = PriorityFunction("loglinear", weights, note="by hand")
    found.save(tmp_path / "f.yaml")
    assert read_function(tmp_path / "f.yaml") == found
    assert found.formula == "-1 log t -0.25 log n +0.5 log(w+1) +0.125 log((w+t)/t) * log t"
    result = tg.simulate(system, log, f"learned:{tmp_path / 'f.yaml'}", "easy")
    assert result.jobs["start"].equals(tg.simulate(system, log, "loglinear", "easy", weights=weights).jobs["start"])
    # the run says what it did, whatever becomes of the file
    assert (result.config.policy, result.config.weights) == ("loglinear", weights)
    table = tg.compare(system, log, ["fcfs", f"learned:{tmp_path / 'f.yaml'}"], ["easy"])
    assert table["bounded_slowdown_mean"][1] == result.summary["bounded_slowdown_mean"]


def test_learned_weights_of_multifactor_are_those_of_its_factors(tmp_path):
    PriorityFunction("multifactor", (1.0, 2.0, 3.0, 4.0)).save(tmp_path / "m.yaml")
    factors = RunConfig(policy=f"learned:{tmp_path / 'm.yaml'}").multifactor
    assert (factors.age, factors.size, factors.fairshare, factors.queue) == (1.0, 2.0, 3.0, 4.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("family: loglinear\nweights: {log t: 1, lgo n: 2}", "no term 'lgo n'. Did you mean 'log n'"),
        ("family: loglinear\nweights: {log t: many}", "must be a number"),
        ("family: linear\nweights: {a: 1}", "Did you mean 'loglinear'"),
        ("family: loglinear\nweights: {log t: .inf}", "finite"),
        ("- 1", "is no priority function"),
        ("a: [", "is no YAML"),
    ],
)
def test_a_file_that_is_none_is_one_sentence(tmp_path, text, message):
    path = tmp_path / "f.yaml"
    path.write_text(text)
    with pytest.raises(PolicyError, match=message):
        RunConfig(policy=f"learned:{path}")


def test_a_site_schedules_as_its_system_says(log):
    frontier = tg.System.load("frontier")
    own = frontier.scheduler
    result = tg.simulate(frontier, log, "site", "site")
    assert (result.config.policy, result.config.backfill) == (own.policy, own.backfill)
    assert result.jobs["start"].equals(tg.simulate(frontier, log, own.policy, own.backfill).jobs["start"])
    table = tg.compare(frontier, log, ["site", "sjf"], ["site"])
    assert table["bounded_slowdown_mean"][0] == result.summary["bounded_slowdown_mean"]


def test_a_file_that_is_not_there_and_weights_that_do_not_fit(log, system):
    with pytest.raises(PolicyError, match="No such file"):
        tg.simulate(system, log, "learned:nowhere.yaml")
    with pytest.raises(PolicyError, match="needs 10 weights"):
        tg.simulate(system, log, "loglinear", weights=(1.0,))
    twin = tg.Twin(system, log)
    twin.advance(decisions=True)
    with pytest.raises(PolicyError, match="weights of loglinear are only kept"):
        twin.decide(policy="loglinear")
