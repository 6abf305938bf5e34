from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from betterhalf.errors import StoreError
from betterhalf.judging import find_best, judge
from betterhalf.records import codec
from betterhalf.records.plan import Limits
from betterhalf.records.result import MemoryComparison, Result
from betterhalf.records.training import Memory
from betterhalf.records.trial import Failure


STEADY = [1.00, 1.01, 0.99]
FASTER = [0.50, 0.51, 0.49]
GOOD = [0.950, 0.952, 0.948]
FINE = [0.951, 0.953, 0.949]
BAD = [0.850, 0.852, 0.848]


def _arm(result, name="mixed_bfloat16"):
    return next(arm for arm in result.arms if arm.arm == name)


def _quick(lab, seconds, reference=STEADY, **fields):
    plan = lab.plan(**fields)
    trials = lab.shorts("float32", reference) + lab.shorts("mixed_bfloat16", seconds)
    return judge(plan, trials)


def _whole(lab, seconds, accuracies, *, reference=GOOD, memory=None, **fields):
    plan = lab.plan(full=len(seconds), **fields)
    trials = lab.shorts("float32", STEADY) + lab.shorts("mixed_bfloat16", [0.9] * 3)
    full = lab.fulls("mixed_bfloat16", seconds, accuracies)
    others = lab.fulls("float32", [1.0 + 0.01 * i for i in range(3)], reference)
    if memory:
        full = [_with_memory(trial, memory) for trial in full]
        others = [_with_memory(trial, 1000) for trial in others]
    return judge(plan, trials + others + full)


def _with_memory(trial, peak, kind="device"):
    return structs.replace(trial, memory=Memory(peak_bytes=peak, kind=kind))


# the table of verdicts, speed alone


def test_a_faster_arm_is_speed_only_in_a_quick_experiment(lab):
    result = _quick(lab, FASTER)
    assert _arm(result).verdict == "speed-only"
    assert result.exit_code == 0
    assert "accuracy was not judged" in _arm(result).sentence


def test_a_slower_arm_is_reverted_on_speed(lab):
    result = _quick(lab, [2.0, 2.1, 1.9])
    assert _arm(result).verdict == "revert"
    assert "REVERT, on speed" in _arm(result).sentence
    assert "accuracy" not in _arm(result).sentence
    assert result.exit_code == 1


def test_a_noisy_arm_is_inconclusive_and_names_limit_and_trials(lab):
    result = _quick(lab, [0.8, 1.1, 0.75])
    arm = _arm(result)
    assert arm.verdict == "inconclusive"
    assert "the interval contains 1.02" in arm.sentence
    assert "trials an arm would decide" in arm.sentence
    assert result.exit_code == 3


def test_a_gain_that_is_real_but_too_small_is_not_kept(lab):
    result = _quick(lab, [0.9650, 0.9651, 0.9649], reference=[1.0, 1.0001, 0.9999])
    assert _arm(result).verdict == "revert"


def test_an_estimate_below_what_is_worth_it_names_that_limit(lab):
    result = _quick(lab, [0.97, 1.00, 0.94])
    assert "the interval contains 1.05" in _arm(result).sentence


def test_the_gate_is_open_at_its_edge(lab):
    noise = [1.0, 1.001, 0.999]
    limits = Limits(gate=0.02)
    estimate = _arm(_quick(lab, [v / 1.06 for v in noise], limits=limits)).speedup
    edge = Limits(gate=estimate.low - 1.0)
    assert (
        _arm(_quick(lab, [v / 1.06 for v in noise], limits=edge)).verdict
        == "inconclusive"
    )


def test_saved_device_memory_keeps_a_slow_arm_from_being_reverted(lab):
    plan = lab.plan()
    trials = [_with_memory(t, 1000) for t in lab.shorts("float32", STEADY)]
    slow = [_with_memory(t, 600) for t in lab.shorts("mixed_bfloat16", STEADY)]
    arm = _arm(judge(plan, trials + slow))
    assert arm.verdict == "inconclusive"
    assert arm.memory == MemoryComparison(peak_bytes=600, ratio=0.6, kind="device")
    assert "0.60 of the reference's" in arm.sentence


def test_resident_memory_never_counts(lab):
    plan = lab.plan()
    slow = lab.shorts("mixed_bfloat16", [2.0, 2.1, 1.9])
    trials = [_with_memory(t, 1000, "resident") for t in lab.shorts("float32", STEADY)]
    trials += [_with_memory(t, 100, "resident") for t in slow]
    arm = _arm(judge(plan, trials))
    assert arm.verdict == "revert"
    assert arm.memory.kind == "resident"
    assert "memory" not in arm.sentence


