from __future__ import annotations

from math import nan

import pytest
from msgspec import structs

from betterhalf.judging import judge
from betterhalf.records.environment import Environment
from betterhalf.records.plan import Limits
from betterhalf.records.timeline import Series, Timeline
from betterhalf.records.training import Checks
from betterhalf.records.trial import Note


STEADY = [1.00, 1.01, 0.99]
FASTER = [0.50, 0.51, 0.49]


def _codes(lab, judged, reference=None, plan=None):
    reference = reference or lab.shorts("float32", STEADY)
    result = judge(plan or lab.plan(), [*reference, *judged])
    arm = next(arm for arm in result.arms if arm.arm == judged[0].arm)
    return {caveat.code: caveat for caveat in arm.caveats}


def _experiment_codes(plan, trials):
    return {caveat.code: caveat for caveat in judge(plan, trials).caveats}


def _fast(lab, **fields):
    return lab.shorts("mixed_bfloat16", FASTER, **fields)


def _train(trial, **fields):
    training = structs.replace(trial.trainings[0], **fields)
    return structs.replace(trial, trainings=(training,))


def test_an_unremarkable_experiment_has_no_caveat(lab):
    trials = lab.shorts("float32", STEADY) + _fast(lab)
    result = judge(lab.plan(), trials)
    assert result.caveats == ()
    assert all(arm.caveats == () for arm in result.arms)


# accuracy


def _full_codes(lab, judged, reference=None, **plan):
    reference = reference or lab.fulls("float32", STEADY, [0.9, 0.91, 0.92])
    return _codes(lab, judged, reference, lab.plan(full=3, short=0, **plan))


def test_trials_that_do_not_vary_are_named_and_keep_seeds_blamed_if_set(lab):
    twins = [
        lab.full("mixed_bfloat16", n, 1.0, 0.9, logs={"loss": 0.5}) for n in (1, 2, 3)
    ]
    assert "--keep-seeds" not in _full_codes(lab, twins)["trials-do-not-vary"].todo
    kept = _full_codes(lab, twins, keep_seeds=True)
    assert "--keep-seeds" in kept["trials-do-not-vary"].todo


def test_a_margin_that_the_test_set_cannot_resolve_is_named(lab):
    def judged(samples):
        return [
            lab.full(arm, n, 0.5, 0.9 + 0.01 * n, samples=samples)
            for arm in ("mixed_bfloat16", "float32")
            for n in (1, 2, 3)
        ]

    small, large = judged(100), judged(100_000)
    assert "margin-unresolvable" in _full_codes(lab, small[:3], small[3:])
    assert "margin-unresolvable" not in _full_codes(lab, large[:3], large[3:])


def test_a_perfect_score_still_has_the_resolution_of_one_example(lab):
    trials = [
        lab.full(arm, n, 0.5, 1.0, samples=100)
        for arm in ("mixed_bfloat16", "float32")
        for n in (1, 2, 3)
    ]
    codes = _full_codes(lab, trials[:3], trials[3:])
    assert {"margin-unresolvable", "metric-without-spread"} <= set(codes)


def test_a_metric_seen_in_training_alone_is_named(lab):
    trials = [
        lab.full(arm, n, 0.5)
        for arm in ("mixed_bfloat16", "float32")
        for n in (1, 2, 3)
    ]
    assert "metric-from-training" in _full_codes(lab, trials[:3], trials[3:])


@pytest.mark.parametrize(
    ("metrics", "code"),
    [({"psnr": 30.0}, "metric-of-unknown-scale"), ({"loss": nan}, "metric-not-finite")],
)
def test_a_metric_that_cannot_be_judged_is_named(lab, metrics, code):
    trials = [
        lab.full(arm, n, 0.5 + n, evaluations=(lab.evaluation(metrics),))
        for arm in ("mixed_bfloat16", "float32")
        for n in (1, 2, 3)
    ]
    assert code in _full_codes(lab, trials[:3], trials[3:])


