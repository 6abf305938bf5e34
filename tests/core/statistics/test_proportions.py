from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from betterhalf.statistics.proportions import p_more_often, upper_bound


COUNTS = st.integers(1, 30).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize(("trials", "percent"), [(3, 63), (5, 45), (10, 26)])
def test_no_divergence_leaves_the_rate_that_the_protocol_prints(trials, percent):
    assert round(100 * upper_bound(0, trials)) == percent


@given(COUNTS, st.sampled_from([0.9, 0.95, 0.99]))
def test_the_bound_is_scipys_exact_one(counts, confidence):
    events, trials = counts
    expected = stats.binomtest(events, trials, alternative="less").proportion_ci(
        confidence, method="exact"
    )
    bound = upper_bound(events, trials, confidence)
    assert bound == pytest.approx(expected.high, rel=1e-9)


@given(COUNTS, COUNTS)
def test_fishers_test_is_scipys(judged, reference):
    table = [
        [judged[0], judged[1] - judged[0]],
        [reference[0], reference[1] - reference[0]],
    ]
    expected = stats.fisher_exact(table, alternative="greater").pvalue
    assert p_more_often(*judged, *reference) == pytest.approx(expected, rel=1e-9)


def test_three_of_three_against_none_is_not_below_five_percent():
    assert p_more_often(3, 3, 0, 3) == 0.05


def test_no_trial_at_all_leaves_every_rate_possible():
    assert upper_bound(0, 0) == 1.0
    assert p_more_often(0, 0, 0, 3) == 1.0


@pytest.mark.parametrize("counts", [(-1, 3), (4, 3)])
def test_impossible_counts_are_refused(counts):
    with pytest.raises(ValueError, match="Received"):
        upper_bound(*counts)
    with pytest.raises(ValueError, match="Received"):
        p_more_often(0, 3, *counts)