@pytest.mark.parametrize("cap", [{"epochs": 3}, {"steps": 100}])
def test_a_capped_experiment_judges_speed_alone(lab, cap):
    plan = lab.plan(full=3, quick=False, **cap)
    trials = lab.fulls("float32", STEADY, GOOD)
    trials += lab.fulls("mixed_bfloat16", FASTER, BAD)
    arm = _arm(judge(plan, trials))
    assert arm.verdict == "speed-only"
    assert arm.metric is None


def test_a_control_is_judged_like_any_other_arm(lab):
    plan = lab.plan("float32#2")
    trials = lab.shorts("float32", STEADY) + lab.shorts("float32#2", FASTER)
    assert _arm(judge(plan, trials), "float32#2").verdict == "speed-only"


def test_memory_is_a_reason_for_full_trainings_and_not_for_a_quick_verdict(lab):
    reference = [_with_memory(t, 1000) for t in lab.shorts("float32", STEADY)]
    frugal = [_with_memory(t, 500) for t in lab.shorts("mixed_bfloat16", [0.98] * 3)]
    arm = _arm(judge(lab.plan(), reference + frugal))
    assert arm.verdict == "inconclusive"
    assert "full trainings could keep it for its memory" in arm.sentence


def test_noise_around_a_saving_of_memory_names_the_limit_below_one(lab):
    reference = [_with_memory(t, 1000) for t in lab.shorts("float32", STEADY)]
    noisy = lab.shorts("mixed_bfloat16", [0.9, 1.0, 1.1])
    arm = _arm(judge(lab.plan(), reference + [_with_memory(t, 500) for t in noisy]))
    assert "the interval contains 0.98" in arm.sentence


# divergence


def _diverge(trial):
    return structs.replace(trial, outcome="diverged")


def test_one_divergence_forbids_exit_code_zero_and_is_said(lab):
    trials = lab.shorts("mixed_bfloat16", FASTER)
    trials[1] = _diverge(trials[1])
    result = judge(lab.plan(), trials + lab.shorts("float32", STEADY))
    assert _arm(result).verdict == "inconclusive"
    assert "diverged in 1 of its 3 trials" in _arm(result).sentence
    assert result.exit_code == 3


def test_an_arm_whose_every_trial_diverged_is_reverted(lab):
    trials = [_diverge(trial) for trial in lab.shorts("mixed_bfloat16", FASTER)]
    arm = _arm(judge(lab.plan(), trials + lab.shorts("float32", STEADY)))
    assert arm.verdict == "revert"
    assert arm.sentence.startswith("mixed_bfloat16 diverged in 3 of its 3 trials")
    assert arm.trials.diverged == 3


def test_many_divergences_revert_by_fishers_test(lab):
    limits = Limits(looks=(10,))
    trials = lab.shorts("mixed_bfloat16", [0.5 + 0.001 * i for i in range(10)])
    trials = [_diverge(t) if t.number <= 5 else t for t in trials]
    reference = lab.shorts("float32", [1.0 + 0.001 * i for i in range(10)])
    plan = lab.plan(short=10, limits=limits)
    assert _arm(judge(plan, trials + reference)).verdict == "revert"
    kept = [_diverge(t) if t.number <= 5 else t for t in reference]
    assert _arm(judge(plan, trials + kept)).verdict == "inconclusive"


def test_a_diverged_trial_gives_no_time(lab):
    trials = lab.shorts("mixed_bfloat16", [0.5, 0.5, 50.0])
    trials[2] = _diverge(trials[2])
    result = judge(lab.plan(), trials + lab.shorts("float32", STEADY))
    assert _arm(result).speedup.estimate == pytest.approx(2.0, rel=0.01)


# accuracy


def test_a_faster_arm_that_is_as_accurate_is_kept(lab):
    result = _whole(lab, FASTER, FINE)
    arm = _arm(result)
    assert arm.verdict == "keep"
    assert arm.metric.name == "accuracy"
    assert arm.metric.source == "evaluate"
    assert arm.metric.margin == 0.005
    assert arm.speedup.basis == "epoch"
    assert result.exit_code == 0
    assert arm.sentence.endswith("margin of 0.5 points. KEEP.")


def test_a_faster_arm_that_is_less_accurate_is_reverted(lab):
    arm = _arm(_whole(lab, FASTER, BAD))
    assert arm.verdict == "revert"
    assert arm.metric.outcome == "worse"
    assert "REVERT, on accuracy" in arm.sentence


