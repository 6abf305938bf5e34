"""The rule by which a loss scale moves, without a framework."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from betterhalf.precision.loss_scale import (
    CEILING,
    FLOOR,
    PATIENCE,
    LossScaleRule,
    LossScaleState,
)


finite_factors = st.floats(min_value=1.0, max_value=64.0)
rules = st.builds(
    LossScaleRule,
    growth_factor=finite_factors,
    backoff_factor=finite_factors.map(lambda number: 1 / number),
    search_factor=finite_factors.map(lambda number: 1 / number),
    growth_interval=st.integers(1, 5),
    hysteresis=st.integers(1, 4),
)
any_scale = st.one_of(
    st.just(0.0), st.just(float("inf")), st.floats(0.0, width=32, allow_nan=False)
)


def walk(rule, state, steps, searching=False):
    for good in steps:
        if good:
            state = rule.after_good_step(state)
        else:
            state = rule.after_bad_step(state, searching=searching)
    return state


def test_the_defaults_are_those_of_keras():
    rule = LossScaleRule()
    assert (rule.initial, rule.growth_factor, rule.backoff_factor) == (2**15, 2, 0.5)
    assert (rule.growth_interval, rule.hysteresis) == (2000, 1)


@given(rules, any_scale, st.lists(st.booleans()))
def test_whatever_comes_the_scale_stays_between_floor_and_ceiling(rule, scale, steps):
    state = LossScaleState(scale)
    for good in steps:
        state = walk(rule, state, [good])
        assert rule.floor <= state.scale <= rule.ceiling
        assert state.scale == np.float32(state.scale)


@given(rules, st.lists(st.booleans(), min_size=1))
def test_the_counters_count(rule, steps):
    state = walk(rule, LossScaleState(rule.initial), steps)
    assert state.skipped == steps.count(False)
    bad_in_a_row = next((i for i, good in enumerate(reversed(steps)) if good), None)
    bad_in_a_row = len(steps) if bad_in_a_row is None else bad_in_a_row
    assert max(-state.counter, 0) == bad_in_a_row


@given(rules, st.integers(1, 12))
def test_good_steps_raise_it_once_an_interval(rule, count):
    rule = LossScaleRule(growth_interval=rule.growth_interval)
    state = walk(rule, LossScaleState(1.0), [True] * count)
    assert state.scale == 2.0 ** (count // rule.growth_interval)
    assert state.counter == count % rule.growth_interval


def test_hysteresis_lowers_it_from_the_nth_bad_step_in_a_row_on():
    rule = LossScaleRule(hysteresis=3)
    scales = []
    state = LossScaleState(64.0)
    for good in (False, False, True, False, False, False, False):
        state = walk(rule, state, [good])
        scales.append(state.scale)
    assert scales == [64, 64, 64, 64, 64, 32, 16]


def test_until_the_first_good_step_it_falls_by_two_to_the_four():
    state = walk(LossScaleRule(), LossScaleState(2.0**15), [False] * 3, searching=True)
    assert state.scale == 2.0**3
    assert walk(LossScaleRule(), state, [False]).scale == 2.0**2


def test_a_state_that_counts_beyond_the_interval_is_healed():
    rule = LossScaleRule(growth_interval=5)
    assert walk(rule, LossScaleState(1.0, counter=77), [True]) == LossScaleState(2.0)


def test_a_static_scale_never_moves_and_counts_all_the_same():
    rule = LossScaleRule.static(1024.0)
    state = walk(rule, LossScaleState(3.0), [True] * 9 + [False] * 9)
    assert state == LossScaleState(1024.0, counter=-9, skipped=9)


def test_patience_outlasts_the_way_from_the_ceiling_to_the_floor():
    state = walk(LossScaleRule(), LossScaleState(CEILING), [False] * PATIENCE)
    assert state.scale == FLOOR
    assert np.log2(CEILING / FLOOR) == 38 < PATIENCE


def test_a_product_too_large_for_float32_ends_at_the_ceiling():
    rule = LossScaleRule(growth_factor=2.0**126, growth_interval=1, ceiling=2.0**126)
    assert walk(rule, LossScaleState(2.0**100), [True]).scale == 2.0**126


def test_states_are_values():
    with pytest.raises(FrozenInstanceError):
        LossScaleState(1.0).scale = 2.0
