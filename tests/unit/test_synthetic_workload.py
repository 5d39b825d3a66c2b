"""Whole synthetic workloads: determinism, load, options, and jobs that take the whole machine."""

from __future__ import annotations

import numpy as np
import pytest

from twin_gym import datasets
from twin_gym.datasets import synthetic
from twin_gym.datasets._lublin import DailyCycle
from twin_gym.datasets.synthetic import Constant, Uniform
from twin_gym.errors import OptionError
from twin_gym.workload import UNKNOWN

MODELS = ("lublin", "uniform", "normal", "weibull", "multimodal")


def offered(workload, capacity):
    work = float(np.dot(workload.nodes.astype(float), workload.runtime.astype(float)))
    return work / capacity / float(workload.submit[-1] - workload.submit[0])


@pytest.mark.parametrize("model", MODELS)
def test_the_same_seed_gives_the_same_bytes(model):
    state = np.random.get_state()[1].copy()  # noqa: NPY002 (the global generator must not be touched)
    first = synthetic.load(model=model, jobs=2000, seed=3)
    again = synthetic.load(model=model, jobs=2000, seed=3)
    other = synthetic.load(model=model, jobs=2000, seed=4)
    assert first.fingerprint() == again.fingerprint() != other.fingerprint()
    np.testing.assert_array_equal(state, np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("capacity", "load"), [(256, 0.8), (100, 0.3), (1000, 1.4)])
def test_the_load_is_reached(model, capacity, load):
    workload = synthetic.load(model=model, jobs=3000, capacity=capacity, load=load, seed=1)
    assert workload.offered_load() == pytest.approx(load, rel=0.01)
    assert workload.capacity == capacity


@pytest.mark.parametrize("model", MODELS)
def test_jobs_are_sound(model):
    workload = synthetic.load(model=model, jobs=5000, capacity=64, seed=2)
    assert len(workload) == 5000
    assert workload.nodes.min() >= 1
    assert workload.nodes.max() <= 64
    assert workload.runtime.min() >= 1
    assert (workload.requested_time >= workload.runtime).all()
    assert (np.diff(workload.submit) >= 0).all()
    assert workload.submit[0] >= 0
    assert (workload.start == UNKNOWN).all()
    assert workload.user.min() >= 0
    assert workload.user.max() < len(workload.users)


def test_the_load_changes_nothing_but_the_arrivals():
    low, high = (synthetic.lublin(jobs=1000, load=load, seed=5) for load in (0.5, 1.0))
    for column in ("runtime", "nodes", "requested_time", "user", "account", "partition", "priority"):
        np.testing.assert_array_equal(getattr(low, column), getattr(high, column))
    assert low.submit[-1] > 1.9 * high.submit[-1]


def test_without_a_load_the_published_rate_is_kept():
    workload = synthetic.lublin(jobs=50_000, load=None, seed=6)
    assert np.diff(workload.submit).mean() == pytest.approx(911, rel=0.05)