def test_noisy_accuracy_is_inconclusive_and_supports_a_wider_margin(lab):
    arm = _arm(_whole(lab, FASTER, [0.940, 0.960, 0.950]))
    assert arm.verdict == "inconclusive"
    assert arm.metric.outcome == "inconclusive"
    assert arm.metric.smallest_margin_supported > arm.metric.margin
    assert "crosses the margin of 0.5 points" in arm.sentence
    assert "trials an arm would decide" in arm.sentence


def test_an_arm_that_saves_memory_at_equal_speed_is_kept_for_it(lab):
    seconds = [0.995, 1.0, 1.005]
    arm = _arm(_whole(lab, seconds, FINE, memory=500))
    assert arm.verdict == "keep-for-memory"
    assert arm.sentence.endswith("KEEP FOR MEMORY.")


def test_an_arm_that_saves_memory_and_is_slower_is_for_the_user_to_weigh(lab):
    arm = _arm(_whole(lab, [2.0, 2.01, 1.99], FINE, memory=500))
    assert arm.verdict == "inconclusive"
    assert "is yours to say" in arm.sentence


def test_one_divergence_in_a_full_training_forbids_to_keep(lab):
    plan = lab.plan(full=3)
    full = lab.fulls("mixed_bfloat16", FASTER, FINE)
    full[0] = _diverge(full[0])
    trials = full + lab.fulls("float32", STEADY, GOOD)
    assert _arm(judge(plan, trials)).verdict == "inconclusive"


def test_a_short_trial_that_diverged_forbids_to_keep_too(lab):
    plan = lab.plan(full=3)
    short = lab.shorts("mixed_bfloat16", FASTER)
    short[0] = _diverge(short[0])
    trials = lab.fulls("mixed_bfloat16", FASTER, FINE)
    trials += lab.fulls("float32", STEADY, GOOD) + lab.shorts("float32", STEADY)
    arm = _arm(judge(plan, trials + short))
    assert arm.verdict == "inconclusive"
    assert "1 short trial" in arm.sentence


def test_short_trials_alone_do_not_keep_an_arm_that_is_to_be_trained(lab):
    plan = lab.plan(full=3)
    trials = lab.shorts("float32", STEADY) + lab.shorts("mixed_bfloat16", FASTER)
    arm = _arm(judge(plan, trials))
    assert arm.verdict == "inconclusive"
    assert "full trainings, which judge accuracy, have not run" in arm.sentence


def test_an_arm_that_short_trials_gave_up_stays_reverted(lab):
    plan = lab.plan("mixed_bfloat16", "mixed_float16", full=3)
    trials = lab.shorts("float32", STEADY) + lab.shorts("mixed_bfloat16", FASTER)
    trials += lab.shorts("mixed_float16", [7.0, 7.1, 6.9])
    trials += lab.fulls("float32", STEADY, GOOD)
    trials += lab.fulls("mixed_bfloat16", FASTER, FINE)
    result = judge(plan, trials)
    assert _arm(result, "mixed_float16").verdict == "revert"
    assert _arm(result, "mixed_float16").speedup.basis == "step"
    assert _arm(result).verdict == "keep"
    # given up before accuracy was looked at, it takes no share of the level
    assert _arm(result).metric.level == Limits().look_level


def test_arms_that_share_a_reference_share_the_level(lab):
    plan = lab.plan("mixed_bfloat16", "mixed_float16", full=3)
    trials = lab.shorts("float32", STEADY)
    for name in ("mixed_bfloat16", "mixed_float16"):
        trials += lab.shorts(name, FASTER) + lab.fulls(name, FASTER, FINE)
    trials += lab.fulls("float32", STEADY, GOOD)
    result = judge(plan, trials)
    assert _arm(result).metric.level == Limits().look_level / 2


# looks


def _two_looks(lab, count, early, late=FASTER[0]):
    plan = lab.plan(full=10)
    trials = lab.shorts("float32", STEADY) + lab.shorts("mixed_bfloat16", FASTER)
    accuracies = [0.95 + 0.0005 * (i % 3) for i in range(count)]
    trials += lab.fulls("float32", [1.0 + 0.002 * i for i in range(count)], accuracies)
    seconds = [*early, *[late + 0.001 * i for i in range(count - 3)]]
    trials += lab.fulls("mixed_bfloat16", seconds, accuracies[::-1])
    return _arm(judge(plan, trials))


def test_the_first_look_decides_if_it_can_and_later_trials_change_nothing(lab):
    early, late = _two_looks(lab, 3, FASTER), _two_looks(lab, 10, FASTER, late=3.0)
    assert early.verdict == late.verdict == "keep"
    assert early.speedup == late.speedup
    assert early.speedup.look == 3