def test_no_common_metric_is_named(lab):
    trials = [
        lab.full(arm, n, 0.5, logs={})
        for arm in ("mixed_bfloat16", "float32")
        for n in (1, 2, 3)
    ]
    assert "metric-missing" in _full_codes(lab, trials[:3], trials[3:])


# how trials ended


def test_unequal_failures_are_named(lab):
    judged = [*_fast(lab)[:2], lab.failed("mixed_bfloat16", 3, outcome="out-of-memory")]
    caveat = _codes(lab, judged)["unequal-failures"]
    assert "out-of-memory (1)" in caveat.text


def test_equal_failures_are_not(lab):
    judged = [*_fast(lab)[:2], lab.failed("mixed_bfloat16", 3)]
    reference = [*lab.shorts("float32", STEADY)[:2], lab.failed("float32", 3)]
    assert "unequal-failures" not in _codes(lab, judged, reference)


def test_the_divergence_that_three_trials_leave_possible_is_printed(lab):
    judged = lab.fulls("mixed_bfloat16", FASTER, [0.9, 0.91, 0.92])
    assert "63 %" in _full_codes(lab, judged)["divergence-rate"].text


# precision


def test_a_note_that_gradients_are_not_scaled_becomes_a_caveat_once(lab):
    note = Note(
        code="gradients-not-scaled", text="the loop never scales", todo="add it"
    )
    other = Note(code="seed-replaced", text="seed 1 became 2")
    caveats = _codes(lab, _fast(lab, notes=(note, other)))
    assert caveats["gradients-not-scaled"].text == "The loop never scales."
    assert caveats["gradients-not-scaled"].todo == "add it"
    assert "seed-replaced" not in caveats


@pytest.mark.parametrize("raw", [False, True])
def test_a_16_bit_output_is_named_and_raw_arms_are_told_what_they_left_out(lab, raw):
    name = "mixed_float16+raw" if raw else "mixed_float16"
    checks = Checks(layers=5, layers_computing_16bit=5, output_dtypes=("float16",))
    plan = lab.plan(name)
    arm = structs.replace(plan.arms[1], policy="mixed_float16")
    plan = structs.replace(plan, arms=(plan.arms[0], arm))
    caveats = _codes(lab, lab.shorts(name, FASTER, checks=checks), plan=plan)
    assert ("+raw" in caveats["output-not-float32"].todo) is raw


def test_outputs_in_float32_or_integers_are_fine(lab):
    checks = Checks(
        layers=5, layers_computing_16bit=4, output_dtypes=("float32", "int32")
    )
    assert "output-not-float32" not in _codes(lab, _fast(lab, checks=checks))


def test_a_policy_without_effect_is_named(lab):
    caveats = _codes(lab, _fast(lab, checks=Checks(layers=7)))
    assert "7 layers" in caveats["nothing-in-16-bit"].text


def test_weights_that_are_not_finite_are_named(lab):
    checks = Checks(
        layers=1,
        layers_computing_16bit=1,
        non_finite_state=tuple(f"bn{i}/moving_variance" for i in range(5)),
    )
    text = _codes(lab, _fast(lab, checks=checks))["non-finite-state"].text
    assert "bn0/moving_variance" in text
    assert "and 2 more" in text


@pytest.mark.parametrize(("skipped", "named"), [(2, False), (50, True)])
def test_many_skipped_steps_are_named(lab, skipped, named):
    checks = Checks(
        layers=1,
        layers_computing_16bit=1,
        applied_steps=1000 - skipped,
        skipped_steps=skipped,
    )
    assert ("steps-skipped" in _codes(lab, _fast(lab, checks=checks))) is named


def test_trainings_of_different_length_are_named(lab):
    judged = [
        lab.full("mixed_bfloat16", n, 0.5, 0.9 + n / 1e3, epochs=4) for n in (1, 2, 3)
    ]
    assert "lengths-differ" in _full_codes(lab, judged)


