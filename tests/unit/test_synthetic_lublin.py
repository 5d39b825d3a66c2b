"""The Lublin-Feitelson generator against the published distributions, written out anew here with scalar arithmetic."""

from __future__ import annotations

import gzip
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twin_gym.datasets import _lublin as lublin

JOBS = 200_000


def gamma_cdf(x: float, shape: float, scale: float) -> float:
    """P(X <= x) by the power series of the incomplete gamma function (Abramowitz and Stegun 6.5.29)."""
    if x <= 0:
        return 0.0
    z = x / scale
    term = math.exp(shape * math.log(z) - z - math.lgamma(shape + 1))
    total, k = term, 1
    while term > total * 1e-16:
        term *= z / (shape + k)
        total += term
        k += 1
    return total


def test_the_gamma_function_of_these_tests_is_right():
    assert gamma_cdf(2.0, 1.0, 1.0) == pytest.approx(1 - math.exp(-2))  # exponential
    assert gamma_cdf(3.0, 2.0, 1.0) == pytest.approx(1 - 4 * math.exp(-3))  # Erlang of order 2


@pytest.fixture(scope="module")
def sizes():
    return lublin.sizes(np.random.default_rng(1), JOBS, 256)


def log2_size_cdf(x: float) -> float:
    """Two-stage uniform on (0.8, 5.5, 8): 86 % in the lower stage."""
    if x <= 0.8:
        return 0.0
    if x <= 5.5:
        return 0.86 * (x - 0.8) / 4.7
    return min(0.86 + 0.14 * (x - 5.5) / 2.5, 1.0)


def test_sizes_follow_the_published_law(sizes):
    other = 1 - 0.244 - 0.576
    expected = np.zeros(257)
    expected[1] = 0.244
    for n in range(2, 257):
        expected[n] = other * (log2_size_cdf(math.log2(n + 0.5)) - log2_size_cdf(math.log2(n - 0.5)))
    for k in range(1, 9):
        expected[2**k] += 0.576 * (log2_size_cdf(k + 0.5) - log2_size_cdf(k - 0.5))
    assert expected.sum() == pytest.approx(1)
    observed = np.bincount(sizes, minlength=257)
    chi2 = ((observed - JOBS * expected)[1:] ** 2 / (JOBS * expected[1:])).sum()
    assert chi2 < 310  # 99 % quantile with 255 degrees of freedom


def test_mean_log_size_is_the_hand_computed_one():
    assert lublin.two_stage(lublin.ALL, 256) == (0.8, 5.5, 8.0)
    # parallel sizes, none rounded to a power of two, on 2**20 nodes with umed = 20 - 14.5:
    # 0.86 (0.8 + 5.5) / 2 + 0.14 (5.5 + 20) / 2 = 4.494
    parameters = lublin.Parameters(serial=0.0, pow2=0.0, umed_below=14.5)
    drawn = lublin.sizes(np.random.default_rng(2), JOBS, 2**20, parameters)
    assert np.log2(drawn).mean() == pytest.approx(4.494, abs=0.03)


@pytest.mark.parametrize("capacity", [1, 2, 3, 7, 8, 100, 792, 1000, 158_976])
def test_no_size_exceeds_the_machine(capacity):
    drawn = lublin.sizes(np.random.default_rng(3), 20_000, capacity)
    assert drawn.dtype == np.int32
    assert drawn.min() == 1
    assert drawn.max() <= capacity
    assert drawn.max() > capacity / 2
    if capacity > 1:
        assert (drawn == 1).mean() == pytest.approx(0.244, abs=0.01)


def test_small_machines_take_the_advised_middle():
    assert lublin.two_stage(lublin.ALL, 8) == (0.8, 1.5, 3.0)  # the authors' own example
    assert lublin.two_stage(lublin.ALL, 16)[1] == 1.5
    for capacity in range(2, 40):
        low, middle, high = lublin.two_stage(lublin.ALL, capacity)
        assert low <= middle <= high