def test_the_second_look_decides_where_the_first_did_not(lab):
    arm = _two_looks(lab, 10, [0.5, 1.2, 0.5])
    assert arm.speedup.look == 10
    assert arm.verdict == "keep"


@pytest.mark.parametrize("count", [4, 7, 9])
def test_nothing_is_looked_at_in_between(lab, count):
    first = _two_looks(lab, 3, [0.5, 1.2, 0.5])
    between = _two_looks(lab, count, [0.5, 1.2, 0.5])
    assert between.verdict == "inconclusive"
    assert between.speedup == first.speedup


def test_two_looks_widen_the_interval_of_speed(lab):
    assert _two_looks(lab, 3, FASTER).speedup.level == pytest.approx(0.9726, abs=1e-4)
    assert _arm(_quick(lab, FASTER)).speedup.level == 0.95


# what fails


def test_a_reference_without_a_finished_trial_is_exit_code_four(lab):
    trials = [lab.failed("float32", number) for number in (1, 2, 3)]
    result = judge(lab.plan(), trials + lab.shorts("mixed_bfloat16", FASTER))
    assert result.exit_code == 4
    assert _arm(result).verdict == "inconclusive"
    assert "crashed (3), ValueError: shapes do not fit" in _arm(result).sentence
    assert _arm(result, "float32").failure.kind == "ValueError"
    assert _arm(result, "float32").trials.failed == 3


def test_a_reference_on_another_backend_does_not_help(lab):
    arms = [
        lab.arm("float32"),
        lab.arm("float32@jax", "jax"),
        lab.arm("mixed_bfloat16@jax", "jax"),
    ]
    trials = lab.shorts("float32", [0.1, 0.1, 0.1])
    trials += lab.shorts("float32@jax", STEADY)
    trials += lab.shorts("mixed_bfloat16@jax", FASTER)
    arm = _arm(judge(lab.plan(arms=arms), trials), "mixed_bfloat16@jax")
    assert arm.reference == "float32@jax"
    assert arm.speedup.estimate == pytest.approx(2.0, rel=0.02)


def test_an_arm_without_a_finished_trial_is_inconclusive_and_says_why(lab):
    trials = [
        lab.failed("mixed_bfloat16", number, outcome="out-of-memory")
        for number in (1, 2, 3)
    ]
    result = judge(lab.plan(), trials + lab.shorts("float32", STEADY))
    assert _arm(result).verdict == "inconclusive"
    assert "out-of-memory (3)" in _arm(result).sentence
    assert result.exit_code == 3


def test_a_failure_without_a_message_is_still_counted(lab):
    trials = [
        structs.replace(
            lab.failed("mixed_bfloat16", n, outcome="timed-out"), failure=None
        )
        for n in (1, 2, 3)
    ]
    arm = _arm(judge(lab.plan(), trials + lab.shorts("float32", STEADY)))
    assert "no trial of mixed_bfloat16 finished: timed-out (3)." in arm.sentence


def test_a_long_message_is_cut_in_the_sentence_and_kept_in_the_record(lab):
    long = Failure(kind="ValueError", message="x" * 1000)
    trials = [
        structs.replace(lab.failed("mixed_bfloat16", n), failure=long)
        for n in (1, 2, 3)
    ]
    arm = _arm(judge(lab.plan(), trials + lab.shorts("float32", STEADY)))
    assert len(arm.sentence) < 250
    assert arm.failure == long


def test_an_arm_that_no_trial_is_planned_for_says_so(lab):
    plan = lab.plan()
    plan = structs.replace(plan, order=())
    assert "no trial of mixed_bfloat16 is planned" in _arm(judge(plan, [])).sentence


def test_one_finished_trial_has_no_interval(lab):
    trials = lab.shorts("mixed_bfloat16", FASTER[:1])
    trials += [lab.failed("mixed_bfloat16", number) for number in (2, 3)]
    arm = _arm(judge(lab.plan(), trials + lab.shorts("float32", STEADY)))
    assert arm.verdict == "inconclusive"
    assert "two finished trials on either side" in arm.sentence


def test_trials_without_a_steady_step_are_not_timed(lab):
    trials = lab.shorts("float32", STEADY)
    trials += [lab.short("mixed_bfloat16", n, 0.5, windows=0) for n in (1, 2, 3)]
    arm = _arm(judge(lab.plan(), trials))
    assert arm.speedup is None
    assert "too few steps" in arm.sentence


def test_before_the_first_look_nothing_is_decided(lab):
    trials = lab.shorts("float32", STEADY) + lab.shorts("mixed_bfloat16", FASTER[:2])
    result = judge(lab.plan(), trials)
    assert _arm(result).verdict == "inconclusive"
    assert "1 of the 6 trials" in _arm(result).sentence
    assert not result.complete
    assert "incomplete" in {caveat.code for caveat in result.caveats}


