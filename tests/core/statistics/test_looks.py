from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from betterhalf.statistics.looks import (
    FIRST,
    NOMINAL,
    OVERALL,
    SECOND,
    nominal_level,
)
from betterhalf.statistics.power import simulate_error


def _pooled_error(level, looks, draws=200_000, seed=3):
    """Two looks of the t test with pooled spreads, by other lines than ours."""
    random = np.random.default_rng(seed)
    first, second = random.standard_normal((2, draws, max(looks)))
    found = np.zeros(draws, dtype=bool)
    for n in looks:
        a, b = first[:, :n], second[:, :n]
        pooled = np.sqrt((a.var(axis=1, ddof=1) + b.var(axis=1, ddof=1)) / n)
        t = (a.mean(axis=1) - b.mean(axis=1)) / pooled
        found |= t > stats.t.isf(level, 2 * n - 2)
    return found.mean()


@pytest.mark.parametrize(("level", "overall"), [(0.028, 0.0507), (0.0137, 0.0252)])
def test_the_nominal_levels_give_the_overall_ones_of_the_protocol(level, overall):
    # three standard errors of the simulation
    assert _pooled_error(level, (3, 10)) == pytest.approx(overall, abs=0.0015)


@pytest.mark.parametrize(
    ("level", "spreads", "overall"),
    [
        (0.028, (1.0, 1.0), 0.044),
        (0.0137, (1.0, 1.0), 0.021),
        (0.028, (0.2, 1.0), 0.057),
        (0.0137, (0.2, 1.0), 0.031),
    ],
)
def test_welchs_t_spends_what_the_docs_say(level, spreads, overall):
    error = simulate_error(level, spreads=spreads)
    assert error == pytest.approx(overall, abs=0.0025)


def test_adding_one_trial_at_a_time_errs_more_often_than_two_looks():
    assert simulate_error(0.03, range(3, 11)) == pytest.approx(0.084, abs=0.003)


def test_the_levels_for_the_default_looks_are_those_of_the_plan():
    assert nominal_level(OVERALL, (FIRST, SECOND)) == pytest.approx(NOMINAL, abs=2e-4)
    assert nominal_level(0.025, (FIRST, SECOND)) == pytest.approx(0.0137, abs=2e-4)


def test_one_look_spends_everything():
    assert nominal_level(0.05, (3,)) == 0.05


@settings(max_examples=25)
@given(
    st.floats(0.001, 0.2),
    st.tuples(st.integers(2, 20), st.integers(1, 30)).map(lambda n: (n[0], sum(n))),
)
def test_the_level_solves_the_bivariate_normal_distribution(overall, looks):
    level = nominal_level(overall, looks)
    rho = (looks[0] / looks[1]) ** 0.5
    limit = stats.norm.isf(level)
    below = stats.multivariate_normal.cdf([limit, limit], cov=[[1, rho], [rho, 1]])
    assert 1 - below == pytest.approx(overall, abs=2e-5)
    assert overall / 2 <= level <= overall


@pytest.mark.parametrize("looks", [(), (3, 5, 10), (10, 3), (3, 3), (0, 3)])
def test_other_numbers_of_looks_are_refused(looks):
    with pytest.raises(ValueError, match="one or two growing looks"):
        nominal_level(0.05, looks)
