"""Simple distributions and populations against their textbook moments."""

from __future__ import annotations

import math

import numpy as np
import pytest

from twin_gym.datasets._distributions import (
    Constant,
    Discrete,
    Exponential,
    LogUniform,
    Mixture,
    Normal,
    Uniform,
    Weibull,
)
from twin_gym.datasets._population import Population, zipf
from twin_gym.errors import OptionError

N = 100_000


def ks(values, cdf):
    """Kolmogorov-Smirnov distance times sqrt(n); 1.63 is the 1 % point."""
    ordered = np.sort(values)
    grid = ordered[:: max(len(ordered) // 500, 1)]
    expected = np.array([cdf(x) for x in grid])
    return np.abs(np.searchsorted(ordered, grid, side="right") / len(ordered) - expected).max() * math.sqrt(
        len(ordered)
    )


def phi(x):
    return (1 + math.erf(x / math.sqrt(2))) / 2


@pytest.mark.parametrize(
    ("distribution", "mean", "std"),
    [
        (Constant(7), 7, 0),
        (Uniform(2, 8), 5, 6 / math.sqrt(12)),
        (Exponential(60), 60, 60),
        (LogUniform(1, math.e), math.e - 1, math.sqrt((math.e**2 - 1) / 2 - (math.e - 1) ** 2)),
        (Normal(10, 2), 10, 2),
        # cut at one sigma on both sides: variance 1 - 2 phi(1) / (2 Phi(1) - 1) = 1 - 0.48394 / 0.68269
        (Normal(0, 1, -1, 1), 0, math.sqrt(0.29112)),
        (Weibull(2, 100), 100 * math.gamma(1.5), 100 * math.sqrt(math.gamma(2) - math.gamma(1.5) ** 2)),
        (Discrete((1, 2, 4), (1, 1, 2)), 2.75, math.sqrt(1.6875)),
        (Mixture((Constant(0), Constant(10)), (3, 1)), 2.5, math.sqrt(18.75)),
    ],
    ids=repr,
)
def test_moments(distribution, mean, std):
    values = distribution.sample(np.random.default_rng(1), N)
    assert values.shape == (N,)
    assert values.dtype == np.float64
    assert values.mean() == pytest.approx(mean, abs=4 * std / math.sqrt(N) + 1e-9)
    assert values.std() == pytest.approx(std, rel=0.02, abs=1e-9)


def test_truncated_normal_has_the_right_shape():
    values = Normal(5, 3, 1, 20).sample(np.random.default_rng(2), N)
    low, high = phi((1 - 5) / 3), phi((20 - 5) / 3)
    assert ks(values, lambda x: (phi((x - 5) / 3) - low) / (high - low)) < 1.63
    assert values.min() >= 1


@pytest.mark.parametrize(("low", "high"), [(0.0, math.inf), (1.0, 30.0)])
def test_truncated_weibull_has_the_right_shape(low, high):
    values = Weibull(0.8, 10, low, high).sample(np.random.default_rng(3), N)

    def survival(x):
        return math.exp(-((x / 10) ** 0.8))

    assert ks(values, lambda x: (survival(low) - survival(x)) / (survival(low) - survival(high))) < 1.63
    assert values.min() >= low - 1e-9
    assert values.max() <= high
    assert np.isfinite(values).all()


@pytest.mark.parametrize(
    ("high", "base", "last"), [(256, 2, 256), (255, 2, 128), (1, 2, 1), (1000, 10, 1000), (125, 5, 125)]
)
def test_powers_start_at_one_and_reach_the_limit(high, base, last):
    values = Discrete.powers(high, base).values
    assert values[0] == 1
    assert values[-1] == last


def test_mixture_takes_parts_by_weight():
    mixture = Mixture((Uniform(0, 1), Uniform(10, 11), Constant(5)), (2, 2, 6))
    values = mixture.sample(np.random.default_rng(4), N)
    assert (values < 2).mean() == pytest.approx(0.2, abs=0.01)
    assert (values == 5).mean() == pytest.approx(0.6, abs=0.01)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: Uniform(3, 2), "low must not exceed high"),
        (lambda: Exponential(0), "mean must be above 0"),
        (lambda: LogUniform(0, 1), "0 < low"),
        (lambda: Normal(0, 1, 8, 9), "0.1 %"),
        (lambda: Normal(0, 0), "std > 0"),
        (lambda: Weibull(0, 1), "above 0"),
        (lambda: Weibull(1, 1, 100, 200), "nothing lies"),
        (lambda: Discrete(()), "at least one"),
        (lambda: Mixture((Constant(1),), (1, 2)), "1 weights are needed"),
        (lambda: Mixture((Constant(1), Constant(2)), (0, 0)), "above 0"),
        (lambda: Population(users=0), "users=0"),
        (lambda: Population(session=1), "session=1"),
    ],
)
def test_impossible_values_are_refused(make, match):
    with pytest.raises(OptionError, match=match):
        make()


def test_users_follow_zipf():
    ranks = zipf(np.random.default_rng(5), 64, 1.0, N)
    harmonic = sum(1 / k for k in range(1, 65))
    expected = np.array([N / k / harmonic for k in range(1, 65)])
    chi2 = ((np.bincount(ranks, minlength=64) - expected) ** 2 / expected).sum()
    assert chi2 < 92  # 99 % quantile with 63 degrees of freedom
    assert np.bincount(zipf(np.random.default_rng(5), 4, 0.0, N)).min() > 0.24 * N


@pytest.fixture(scope="module")
def owners():
    sizes = np.tile(np.array([1, 16, 64, 65, 256], np.int32), N // 5)
    requested = np.tile(np.array([1800, 1801], np.int64), N // 2)
    return sizes, requested, Population().owners(np.random.default_rng(6), sizes, requested, 256)


def test_sessions_keep_the_shares(owners):
    _, _, who = owners
    assert who.user.codes.dtype == np.int32
    shares = np.bincount(who.user.codes, minlength=64) / N
    harmonic = sum(1 / k for k in range(1, 65))
    assert shares[0] == pytest.approx(1 / harmonic, abs=0.01)
    # same user as before: session 0.6, or by chance 0.4 * sum of squared shares
    chance = sum((1 / k / harmonic) ** 2 for k in range(1, 65))
    assert (np.diff(who.user.codes) == 0).mean() == pytest.approx(0.6 + 0.4 * chance, abs=0.01)


def test_users_have_one_account(owners):
    _, _, who = owners
    for user in range(64):
        assert len(set(who.account.codes[who.user.codes == user].tolist())) == 1
    assert 2 <= len(set(who.account.codes.tolist())) <= 8
    assert who.user.names[0] == "user01"
    assert len(who.user.names) == 64
    assert len(who.account.names) == 8


def test_partitions_follow_size_and_request(owners):
    sizes, requested, who = owners
    expected = np.where(sizes > 64, "large", np.where((requested <= 1800) & (sizes <= 16), "debug", "batch"))
    np.testing.assert_array_equal(np.array(who.partition.names)[who.partition.codes], expected)


def test_priorities_are_whole_numbers_in_range(owners):
    _, _, who = owners
    assert who.priority.min() == 0
    assert who.priority.max() == 1000
    assert (who.priority == np.floor(who.priority)).all()


def test_no_jobs_no_owners():
    who = Population().owners(np.random.default_rng(0), np.zeros(0, np.int32), np.zeros(0, np.int64), 4)
    assert len(who.user.codes) == len(who.priority) == 0