@pytest.mark.parametrize("load", [0.4, None, 1.2])
def test_day_and_night_survive_the_calibration(load):
    workload = synthetic.lublin(jobs=50_000, load=load, seed=7)
    observed = np.bincount(workload.submit // 1800 % 48, minlength=48)
    assert np.corrcoef(observed, DailyCycle.of().weights)[0, 1] > 0.95


def test_a_shorter_longest_request_cuts_jobs_and_keeps_the_load():
    workload = synthetic.lublin(jobs=4000, max_request=4 * 3600, load=0.7, seed=8)
    assert workload.runtime.max() == workload.requested_time.max() == 4 * 3600
    assert (workload.requested_time >= workload.runtime).all()
    assert offered(workload, 256) == pytest.approx(0.7, rel=0.01)


def test_requests_may_be_exact_or_a_factor():
    exact = synthetic.lublin(jobs=1000, requests="exact")
    np.testing.assert_array_equal(exact.requested_time, exact.runtime)
    wide = synthetic.lublin(jobs=20_000, requests=3.0)
    long = wide.runtime[wide.runtime > 1000], wide.requested_time[wide.runtime > 1000]
    ratio = long[1] / long[0]
    assert ratio.min() >= 1
    assert ratio.max() < 3.01
    assert ratio[long[0] < 48 * 1200].mean() == pytest.approx(2, abs=0.03)


def test_the_registry_passes_options_on():
    assert "synthetic" in datasets.names()
    ours = datasets.load("synthetic", None, model="lublin", jobs=20, kind="batch", seed=9)
    assert ours.fingerprint() == synthetic.lublin(jobs=20, kind="batch", seed=9).fingerprint()
    assert len(datasets.load("synthetic", model="weibull", jobs=20, size_shape=2.0)) == 20
    with pytest.raises(OptionError, match="no option 'sees'"):
        datasets.load("synthetic", sees=3)


def test_one_job_is_a_workload():
    for model in MODELS:
        assert len(synthetic.load(model=model, jobs=1)) == 1
    assert synthetic.lublin(jobs=50, capacity=1).nodes.max() == 1


def test_own_distributions():
    workload = synthetic.simple(
        sizes=Uniform(-5, 500), runtimes=Constant(0.2), gaps=Constant(10), jobs=100, load=None, requests="exact"
    )
    assert workload.nodes.min() >= 1
    assert workload.nodes.max() <= 256
    assert (workload.runtime == 1).all()
    np.testing.assert_array_equal(workload.submit, np.arange(100) * 10)


def test_preset_moments():
    even = synthetic.uniform(jobs=50_000, capacity=100)
    assert even.nodes.mean() == pytest.approx(50.5, abs=0.5)
    assert (even.nodes == 1).mean() == pytest.approx(0.01, abs=0.002)
    bell = synthetic.normal(jobs=50_000, capacity=100)
    assert bell.nodes.mean() == pytest.approx(50.5, abs=0.3)
    assert bell.runtime.mean() == pytest.approx((60 + 12 * 3600) / 2, rel=0.01)
    modes = synthetic.multimodal(jobs=50_000, capacity=256)
    assert (modes.runtime <= 3600).mean() == pytest.approx(0.5, abs=0.01)
    assert np.isin(modes.nodes, 2 ** np.arange(9)).mean() > 0.3


def test_population_may_be_given_as_a_mapping():
    workload = synthetic.load(jobs=500, population={"users": 3, "accounts": 1})
    assert len(workload.users) == 3
    assert workload.accounts == ("account1",)
    with pytest.raises(OptionError, match=r"no field 'user'.*users"):
        synthetic.load(population={"user": 3})


@pytest.mark.parametrize("capacity", [1, 256, 9600])
def test_whole_machine_jobs(capacity):
    for model, cpu in (("peak", 1.0), ("idle", 0.0)):
        workload = synthetic.load(model=model, capacity=capacity)
        assert len(workload) == 1
        assert workload.nodes[0] == capacity
        assert workload.runtime[0] == 10_800
        assert workload.traces["cpu"].values.tolist() == [cpu]
        assert workload.traces["gpu"].values.tolist() == [cpu]


def test_benchmark_phases_follow_each_other():
    workload = synthetic.benchmark(capacity=9600)
    assert (workload.nodes == 9600).all()
    assert workload.start.tolist() == [0, 10_800, 14_400, 18_000]
    np.testing.assert_array_equal(workload.start[1:], (workload.start + workload.runtime)[:-1])
    np.testing.assert_allclose(workload.traces["cpu"].values, [1, 0, 0.33, 0], rtol=1e-6)
    np.testing.assert_allclose(workload.traces["gpu"].values, [1, 1, 0.79, 0], rtol=1e-6)  # the idle phase is idle


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"path": "log.swf"}, "not read from a file"),
        ({"model": "lublen"}, "Did you mean 'lublin'"),
        ({"job": 3}, "no option 'job'.*jobs"),
        ({"model": "peak", "jobs": 3}, "no option 'jobs'"),
        ({"model": "uniform", "sizes": 3}, "no option 'sizes'"),
        ({"jobs": 0}, "jobs=0"),
        ({"capacity": 0}, "capacity=0"),
        ({"model": "idle", "capacity": 0}, "capacity"),
        ({"load": 0}, "load=0"),
        ({"load": float("nan")}, "load=nan"),
        ({"seed": -1}, "seed=-1"),
        ({"max_request": 0}, "max_request=0"),
        ({"max_request": 60}, "3600 s"),
        ({"requests": "tsafir"}, "Did you mean 'tsafrir'|Unknown requests='tsafir'"),
        ({"requests": 0.5}, "at least 1"),
        ({"kind": "serial"}, "Unknown kind 'serial'"),
    ],
)
def test_wrong_options_are_refused_in_one_sentence(options, match):
    with pytest.raises(OptionError, match=match) as caught:
        synthetic.load(**options)
    assert "\n" not in str(caught.value)