def test_an_interrupted_trial_has_not_ended(lab):
    trials = lab.shorts("float32", STEADY) + lab.shorts("mixed_bfloat16", FASTER)
    trials[-1] = structs.replace(trials[-1], outcome="interrupted")
    assert not judge(lab.plan(), trials).complete


def test_an_experiment_without_trials_has_a_result(lab):
    result = judge(lab.plan(), [])
    assert result.exit_code == 3
    assert {arm.verdict for arm in result.arms} == {"reference", "inconclusive"}


def test_a_trial_of_an_unknown_arm_is_refused(lab):
    with pytest.raises(StoreError, match="Received: one of mixed_float16"):
        judge(lab.plan(), lab.shorts("mixed_float16", STEADY))


def test_an_arm_without_reference_is_refused(lab):
    plan = lab.plan(arms=[lab.arm("float32"), lab.arm("mixed_bfloat16@jax", "jax")])
    with pytest.raises(StoreError, match="reference on jax"):
        judge(plan, [])


# the result as a whole


def test_the_diff_is_that_of_the_fastest_kept_arm(lab):
    names = ("mixed_bfloat16", "mixed_float16")
    plan = lab.plan(*names, edits={name: f"diff of {name}" for name in names})
    trials = lab.shorts("float32", STEADY) + lab.shorts("mixed_bfloat16", FASTER)
    trials += lab.shorts("mixed_float16", [0.4, 0.41, 0.39])
    result = judge(plan, trials)
    assert result.diff == "diff of mixed_float16"
    assert find_best(result.arms).arm == "mixed_float16"


def test_nothing_kept_has_no_diff(lab):
    result = _quick(lab, [2.0, 2.1, 1.9], edits={"mixed_bfloat16": "diff"})
    assert result.diff is None
    assert find_best(result.arms) is None


def test_the_result_survives_json(lab):
    result = _whole(lab, FASTER, FINE)
    content = codec.encode_file("result", result, "betterhalf")
    assert codec.decode_file(content, "result", Result, "result.json") == result


def test_the_figures_follow_from_the_raw_samples(lab):
    trials = lab.shorts("float32", STEADY) + lab.shorts("mixed_bfloat16", FASTER)
    arm = _arm(judge(lab.plan(), trials))

    def mean(name):
        figures = [
            sum(w.seconds for w in t.trainings[0].windows if w.steady)
            / sum(w.steps for w in t.trainings[0].windows if w.steady)
            for t in trials
            if t.arm == name
        ]
        return np.exp(np.mean(np.log(figures)))

    assert arm.speedup.estimate == pytest.approx(
        mean("float32") / mean("mixed_bfloat16")
    )
    assert arm.step_seconds.estimate == pytest.approx(mean("mixed_bfloat16"))
    assert arm.samples_per_second == pytest.approx(128 / mean("mixed_bfloat16"))


def test_a_reference_says_its_time_and_how_many_trials_finished(lab):
    result = _quick(lab, FASTER)
    reference = _arm(result, "float32")
    assert reference.verdict == "reference"
    assert reference.sentence == (
        "float32 is the reference and takes 1.00 s a step; 3 of 3 trials finished."
    )
    assert reference.speedup is None


SHUFFLES = list(permutations(range(6)))[::97]


@pytest.mark.parametrize("order", SHUFFLES)
def test_trials_may_come_in_any_order(lab, order):
    trials = lab.shorts("float32", STEADY) + lab.shorts("mixed_bfloat16", FASTER)
    plan = lab.plan()
    expected = codec.encode_file("result", judge(plan, trials), "x")
    shuffled = [trials[index] for index in order]
    assert codec.encode_file("result", judge(plan, shuffled), "x") == expected


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],  # it has no state
)
@given(
    st.lists(st.floats(0.2, 5.0), min_size=3, max_size=3),
    st.lists(st.floats(0.2, 5.0), min_size=3, max_size=3),
)
def test_the_quick_verdict_is_the_rule_of_the_power_table(lab, judged, reference):
    result = _quick(lab, judged, reference)
    arm = _arm(result)
    low, high, middle = arm.speedup.low, arm.speedup.high, arm.speedup.estimate
    expected = "inconclusive"
    if low > 1.02 and middle >= 1.05:
        expected = "speed-only"
    elif high < 1.05:
        expected = "revert"
    assert arm.verdict == expected
    assert (
        result.exit_code == {"inconclusive": 3, "speed-only": 0, "revert": 1}[expected]
    )
