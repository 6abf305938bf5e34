from __future__ import annotations

from math import exp, inf, isnan, log, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from betterhalf.statistics.intervals import geometric_interval, mean_interval
from betterhalf.statistics.ratios import ratio_interval


SECONDS = st.floats(1e-6, 1e6)
SAMPLES = st.lists(SECONDS, min_size=2, max_size=12)


@given(SAMPLES, SAMPLES, st.sampled_from([0.8, 0.9, 0.95, 0.9726]))
def test_the_interval_is_that_of_scipys_welch_test_on_logs(one, other, confidence):
    logs = np.log(one), np.log(other)
    if min(sample.std() for sample in logs) < 1e-9:
        return
    expected = stats.ttest_ind(*logs, equal_var=False).confidence_interval(confidence)
    interval = ratio_interval(one, other, confidence)
    assert log(interval.low) == pytest.approx(expected.low, rel=1e-7, abs=1e-7)
    assert log(interval.high) == pytest.approx(expected.high, rel=1e-7, abs=1e-7)


@given(SAMPLES, SAMPLES)
def test_the_estimate_is_the_ratio_of_the_geometric_means(one, other):
    expected = stats.gmean(one) / stats.gmean(other)
    assert ratio_interval(one, other).estimate == pytest.approx(expected, rel=1e-9)
    figures = geometric_interval(one).estimate / geometric_interval(other).estimate
    assert figures == pytest.approx(expected, rel=1e-9)


@given(SAMPLES, SAMPLES, st.floats(0.01, 100.0))
def test_another_unit_changes_nothing(one, other, unit):
    interval = ratio_interval(one, other)
    scaled = ratio_interval([unit * v for v in one], [unit * v for v in other])
    assert scaled == pytest.approx(interval, rel=1e-6)


@given(SAMPLES, SAMPLES)
def test_swapping_the_arms_inverts_the_interval(one, other):
    forth, back = ratio_interval(one, other), ratio_interval(other, one)
    assert log(forth.low) == pytest.approx(-log(back.high), rel=1e-6, abs=1e-9)


@given(SAMPLES, SAMPLES)
def test_the_estimate_lies_in_its_interval(one, other):
    interval = ratio_interval(one, other)
    assert interval.low <= interval.estimate <= interval.high


@pytest.mark.parametrize(("one", "other"), [([2.0], [1.0, 1.1]), ([2.0, 2.1], [1.0])])
def test_one_trial_gives_an_estimate_without_an_interval(one, other):
    interval = ratio_interval(one, other)
    assert interval.estimate == pytest.approx(2.0, rel=0.1)
    assert isnan(interval.low)
    assert isnan(interval.high)


def test_no_trial_gives_no_estimate():
    assert all(isnan(end) for end in ratio_interval([], [1.0, 2.0]))


def test_equal_values_give_an_interval_without_width():
    assert ratio_interval([0.3] * 3, [0.1] * 3) == pytest.approx((3.0, 3.0, 3.0))


def test_one_arm_without_spread_leaves_the_freedom_of_the_other():
    interval = ratio_interval([1.0, 1.0, 1.0], [1.0, exp(0.1), exp(0.2)])
    half = stats.t.ppf(0.975, 2) * 0.1 / 3**0.5
    assert log(interval.low) == pytest.approx(-0.1 - half)


@pytest.mark.parametrize("bad", [nan, inf, -inf, 0.0, -1.0])
def test_a_figure_that_is_no_time_spoils_the_ratio_and_raises_nothing(bad):
    assert all(isnan(end) for end in ratio_interval([1.0, bad, 1.1], [1.0, 1.2, 1.1]))


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=10))
def test_the_interval_of_a_mean_is_scipys(values):
    if np.std(values) < 1e-9:
        return
    low, high = stats.t.interval(
        0.95, len(values) - 1, np.mean(values), stats.sem(values)
    )
    interval = mean_interval(values)
    assert interval.low == pytest.approx(low, rel=1e-6, abs=1e-6)
    assert interval.high == pytest.approx(high, rel=1e-6, abs=1e-6)


def test_extreme_times_do_not_overflow():
    interval = ratio_interval([1e-300, 1e300, 1.0], [1e300, 1e-300, 1.0])
    assert interval.high == inf
    assert interval.low == 0.0


@pytest.mark.parametrize("spreads", [(0.04, 0.04), (0.01, 0.09)])
@pytest.mark.parametrize("trials", [3, 10])
def test_the_interval_covers_the_truth_as_often_as_it_says(trials, spreads):
    random = np.random.default_rng(20)
    draws = 1500
    covered = 0
    for _ in range(draws):
        one = np.exp(log(1.5) + spreads[0] * random.standard_normal(trials))
        other = np.exp(spreads[1] * random.standard_normal(trials))
        interval = ratio_interval(list(one), list(other))
        covered += interval.low <= 1.5 <= interval.high
    # 0.95 within four standard errors of the simulation, and Welch's own caution
    assert 0.93 <= covered / draws <= 0.985


def test_a_third_arm_in_the_pool_would_more_than_double_the_error():
    random = np.random.default_rng(0)
    first, second, third = random.standard_normal((3, 200_000, 3))
    variances = [arm.var(axis=1, ddof=1) for arm in (first, second, 0.2 * third)]
    error = np.sqrt(np.mean(variances, axis=0) * 2 / 3)
    t = (first.mean(axis=1) - second.mean(axis=1)) / error
    assert (t > stats.t.isf(0.025, 6)).mean() == pytest.approx(0.055, abs=0.003)


def test_equal_spreads_of_three_trials_often_look_twice_as_large():
    at_least_twice = 2 * stats.f(2, 2).sf(4.0)
    assert at_least_twice == pytest.approx(0.4)
