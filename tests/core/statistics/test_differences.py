from __future__ import annotations

from math import inf, isnan, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from betterhalf.statistics.differences import (
    difference_interval,
    name_outcome,
    p_equivalent,
    p_not_worse,
    smallest_margin,
)
from betterhalf.statistics.intervals import Interval


VALUES = st.lists(
    st.integers(-1000, 1000).map(lambda n: n / 100), min_size=2, max_size=10
)

# NVIDIA DeepLearningExamples 729963dd, TensorFlow2/LanguageModeling/BERT/README.md
SQUAD_FP16 = [91.12, 90.80, 90.94, 90.90, 90.94]
SQUAD_TF32 = [90.79, 90.88, 90.80, 90.88, 90.83]
LOSS_FP16 = [1.657, 1.661, 1.683]
LOSS_TF32 = [1.670, 1.654, 1.636]


def _spread_out(*samples):
    return all(np.std(sample) > 1e-9 for sample in samples)


def test_squad_f1_has_the_published_difference_and_interval():
    interval = difference_interval(SQUAD_FP16, SQUAD_TF32, 0.05)
    assert [round(end, 3) for end in interval] == [0.104, -0.007, 0.215]


def test_squad_f1_is_equivalent_at_half_a_point():
    p = p_equivalent(SQUAD_FP16, SQUAD_TF32, 0.5)
    assert round(p, 4) == 0.0004
    interval = difference_interval(SQUAD_FP16, SQUAD_TF32, 0.05)
    assert name_outcome(interval, 0.5) == "equivalent"


def test_squad_f1_is_not_worse_at_a_fifth_of_a_point_but_not_equivalent():
    assert round(p_not_worse(SQUAD_FP16, SQUAD_TF32, 0.2), 4) == 0.0013
    assert round(p_equivalent(SQUAD_FP16, SQUAD_TF32, 0.2), 2) == 0.07
    interval = difference_interval(SQUAD_FP16, SQUAD_TF32, 0.05)
    assert name_outcome(interval, 0.2) == "not-worse"


def test_the_convergence_that_was_claimed_is_inconclusive():
    p = p_not_worse(LOSS_FP16, LOSS_TF32, 0.02, mode="min")
    assert round(p, 2) == 0.32
    interval = difference_interval(LOSS_FP16, LOSS_TF32, 0.05)
    assert name_outcome(interval, 0.02, mode="min") == "inconclusive"
    assert smallest_margin(interval, mode="min") > 0.02


@given(VALUES, VALUES, st.floats(0.0, 5.0), st.sampled_from(["min", "max"]))
def test_p_values_are_those_of_scipys_welch_test(judged, reference, margin, mode):
    if not _spread_out(judged, reference):
        return
    sign = 1 if mode == "max" else -1
    expected = stats.ttest_ind(
        sign * np.array(judged) + margin,
        sign * np.array(reference),
        equal_var=False,
        alternative="greater",
    ).pvalue
    p = p_not_worse(judged, reference, margin, mode)
    assert p == pytest.approx(expected, rel=1e-6, abs=1e-9)


@given(VALUES, VALUES)
def test_two_one_sided_tests_are_the_interval_within_the_margin(judged, reference):
    if not _spread_out(judged, reference):
        return
    interval = difference_interval(judged, reference, 0.05)
    edge = max(abs(interval.low), abs(interval.high))
    assert p_equivalent(judged, reference, edge * 1.001) < 0.05
    assert p_equivalent(judged, reference, edge * 0.999) > 0.05


@given(VALUES, VALUES, st.sampled_from(["min", "max"]))
def test_the_smallest_margin_is_where_not_worse_begins(judged, reference, mode):
    if not _spread_out(judged, reference):
        return
    least = smallest_margin(difference_interval(judged, reference, 0.05), mode)
    assert p_not_worse(judged, reference, least + 1e-6, mode) < 0.05
    if least > 1e-6:
        assert p_not_worse(judged, reference, least - 1e-6, mode) > 0.05


@given(VALUES, VALUES, st.floats(0.01, 5.0))
def test_the_two_modes_are_mirror_images(judged, reference, margin):
    up = name_outcome(difference_interval(judged, reference), margin, "max")
    down = name_outcome(
        difference_interval([-v for v in judged], [-v for v in reference]),
        margin,
        "min",
    )
    assert up == down


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (1.1, 2.0, "better"),
        (0.5, 2.0, "not-worse"),
        (-0.5, 0.5, "equivalent"),
        (-0.5, 1.0, "not-worse"),
        (-1.0, 0.5, "inconclusive"),
        (-2.0, 2.0, "inconclusive"),
        (-2.0, -1.0, "inconclusive"),
        (-2.0, -1.1, "worse"),
        (nan, nan, "inconclusive"),
    ],
)
def test_an_interval_has_one_outcome_at_a_margin_of_one(low, high, outcome):
    assert name_outcome(Interval((low + high) / 2, low, high), 1.0) == outcome


@given(VALUES.filter(lambda v: len(v) > 2), st.floats(0.001, 0.4))
def test_pairing_is_the_one_sample_test_of_the_differences(judged, level):
    reference = list(reversed(judged))
    differences = np.array(judged) - np.array(reference)
    if differences.std() < 1e-9:
        return
    expected = stats.ttest_1samp(differences, 0.0).confidence_interval(1 - 2 * level)
    interval = difference_interval(judged, reference, level, paired=True)
    assert interval.low == pytest.approx(expected.low, rel=1e-6, abs=1e-9)


def test_pairing_refuses_unequal_numbers():
    with pytest.raises(ValueError, match="Received: 2 and 3"):
        difference_interval([1.0, 2.0], [1.0, 2.0, 3.0], paired=True)


def test_one_value_has_no_interval_and_no_p_value():
    interval = difference_interval([1.0], [1.0, 2.0])
    assert isnan(interval.low)
    assert isnan(smallest_margin(interval))
    assert isnan(p_not_worse([1.0], [1.0, 2.0], 0.5))
    assert isnan(p_equivalent([1.0], [1.0, 2.0], 0.5))


def test_equal_values_collapse_and_are_certain():
    assert difference_interval([1.0] * 3, [0.5] * 3) == (0.5, 0.5, 0.5)
    assert p_not_worse([1.0] * 3, [0.5] * 3, 0.1) == 0.0
    assert p_equivalent([1.0] * 3, [0.5] * 3, 0.1) == 1.0
    assert p_not_worse([0.0] * 3, [1.0] * 3, 1.0) == 1.0


@pytest.mark.parametrize("bad", [nan, inf, -inf])
def test_a_value_that_is_not_finite_decides_nothing(bad):
    interval = difference_interval([1.0, bad, 1.1], [1.0, 1.1, 1.2])
    assert all(isnan(end) for end in interval)
    assert isnan(p_not_worse([1.0, bad, 1.1], [1.0, 1.1, 1.2], 1.0))


@pytest.mark.parametrize("trials", [3, 10])
def test_not_worse_errs_at_the_margin_as_often_as_its_level(trials):
    random = np.random.default_rng(5)
    draws = 1500
    wrong = sum(
        p_not_worse(
            list(random.standard_normal(trials) - 1.0),
            list(random.standard_normal(trials)),
            1.0,
        )
        < 0.05
        for _ in range(draws)
    )
    assert wrong / draws <= 0.05 + 4 * (0.05 * 0.95 / draws) ** 0.5
