from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest
from scipy import stats

from betterhalf.statistics.power import (
    MOST_TRIALS,
    simulate_accuracy,
    simulate_speed,
    trials_to_decide,
)


@pytest.mark.parametrize(
    ("spread", "trials", "share"),
    # The protocol's table has 0.80 and 0.45 for three trials, from a pooled t test;
    # Welch's t, which ships, decides less often there.
    [
        (0.4, 3, 0.74),
        (0.67, 3, 0.39),
        (0.67, 5, 0.68),
        (0.67, 10, 0.94),
        (1.0, 10, 0.69),
    ],
)
def test_one_look_decides_as_often_as_the_docs_say(spread, trials, share):
    passed = simulate_accuracy(0.0, spread, (trials,), level=0.05).passed
    assert passed == pytest.approx(share, abs=0.012)


def test_a_second_look_decides_more():
    one = simulate_accuracy(0.0, 1.0, (3,))
    two = simulate_accuracy(0.0, 1.0, (3, 10))
    assert two.passed > one.passed + 0.3


def test_several_candidates_cost_power():
    one = simulate_accuracy(0.0, 1.0, candidates=1)
    three = simulate_accuracy(0.0, 1.0, candidates=3)
    assert three.passed < one.passed


def test_at_the_margin_the_arm_passes_as_rarely_as_the_level():
    assert simulate_accuracy(-1.0, 0.5).passed <= 0.05


def test_two_margins_below_nearly_always_fails():
    assert simulate_accuracy(-2.0, 0.4).failed > 0.9


@pytest.mark.parametrize("looks", [(3,), (10,), (3, 10)])
def test_an_arm_at_the_gate_passes_as_rarely_as_the_level(looks):
    assert simulate_speed(1.02, 0.04, looks).passed <= 0.028


def test_a_clear_gain_passes_and_a_clear_loss_fails():
    assert simulate_speed(1.6, 0.04).passed > 0.99
    assert simulate_speed(0.6, 0.04).failed > 0.99


def test_the_shares_are_a_partition():
    shares = simulate_speed(1.1, 0.05)
    assert sum(shares) == pytest.approx(1.0)
    assert min(shares) >= 0.0


def test_the_same_seed_gives_the_same_shares():
    assert simulate_speed(1.1, 0.05, seed=4) == simulate_speed(1.1, 0.05, seed=4)


@pytest.mark.parametrize("spreads", [(0.04, 0.04), (0.02, 0.08)])
@pytest.mark.parametrize("distance", [0.05, 0.1])
def test_that_many_trials_decide_in_four_of_five_simulations(distance, spreads):
    trials = trials_to_decide(distance, *spreads, 0.025)
    random = np.random.default_rng(9)
    for count, holds in ((trials, True), (max(2, trials // 2), False)):
        first = distance + spreads[0] * random.standard_normal((4000, count))
        second = spreads[1] * random.standard_normal((4000, count))
        p = stats.ttest_ind(
            first, second, axis=1, equal_var=False, alternative="greater"
        ).pvalue
        share = (p < 0.025).mean()
        assert share >= 0.77 if holds else share < 0.8


def test_a_closer_limit_needs_more_trials():
    counts = [trials_to_decide(d, 0.04, 0.04, 0.025) for d in (0.2, 0.1, 0.05, 0.03)]
    assert counts == sorted(counts)


def test_the_answer_is_more_than_has_been_tried():
    assert trials_to_decide(1.0, 0.01, 0.01, 0.025, at_least=7) == 7


@pytest.mark.parametrize("distance", [0.0, -1.0, nan, inf, 1e-6])
def test_some_distances_are_decided_by_no_number_of_trials(distance):
    assert trials_to_decide(distance, 0.04, 0.04, 0.025) is None


def test_unknown_spreads_give_no_number():
    assert trials_to_decide(0.1, nan, 0.04, 0.025) is None


def test_no_spread_needs_no_more_trials():
    assert trials_to_decide(0.1, 0.0, 0.0, 0.025, at_least=4) == 4


def test_the_search_ends():
    assert trials_to_decide(0.01, 0.04, 0.04, 0.025) is None
    assert MOST_TRIALS == 100