# noise


def test_unequal_spreads_are_named_with_their_ratio(lab):
    judged = lab.shorts("mixed_bfloat16", [0.30, 0.50, 0.80])
    caveats = _codes(lab, judged, lab.shorts("float32", [1.0, 1.001, 0.999]))
    assert "times as much" in caveats["spreads-differ"].text
    assert "--runs 6" in caveats["spreads-differ"].todo


def test_more_trials_are_not_advised_where_they_come_by_themselves(lab):
    judged = [
        lab.full("mixed_bfloat16", n, s, 0.9 + n / 1e3)
        for n, s in ((1, 0.3), (2, 0.5), (3, 0.8))
    ]
    reference = lab.fulls("float32", [1.0, 1.001, 0.999], [0.9, 0.91, 0.92])
    caveats = _codes(lab, judged, reference, lab.plan(full=10, short=0))
    assert caveats["spreads-differ"].todo is None


def test_times_that_never_vary_are_named(lab):
    caveats = _codes(
        lab, lab.shorts("mixed_bfloat16", [0.5] * 3), lab.shorts("float32", [1.0] * 3)
    )
    assert "times-do-not-vary" in caveats


def test_an_outlier_is_named_and_stays(lab):
    plan = lab.plan(short=6, limits=Limits(looks=(6,)))
    judged = lab.shorts("mixed_bfloat16", [0.5, 0.501, 0.499, 0.502, 0.498, 0.9])
    reference = lab.shorts("float32", [1.0, 1.001, 0.999, 1.002, 0.998, 1.0])
    caveat = _codes(lab, judged, reference, plan)["outlier"]
    assert "mixed_bfloat16-6" in caveat.text
    arm = judge(plan, [*judged, *reference]).arms[1]
    assert arm.trials.finished == 6
    assert arm.step_seconds.estimate > 0.54


def test_a_drift_of_all_arms_is_named_once(lab):
    trials = lab.shorts("float32", [1.0, 1.1, 1.21])
    trials += lab.shorts("mixed_bfloat16", [0.5, 0.551, 0.604])
    caveats = _experiment_codes(lab.plan(), trials)
    assert "slower" in caveats["drift"].text
    backwards = lab.shorts("float32", [1.21, 1.1, 1.0])
    backwards += lab.shorts("mixed_bfloat16", [0.604, 0.551, 0.5])
    assert "faster" in _experiment_codes(lab.plan(), backwards)["drift"].text


def test_a_slow_first_trial_is_named(lab):
    plan = lab.plan(short=4, limits=Limits(looks=(4,)))
    trials = lab.shorts("float32", [1.5, 1.0, 1.001, 0.999])
    trials += lab.shorts("mixed_bfloat16", [0.5, 0.501, 0.499, 0.5])
    assert "slow-first-trial" in _experiment_codes(plan, trials)
    late = lab.shorts("float32", [1.0, 1.5, 1.001, 0.999])
    assert "slow-first-trial" not in _experiment_codes(plan, late + trials[4:])


# the clock


def test_windows_that_do_not_add_up_are_named(lab):
    judged = lab.fulls("mixed_bfloat16", FASTER, [0.9, 0.91, 0.92])
    windows = judged[1].trainings[0].windows
    longer = structs.replace(windows[-1], seconds=1.1 * windows[-1].seconds)
    judged[1] = _train(judged[1], windows=(*windows[:-1], longer))
    caveat = _full_codes(lab, judged)["windows-do-not-add-up"]
    assert "mixed_bfloat16-2" in caveat.text
    assert "5 %" in caveat.text


def test_the_first_epoch_need_not_add_up(lab):
    judged = lab.fulls("mixed_bfloat16", FASTER, [0.9, 0.91, 0.92])
    windows = judged[1].trainings[0].windows
    judged[1] = _train(judged[1], windows=windows[1:])
    assert "windows-do-not-add-up" not in _full_codes(lab, judged)