@pytest.mark.parametrize(("size", "first"), [(1, 0.7746), (64, 0.4344), (144, 0.0024), (256, 0.0)])
def test_runtimes_of_one_size_follow_the_hyper_gamma_law(size, first):
    runtimes = lublin.runtimes(np.random.default_rng(size), np.full(JOBS, size, np.int32))
    assert runtimes.dtype == np.int64
    assert runtimes.min() >= 1

    def cdf(h: float) -> float:
        return first * gamma_cdf(h, 4.2, 0.94) + (1 - first) * gamma_cdf(h, 312, 0.03)

    ordered = np.sort(runtimes)
    # a runtime is below t exactly if exp(h) is, so whole seconds cost no precision
    thresholds = np.unique(np.geomspace(2, 162_754, 400).astype(int))
    empirical = np.searchsorted(ordered, thresholds) / JOBS
    expected = np.array([cdf(math.log(t)) for t in thresholds]) / cdf(12.0)
    assert np.abs(empirical - expected).max() * math.sqrt(JOBS) < 1.63  # Kolmogorov-Smirnov, 1 %
    assert runtimes.max() <= math.exp(12)


def test_mean_log_runtime_is_the_hand_computed_one():
    # size 1: 0.7746 * 4.2 * 0.94 + 0.2254 * 312 * 0.03 = 5.168; size 256: 312 * 0.03 = 9.36
    for size, mean in ((1, 5.168), (256, 9.36)):
        runtimes = lublin.runtimes(np.random.default_rng(5), np.full(JOBS, size, np.int32))
        assert np.log(runtimes + 0.5).mean() == pytest.approx(mean, abs=0.02)


def test_large_jobs_run_longer(sizes):
    runtimes = lublin.runtimes(np.random.default_rng(6), sizes)
    medians = [np.median(runtimes[(sizes >= low) & (sizes < 4 * low)]) for low in (1, 4, 16, 64)]
    assert medians == sorted(medians)
    assert medians[-1] > 10 * medians[0]


def test_gaps_follow_the_gamma_law():
    shape, scale = 10.2303 * 1.0225, 0.4871
    gaps = np.log(np.sort(lublin.rush_gaps(np.random.default_rng(7), JOBS)))
    grid = np.linspace(0.5, 13, 300)
    expected = np.array([gamma_cdf(g, shape, scale) for g in grid]) / gamma_cdf(13, shape, scale)
    assert np.abs(np.searchsorted(gaps, grid) / JOBS - expected).max() * math.sqrt(JOBS) < 1.63
    assert gaps.max() <= 13


def test_mean_gap_is_the_analytic_one():
    # E exp(X) = (1 - b)**-a, and cutting at 13 multiplies it by P(gamma(a, b / (1 - b)) <= 13) / P(gamma(a, b) <= 13)
    a, b = 10.2303 * 1.0225, 0.4871
    mean = (1 - b) ** -a * gamma_cdf(13, a, b / (1 - b)) / gamma_cdf(13, a, b)
    assert (1 - b) ** -a == pytest.approx(1079.5, abs=1)  # 0.5129**-10.4605
    assert mean == pytest.approx(911, abs=1)
    gaps = lublin.rush_gaps(np.random.default_rng(8), 2_000_000)
    assert gaps.mean() == pytest.approx(mean, rel=0.02)


def test_weights_of_the_day_are_the_gamma_masses():
    weights = lublin.DailyCycle.of().weights
    mass = np.zeros(48)
    for i in range(11, 59):
        mass[(i - 1) % 48] = gamma_cdf(i + 0.5, 8.1737, 3.9631) - gamma_cdf(i - 0.5, 8.1737, 3.9631)
    np.testing.assert_allclose(weights, mass / mass.mean(), rtol=1e-10)
    # busiest near the gamma's mode: (8.1737 - 1) * 3.9631 = 28.4 half hours, that is, about 2 p.m.
    assert 13 <= weights.argmax() / 2 <= 14.5
    assert 4 <= weights.argmin() / 2 <= 5.5
    assert weights.max() / weights.min() > 8


