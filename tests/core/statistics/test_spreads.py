from __future__ import annotations

from math import inf, isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from betterhalf.statistics.spreads import (
    compare_spreads,
    find_drift,
    mark_outliers,
    p_first_larger,
    spread,
)


VALUES = st.lists(
    st.integers(-1000, 1000).map(lambda n: n / 100), min_size=3, max_size=10
)


@given(VALUES, VALUES)
def test_the_ratio_of_spreads_has_the_f_tests_p_value(one, other):
    first, second = np.var(one, ddof=1), np.var(other, ddof=1)
    if min(first, second) < 1e-9:
        return
    f = first / second
    tails = stats.f(len(one) - 1, len(other) - 1)
    expected = min(1.0, 2 * min(tails.cdf(f), tails.sf(f)))
    ratio = compare_spreads(one, other)
    assert ratio.ratio == pytest.approx(max(f, 1 / f) ** 0.5)
    if f != pytest.approx(1.0):
        larger = tails.sf(f) if f > 1 else tails.cdf(f)
        assert ratio.p == pytest.approx(min(1.0, 2 * larger), rel=1e-6)
        assert ratio.p >= expected - 1e-9


def test_no_spread_against_some_is_infinitely_unequal():
    assert compare_spreads([1.0, 1.0], [1.0, 2.0]) == (inf, 0.0)
    assert compare_spreads([1.0, 1.0], [2.0, 2.0]) == (1.0, 1.0)
    assert isnan(compare_spreads([1.0], [1.0, 2.0]).ratio)


def test_the_spread_of_one_value_is_unknown():
    assert isnan(spread([1.0]))
    assert spread([2.0, 2.0]) == 0.0
    assert spread([1.0, 3.0]) == pytest.approx(2**0.5)


@given(VALUES)
def test_the_drift_of_one_arm_is_its_regression(values):
    if np.std(values) < 1e-9:
        return
    blocks = list(range(1, len(values) + 1))
    line = stats.linregress(blocks, values)
    drift = find_drift([list(zip(blocks, values, strict=True))])
    assert drift.change == pytest.approx(line.slope * (len(values) - 1), abs=1e-9)
    if len(values) > 2 and abs(line.rvalue) < 0.999999:
        assert drift.p == pytest.approx(line.pvalue, rel=1e-5, abs=1e-9)


def test_arms_of_different_speed_share_one_drift():
    groups = [[(b, level + 0.1 * b) for b in (1, 2, 3)] for level in (0.0, 5.0)]
    drift = find_drift(groups)
    assert drift.change == pytest.approx(0.2)
    assert drift.p < 1e-6


def test_too_few_blocks_have_no_drift():
    assert isnan(find_drift([[(1, 1.0)], [(1, 2.0)]]).change)
    assert isnan(find_drift([]).change)


def test_drift_is_found_about_as_rarely_as_its_level_where_there_is_none():
    random = np.random.default_rng(2)
    found = sum(
        find_drift(
            [
                list(zip((1, 2, 3), random.standard_normal(3), strict=True))
                for _ in range(2)
            ]
        ).p
        < 0.05
        for _ in range(1000)
    )
    assert 0.02 <= found / 1000 <= 0.08


def test_a_slow_first_trial_stands_out_of_the_others():
    assert p_first_larger(2.0, [1.0, 1.01, 0.99]) < 0.05
    assert p_first_larger(1.01, [1.0, 1.01, 0.99]) > 0.05
    assert p_first_larger(1.0, [1.0, 1.0]) == 1.0
    assert p_first_larger(1.1, [1.0, 1.0]) == 0.0


def test_an_outlier_is_marked_where_it_stands():
    assert mark_outliers([1.0, 1.01, 0.99, 1.02, 3.0]) == (4,)
    assert mark_outliers([1.0, 1.01, 0.99, 1.02, 1.0]) == ()


def test_four_values_have_no_outlier():
    assert mark_outliers([1.0, 1.0, 1.0, 9.0]) == ()
    assert mark_outliers([1.0, 1.0, 1.0, 1.0, 9.0]) == ()