@pytest.mark.parametrize(
    ("cap", "advice"),
    [({}, "more data"), ({"steps": 10}, "--steps"), ({"epochs": 1}, "--epochs")],
)
def test_too_few_steps_are_named_with_the_cap_that_is_to_blame(lab, cap, advice):
    judged = _fast(lab, windows=1)
    plan = lab.plan(limits=Limits(steady_steps=60), **cap)
    assert advice in _codes(lab, judged, plan=plan)["too-few-steps"].todo


def test_a_median_step_that_disagrees_is_named(lab):
    judged = lab.fulls("mixed_bfloat16", [0.9, 0.91, 0.89], [0.9, 0.91, 0.92])
    for index, trial in enumerate(judged):
        windows = trial.trainings[0].windows
        shorter = tuple(structs.replace(window, seconds=0.3) for window in windows)
        judged[index] = _train(trial, windows=shorter)
    caveat = _full_codes(lab, judged)["steps-and-epochs-disagree"]
    assert "the epoch 1.11 times" in caveat.text


def test_steps_that_wait_are_named_where_steps_are_judged(lab):
    judged = _fast(lab)
    for index, trial in enumerate(judged):
        windows = trial.trainings[0].windows
        slow = structs.replace(windows[-1], seconds=3 * windows[-1].seconds)
        judged[index] = _train(trial, windows=(*windows[:-1], slow))
    caveat = _codes(lab, judged)["steps-and-epochs-disagree"]
    assert "The median step is 2.00 times as fast, the mean step 1.43" in caveat.text


def test_start_up_that_dominates_is_named_with_the_ratio_of_the_whole(lab):
    judged = [_train(t, planned_epochs=1, steps_per_epoch=5) for t in _fast(lab)]
    reference = [
        _train(t, planned_epochs=1, steps_per_epoch=5)
        for t in lab.shorts("float32", STEADY)
    ]
    caveat = _codes(lab, judged, reference)["startup-dominates"]
    assert "5.00 s of the 7.00 s" in caveat.text
    assert "1.29 times as fast" in caveat.text


def test_start_up_that_eats_the_gain_is_named(lab):
    judged = [
        _train(t, planned_epochs=1, steps_per_epoch=100, first_step_at_seconds=60.0)
        for t in _fast(lab)
    ]
    reference = [
        _train(t, planned_epochs=1, steps_per_epoch=100)
        for t in lab.shorts("float32", STEADY)
    ]
    assert "startup-dominates" in _codes(lab, judged, reference)


# the machine


def _timeline(**series):
    return Timeline(
        seconds=(0.0, 0.25, 0.5, 0.75),
        series=tuple(
            Series(name=name, values=values, mean=nan, maximum=nan)
            for name, values in series.items()
            if isinstance(values, tuple)
        ),
        **{k: v for k, v in series.items() if not isinstance(v, tuple)},
    )


QUIET = {"cpu_percent": (180.0, 190.0), "machine_cpu_percent": (95.0, 100.0)}


@pytest.mark.parametrize(
    ("series", "code"),
    [
        (QUIET | {"cpu_percent": (90.0, nan, 95.0)}, "load-from-others"),
        (QUIET | {"swap_used_bytes": (0.0, 2.0**30)}, "swapping"),
        (QUIET | {"throttled": 0.4}, "throttled"),
        (QUIET | {"gpu_processes_other": 2}, "gpu-shared"),
        (QUIET | {"swap_used_bytes": (2.0**30, 2.0**30), "throttled": 0.01}, None),
        ({}, None),
    ],
)
def test_what_the_machine_did_beside_the_trial_is_named(lab, series, code):
    judged = _fast(lab)
    environment = Environment(python="3.11", platform="Linux", cores=2)
    judged[1] = structs.replace(
        judged[1], timeline=_timeline(**series), environment=environment
    )
    caveats = _codes(lab, judged)
    assert set(caveats) == ({code} if code else set())
    if code:
        assert "mixed_bfloat16-2" in caveats[code].text