def test_even_arrivals_show_exactly_the_daily_cycle():
    cycle = lublin.DailyCycle.of()
    gaps = np.full(48_000, 36.0)  # 2400 a day for 20 days
    submit = lublin.arrivals(gaps, cycle)
    observed = np.bincount(submit // 1800 % 48, minlength=48)
    np.testing.assert_allclose(observed, 1000 * cycle.weights, atol=25)


def test_random_arrivals_show_the_daily_cycle():
    cycle = lublin.DailyCycle.of()
    submit = lublin.arrivals(lublin.rush_gaps(np.random.default_rng(9), JOBS), cycle)
    observed = np.bincount(submit // 1800 % 48, minlength=48) / (JOBS / 48)
    assert np.abs(observed - cycle.weights).max() < 0.1


@given(st.floats(0, 1e9))
def test_clock_and_even_time_are_inverse(seconds):
    cycle = lublin.DailyCycle.of()
    clock = cycle.clock(np.array([seconds]))
    assert cycle.even(clock)[0] == pytest.approx(seconds, abs=1e-4)


def test_clock_keeps_whole_days_and_order():
    cycle = lublin.DailyCycle.of()
    days = np.arange(10) * 86_400.0
    np.testing.assert_allclose(cycle.clock(days), days)
    assert (np.diff(cycle.clock(np.linspace(0, 86_400 * 3, 10_001))) > 0).all()
    moments = np.array([0.0, 100.5, 86_399.0])
    np.testing.assert_allclose(lublin.DailyCycle.flat().clock(moments), moments)


@pytest.mark.parametrize("span", [1000.0, 86_400.0, 1e7])
def test_arrivals_fill_the_wanted_span(span):
    gaps = lublin.rush_gaps(np.random.default_rng(10), 5000)
    free = lublin.arrivals(gaps, lublin.DailyCycle.of())
    submit = lublin.arrivals(gaps, lublin.DailyCycle.of(), span)
    assert submit[-1] - submit[0] == pytest.approx(span, abs=1.5)
    assert submit[0] == pytest.approx(free[0], abs=1)
    assert (np.diff(submit) >= 0).all()


def test_batch_and_interactive_parameters_are_the_published_ones():
    assert lublin.two_stage(lublin.BATCH, 128) == (1.2, 5.0, 7.0)
    assert (lublin.BATCH.serial, lublin.BATCH.pow2, lublin.INTERACTIVE.serial) == (0.2927, 0.6686, 0.1541)
    rng = np.random.default_rng(11)
    long, short = (
        np.median(lublin.runtimes(rng, np.ones(10_000, np.int32), p)) for p in (lublin.BATCH, lublin.INTERACTIVE)
    )
    assert long > 5 * short


def test_marginals_match_a_log_made_by_the_authors_program(shared_dir):
    path = shared_dir / "data" / "swf" / "lublin_256.swf.gz"
    if not path.is_file():
        pytest.skip(f"{path.name} is not present")
    with gzip.open(path, "rt") as file:
        rows = [line.split() for line in file if line.strip() and not line.startswith(";")]
    theirs = np.array([(int(row[4]), int(row[3])) for row in rows])
    jobs = len(theirs)
    assert jobs == 10_000
    rng = np.random.default_rng(12)
    size = lublin.sizes(rng, JOBS, 256)
    runtime = lublin.runtimes(rng, size)
    # four standard errors of a sample of 10,000
    for values, reference in (
        (size == 1, theirs[:, 0] == 1),
        (size & (size - 1) == 0, theirs[:, 0] & (theirs[:, 0] - 1) == 0),
        (np.log2(size), np.log2(theirs[:, 0])),
        (np.log(runtime), np.log(np.maximum(theirs[:, 1], 1))),
    ):
        assert values.mean() == pytest.approx(reference.mean(), abs=4 * reference.std() / math.sqrt(jobs))
