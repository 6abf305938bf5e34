from __future__ import annotations

import random

import pytest

from betterhalf.judging import judge, list_remaining
from betterhalf.records.plan import Limits


def _run(lab, plan, seconds, spreads=None, seed=0):
    """Runs an experiment that always takes the first slot that remains."""
    noise = random.Random(seed)
    trials = []
    while slots := list_remaining(plan, trials):
        slot = slots[0]
        scale = 1 + noise.gauss(0, 0.005)
        accuracy = 0.9 + noise.gauss(0, (spreads or {}).get(slot.arm, 1e-4))
        if slot.stage == 1:
            trial = lab.short(slot.arm, slot.number, seconds[slot.arm] * scale)
        else:
            trial = lab.full(slot.arm, slot.number, seconds[slot.arm] * scale, accuracy)
        trials.append(trial)
        assert len(trials) <= len(plan.order)
    return trials


SECONDS = {"float32": 1.0, "mixed_bfloat16": 0.5, "mixed_float16": 3.0}
NOISY = dict.fromkeys(SECONDS, 0.02)


def _count(trials, arm, stage):
    return sum(t.arm == arm and t.stage == stage for t in trials)


def test_everything_remains_at_first_but_the_second_look(lab):
    plan = lab.plan(full=10)
    slots = list_remaining(plan, [])
    assert slots == tuple(s for s in plan.order if s.stage == 1 or s.number <= 3)


def test_an_arm_that_short_trials_gave_up_gets_no_full_training(lab):
    plan = lab.plan("mixed_bfloat16", "mixed_float16", full=10)
    trials = _run(lab, plan, SECONDS)
    assert _count(trials, "mixed_float16", 1) == 3
    assert _count(trials, "mixed_float16", 2) == 0
    assert _count(trials, "mixed_bfloat16", 2) == 3
    result = judge(plan, trials)
    assert result.complete
    assert [arm.verdict for arm in result.arms] == ["reference", "keep", "revert"]


def test_nothing_is_trained_in_full_once_all_arms_are_given_up(lab):
    plan = lab.plan("mixed_float16", full=10)
    trials = _run(lab, plan, SECONDS)
    assert _count(trials, "float32", 2) == 0


def test_an_undecided_arm_gets_its_second_look_and_no_third(lab):
    plan = lab.plan(full=10)
    trials = _run(lab, plan, SECONDS, NOISY, seed=3)
    assert _count(trials, "mixed_bfloat16", 2) == 10
    assert _count(trials, "float32", 2) == 10
    result = judge(plan, trials)
    assert result.complete
    assert result.arms[1].metric.outcome == "inconclusive"


def test_only_the_undecided_arm_goes_on_to_the_second_look(lab):
    plan = lab.plan("mixed_bfloat16", "mixed_float16", full=10)
    seconds = {**SECONDS, "mixed_float16": 0.7}
    trials = _run(lab, plan, seconds, {"mixed_float16": 0.02})
    assert _count(trials, "mixed_bfloat16", 2) == 3
    assert _count(trials, "mixed_float16", 2) == 10
    assert _count(trials, "float32", 2) == 10
    verdicts = {arm.arm: arm.speedup for arm in judge(plan, trials).arms}
    assert verdicts["mixed_bfloat16"].look == 3
    assert verdicts["mixed_float16"].look == 10


def test_a_metric_without_margin_is_not_trained_ten_times(lab):
    plan = lab.plan(full=10)
    trials = [
        lab.short(arm, n, SECONDS[arm] + 0.001 * n)
        for arm in ("float32", "mixed_bfloat16")
        for n in (1, 2, 3)
    ]
    trials += [
        lab.full(
            arm, n, SECONDS[arm] + 0.001 * n,
            evaluations=(lab.evaluation({"psnr": 30.0 + n}),),
        )
        for arm in ("float32", "mixed_bfloat16")
        for n in (1, 2, 3)
    ]  # fmt: skip
    assert list_remaining(plan, trials) == ()
    assert judge(plan, trials).arms[1].verdict == "inconclusive"


def test_an_interrupted_trial_runs_again(lab):
    plan = lab.plan()
    trials = [lab.short("float32", 1, 1.0, outcome="interrupted")]
    assert list_remaining(plan, trials) == plan.order


def test_a_failed_reference_stops_the_full_trainings(lab):
    plan = lab.plan(full=3)
    trials = [lab.failed("float32", n) for n in (1, 2, 3)]
    trials += lab.shorts("mixed_bfloat16", [0.5, 0.51, 0.49])
    assert list_remaining(plan, trials) == ()


@pytest.mark.parametrize("last", [3, 5, 10])
def test_a_budget_lowers_the_second_look(lab, last):
    plan = lab.plan(full=last, limits=Limits(looks=(3, 10)))
    trials = _run(lab, plan, SECONDS, NOISY, seed=1)
    assert _count(trials, "float32", 2) == last
    assert judge(plan, trials).arms[1].speedup.look == last