def test_own_load_is_a_share_of_the_processors_of_the_whole_machine(lab):
    judged = _fast(lab)
    busy = _timeline(
        cpu_percent=(200.0, 200.0),
        machine_cpu_percent=(12.5, 12.5),
        logical_processors=16,
    )
    environment = Environment(python="3.11", platform="Linux", cores=2)
    judged[0] = structs.replace(judged[0], timeline=busy, environment=environment)
    assert "load-from-others" not in _codes(lab, judged)


def test_a_reference_has_the_caveats_of_its_own_trials(lab):
    reference = lab.shorts("float32", STEADY)
    reference[0] = structs.replace(reference[0], timeline=Timeline(throttled=0.5))
    result = judge(lab.plan(), reference + _fast(lab))
    assert [caveat.code for caveat in result.arms[0].caveats] == ["throttled"]
    assert result.arms[1].caveats == ()


# the experiment


def test_an_edited_script_is_named_with_the_trials_that_ran_it(lab):
    judged = _fast(lab)
    judged[2] = structs.replace(judged[2], script_hash="another")
    caveats = _experiment_codes(lab.plan(), judged + lab.shorts("float32", STEADY))
    assert "mixed_bfloat16-3" in caveats["script-changed"].text


def test_environments_that_differ_within_a_backend_are_named(lab):
    judged = _fast(lab)
    reference = lab.shorts("float32", STEADY)
    for trials, version in ((judged, "3.15.1"), (reference, "3.15.0")):
        for index, trial in enumerate(trials):
            environment = Environment(
                python="3.11", platform="Linux", cores=2, packages={"keras": version}
            )
            trials[index] = structs.replace(trial, environment=environment)
    text = _experiment_codes(lab.plan(), judged + reference)["environments-differ"].text
    assert "different packages" in text


def test_files_that_trials_share_are_named_up_to_five(lab):
    judged = _fast(lab)
    files = tuple(f"cache/{i}.npy" for i in range(7))
    judged[0] = structs.replace(judged[0], files_shared=files)
    caveats = _experiment_codes(lab.plan(), judged + lab.shorts("float32", STEADY))
    assert "cache/4.npy and 2 more" in caveats["files-shared"].text


def test_an_incomplete_experiment_says_how_to_go_on(lab):
    caveats = _experiment_codes(lab.plan(), lab.shorts("float32", STEADY))
    assert "3 trials" in caveats["incomplete"].text
    assert "--resume" in caveats["incomplete"].todo


# single batches, and metrics in 16 bit


def test_a_loss_of_single_batches_that_is_not_finite_is_told(lab):
    judged = [
        lab.full(
            "mixed_bfloat16",
            n,
            0.5,
            0.9 + n / 1e3,
            logs={"loss": nan, "val_accuracy": 0.9 + n / 1e3},
        )
        for n in (1, 2, 3)
    ]
    text = _full_codes(lab, judged)["non-finite-batches"].text
    assert "weights stayed finite" in text


@pytest.mark.parametrize(
    ("narrow", "named"), [(0.8, True), (nan, True), (0.9001, False)]
)
def test_a_metric_that_16_bit_moved_is_judged_in_float32_and_told(lab, narrow, named):
    judged = []
    for n in (1, 2, 3):
        seen = lab.evaluation({"accuracy": narrow + n / 1e5}, 10_000)
        again = structs.replace(seen, metrics_float32={"accuracy": 0.9 + n / 1e5})
        judged.append(lab.full("mixed_bfloat16", n, 0.5, evaluations=(again,)))
    codes = _full_codes(lab, judged)
    assert ("metric-differs-in-float32" in codes) is named


def test_a_16_bit_output_loses_the_logits_on_tensorflow_alone(lab):
    checks = Checks(output_dtypes=("float16",))
    text = _codes(lab, _fast(lab, checks=checks))["output-not-float32"].text
    assert "clipped probabilities" in text
