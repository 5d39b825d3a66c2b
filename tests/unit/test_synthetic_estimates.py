"""Requested walltimes against the published estimate model, and the fairness of their assignment."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twin_gym.datasets import _estimates as estimates
from twin_gym.datasets import _lublin as lublin
from twin_gym.datasets._estimates import Histogram
from twin_gym.errors import OptionError

H = 3600


def test_popular_times_for_two_days():
    expected = [5, 10, 15, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 720, 1080]  # popular everywhere
    expected += [1200, 1800, 2400]  # multiples of 10 h, from the top: 40, 30, 20
    expected += [2700]  # and of 5 h: 45
    assert estimates.head_times(48 * H) == [48 * H, *(60 * minute for minute in expected)]


def test_popular_times_for_a_short_maximum():
    # five common ones below the hour, then multiples of 20, 10 and 5 minutes; no twenty exist
    assert estimates.head_times(H) == [H, *(60 * m for m in range(5, 60, 5))]
    assert estimates.head_times(18 * H)[0] == 18 * H
    assert len(estimates.head_times(18 * H)) == len(set(estimates.head_times(18 * H))) == 20


def test_popular_shares_by_hand():
    shares = 100 * estimates.head_shares()
    assert shares[1] == pytest.approx(14.0491 * math.exp(-0.355062) + 0.462513)
    assert shares.sum() == pytest.approx(89)
    # geometric series with q = e**-0.177531: 14.0491 q**2 (1 - q**19) / (1 - q) + 19 * 0.462513 = 67.27
    assert shares[0] == pytest.approx(89 - 67.27, abs=0.02)
    assert (np.diff(shares) < 0).all()


def test_popularity_is_a_permutation_that_keeps_the_maximum_first():
    seen = set()
    for seed in range(200):
        ranks = estimates.popularity_ranks(np.random.default_rng(seed))
        assert sorted(ranks) == list(range(1, 21))
        assert ranks[0] == 1
        for rank in range(1, 21):  # about as early in time as on one of the four machines (two may be due at once)
            assert ranks.index(rank) <= max(i for i, row in enumerate(estimates.POPULARITY) if rank in row) + 2
        seen.add(tuple(ranks))
    assert len(seen) > 100
    assert sorted(estimates.popularity_ranks(np.random.default_rng(0), 12)) == list(range(1, 13))


@pytest.mark.parametrize(("jobs", "distinct"), [(20, 12), (1000, 35), (5500, 62), (40_000, 215), (10**7, 565)])
def test_histogram(jobs, distinct):
    # 5500 jobs: half way between 35 and 90; 40,000: half way between 90 and 340
    maximum = H if jobs == 20 else 48 * H
    histogram = estimates.histogram(np.random.default_rng(jobs), jobs, maximum)
    assert abs(len(histogram.times) - distinct) <= 1
    assert (np.diff(histogram.times) > 0).all()
    assert histogram.times[0] > 0
    assert histogram.times[-1] == maximum
    assert histogram.shares.sum() == pytest.approx(1)
    if jobs > 20:
        head = np.isin(histogram.times, estimates.head_times(maximum))
        assert histogram.shares[head].sum() == pytest.approx(0.89)
    assert histogram.counts(jobs).sum() == jobs


def test_a_maximum_below_an_hour_is_refused():
    with pytest.raises(OptionError, match="3600 s"):
        estimates.histogram(np.random.default_rng(0), 1000, 3599)


@pytest.fixture(scope="module")
def lublin_jobs():
    rng = np.random.default_rng(1)
    return lublin.runtimes(rng, lublin.sizes(rng, 100_000, 256))


def test_estimates_are_the_histogram_and_never_too_short(lublin_jobs):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        histogram = estimates.histogram(rng, len(lublin_jobs), 48 * H)
        requested = estimates.assign(rng, lublin_jobs, histogram)
        assert requested.dtype == np.int64
        assert (requested >= lublin_jobs).all()
        times, counts = np.unique(requested, return_counts=True)
        np.testing.assert_array_equal(times, histogram.times[histogram.counts(len(lublin_jobs)) > 0])
        np.testing.assert_array_equal(
            counts, histogram.counts(len(lublin_jobs))[histogram.counts(len(lublin_jobs)) > 0]
        )


def test_round_values_are_popular(lublin_jobs):
    rng = np.random.default_rng(2)
    requested = estimates.assign(rng, lublin_jobs, estimates.histogram(rng, len(lublin_jobs), 48 * H))
    _, counts = np.unique(requested, return_counts=True)
    assert np.sort(counts)[-20:].sum() / len(requested) == pytest.approx(0.89, abs=0.005)
    assert (requested % 300 == 0).mean() > 0.89
    assert (requested == 48 * H).mean() == pytest.approx(0.217, abs=0.001)
    assert np.median(requested / lublin_jobs) > 2  # users ask for far too much


def published_assignment(rng, runtimes, dealt):
    """The paper's loop: longest job first, a uniformly random estimate of those left that are long enough."""
    left = sorted(dealt, reverse=True)
    result = {}
    for job in sorted(range(len(runtimes)), key=lambda j: -runtimes[j]):
        fitting = [k for k, estimate in enumerate(left) if estimate >= runtimes[job]]
        result[job] = left.pop(fitting[rng.integers(len(fitting))])
    return tuple(result[job] for job in range(len(runtimes)))


def test_assignment_has_the_published_distribution():
    runtimes = np.array([1, 7, 1, 12, 6])
    histogram = Histogram(np.array([5, 10, 20, 30]), np.array([0.2, 0.4, 0.2, 0.2]))
    dealt = [5, 10, 10, 20, 30]
    rounds = 6000
    rng = np.random.default_rng(3)
    ours = Counter(tuple(estimates.assign(rng, runtimes, histogram).tolist()) for _ in range(rounds))
    theirs = Counter(published_assignment(rng, runtimes, dealt) for _ in range(rounds))
    outcomes = set(ours) | set(theirs)
    possible = {p for p in itertools.permutations(dealt) if all(e >= r for e, r in zip(p, runtimes, strict=True))}
    assert outcomes == possible
    chi2 = sum((ours[o] - theirs[o]) ** 2 / (ours[o] + theirs[o]) for o in outcomes)
    assert chi2 < len(outcomes) - 1 + 3 * math.sqrt(2 * len(outcomes))


@settings(max_examples=200)
@given(st.lists(st.integers(1, 100), max_size=40), st.integers(0, 2**32))
def test_every_job_gets_enough_even_when_long_estimates_run_out(runtimes, seed):
    histogram = Histogram(np.array([10, 50, 100]), np.array([0.8, 0.1, 0.1]))
    requested = estimates.assign(np.random.default_rng(seed), np.array(runtimes, dtype=np.int64), histogram)
    assert (requested >= np.array(runtimes, dtype=np.int64)).all()
    assert set(requested.tolist()) <= {10, 50, 100}


def test_a_runtime_above_the_maximum_is_refused():
    with pytest.raises(OptionError, match="101 s exceeds"):
        estimates.assign(np.random.default_rng(0), np.array([101]), Histogram(np.array([100]), np.array([1.0])))
