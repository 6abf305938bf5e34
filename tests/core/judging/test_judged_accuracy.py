from __future__ import annotations

from math import isnan, nan

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from betterhalf.judging.accuracy import compare_accuracy, estimate_trials, has_twins
from betterhalf.judging.looks import list_looks, open_book
from betterhalf.records.plan import Limits
from betterhalf.statistics.differences import difference_interval


def _compare(lab, judged, reference, *, candidates=1, **plan):
    plan = lab.plan(full=len(judged), short=0, **plan)
    trials = lab.fulls("mixed_bfloat16", [1.0] * len(judged), judged)
    trials += lab.fulls("float32", [1.1] * len(reference), reference)
    return _look(plan, trials, candidates)


def _look(plan, trials, candidates=1):
    look = list_looks(open_book(plan, trials), plan.arms[1], 2)[-1]
    return compare_accuracy(plan, look, candidates), look


VALUES = st.lists(
    st.integers(800, 1000).map(lambda n: n / 1000), min_size=3, max_size=3, unique=True
)
NO_STATE = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@NO_STATE
@given(VALUES, VALUES, st.integers(1, 4))
def test_the_interval_has_the_level_that_candidates_leave(
    lab, judged, reference, candidates
):
    found, _ = _compare(lab, judged, reference, candidates=candidates)
    level = Limits().look_level / candidates
    expected = difference_interval(judged, reference, level)
    metric = found.comparison
    assert (metric.difference, metric.low, metric.high) == pytest.approx(expected)
    assert metric.level == level
    assert metric.mean == pytest.approx(sum(judged) / 3)


def test_losses_are_better_when_they_fall(lab):
    worse = [_loss(lab, "mixed_bfloat16", n, 1.2 + 0.001 * n) for n in (1, 2, 3)]
    reference = [_loss(lab, "float32", n, 1.0 + 0.001 * n) for n in (1, 2, 3)]
    found, _ = _look(lab.plan(full=3, short=0), worse + reference)
    assert found.comparison.mode == "min"
    assert found.comparison.margin == pytest.approx(0.01002)
    assert found.comparison.outcome == "worse"
    better = [structs.replace(t, arm="float32") for t in worse]
    better += [structs.replace(t, arm="mixed_bfloat16") for t in reference]
    found, _ = _look(lab.plan(full=3, short=0), better)
    assert found.comparison.outcome == "better"


def _loss(lab, arm, number, value):
    return lab.full(arm, number, 1.0, evaluations=(lab.evaluation({"loss": value}),))


def test_percent_has_its_own_margin(lab):
    found, _ = _compare(lab, [91.1, 90.9, 91.0], [90.8, 91.0, 91.2])
    assert found.comparison.margin == 0.5


def test_the_users_margin_wins(lab):
    found, _ = _compare(lab, [0.9, 0.91, 0.92], [0.9, 0.91, 0.93], limits=_margin(0.2))
    assert found.comparison.margin == 0.2
    assert found.comparison.outcome == "equivalent"


def _margin(value):
    return Limits(margin=value)


def test_identical_trials_count_once_and_give_no_verdict(lab):
    logs = {"loss": 0.5}
    same = [lab.full("mixed_bfloat16", n, 1.0 + n, 0.9, logs=logs) for n in (1, 2, 3)]
    reference = lab.fulls("float32", [1.0] * 3, [0.9, 0.91, 0.92])
    found, _ = _look(lab.plan(full=3, short=0), same + reference)
    assert found.obstacle == "does-not-vary"
    assert found.comparison.outcome == "inconclusive"
    assert isnan(found.comparison.low)
    assert not found.is_good_enough


def test_equal_accuracies_of_different_trainings_are_not_twins(lab):
    trials = lab.fulls("float32", [1.0] * 3, [0.9] * 3)
    assert not has_twins(trials)


def test_trials_that_log_nothing_are_no_twins(lab):
    trials = [lab.full("float32", n, 1.0, logs={}) for n in (1, 2, 3)]
    assert not has_twins(trials)


def test_one_value_in_all_trials_hides_its_spread(lab):
    found, _ = _compare(lab, [1.0] * 3, [1.0] * 3)
    assert found.obstacle == "no-spread"
    assert not found.is_good_enough


def test_one_arm_without_spread_is_still_compared(lab):
    found, _ = _compare(lab, [0.95] * 3, [0.9501, 0.9500, 0.9499])
    assert found.obstacle is None
    assert found.is_good_enough


def test_a_metric_that_is_not_finite_decides_nothing(lab):
    found, _ = _compare(lab, [0.9, nan, 0.92], [0.9, 0.91, 0.93])
    assert found.obstacle == "not-finite"
    assert not found.is_worse


@pytest.mark.parametrize(
    ("name", "plan", "obstacle"),
    [
        ("psnr", {}, "no-margin"),
        ("surprise", {}, "no-mode"),
        ("surprise", {"mode": "max"}, "no-margin"),
        ("surprise", {"mode": "max", "limits": Limits(margin=0.1)}, None),
    ],
)
def test_a_metric_of_unknown_scale_needs_its_options(lab, name, plan, obstacle):
    trials = [
        lab.full(arm, n, 1.0 + n, evaluations=(lab.evaluation({name: 0.1 * n}),))
        for arm in ("float32", "mixed_bfloat16")
        for n in (1, 2, 3)
    ]
    found, _ = _look(lab.plan(full=3, short=0, **plan), trials)
    assert found.obstacle == obstacle


def test_the_training_loss_keeps_nothing_but_may_be_worse(lab):
    reference = [
        lab.full("float32", n, 1.0, logs={"loss": 1 + n / 1e4}) for n in (1, 2)
    ]
    for factor, worse in ((1.0, False), (2.0, True)):
        judged = [
            lab.full("mixed_bfloat16", n, 1.0, logs={"loss": factor + n / 1e4})
            for n in (1, 2)
        ]
        found, _ = _look(lab.plan(full=2, short=0), judged + reference)
        assert found.obstacle == "training-metric"
        assert not found.is_good_enough
        assert found.is_worse is worse


def test_blocks_are_compared_within_where_the_plan_says_so(lab):
    judged, reference = [0.80, 0.90, 0.95], [0.801, 0.901, 0.9511]
    unpaired, _ = _compare(lab, judged, reference)
    blocked, look = _compare(lab, judged, reference, analysis="blocked")
    assert unpaired.comparison.outcome == "inconclusive"
    assert blocked.comparison.outcome == "equivalent"
    assert (
        estimate_trials(unpaired, look) is None or estimate_trials(unpaired, look) > 3
    )


def test_a_block_that_lost_one_of_its_trials_is_left_out(lab):
    trials = lab.fulls("mixed_bfloat16", [1.0] * 3, [0.80, 0.90, 0.95])
    trials += lab.fulls("float32", [1.0] * 3, [0.801, 0.901, 0.5])
    trials[5] = structs.replace(trials[5], outcome="crashed")
    found, _ = _look(lab.plan(full=3, short=0, analysis="blocked"), trials)
    assert found.comparison.difference == pytest.approx(-0.001)


@NO_STATE
@given(VALUES, VALUES)
def test_more_trials_are_asked_for_than_were_run(lab, judged, reference):
    found, look = _compare(lab, judged, reference)
    trials = estimate_trials(found, look)
    assert trials is None or trials > 3
