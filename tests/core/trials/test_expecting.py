from __future__ import annotations

from betterhalf.records.plan import Slot
from betterhalf.records.training import Training
from betterhalf.trials.expecting import expect_total, expect_trial


def test_a_trial_takes_as_long_as_those_of_its_arm(lab):
    ended = [
        lab.trial(seconds=10.0),
        lab.trial(number=2, seconds=20.0),
        lab.trial("mixed_float16", seconds=60.0),
    ]
    assert expect_trial(ended, Slot(arm="float32", number=3)) == 15.0
    assert expect_trial(ended, Slot(arm="mixed_float16", number=2)) == 60.0
    assert expect_trial(ended, Slot(arm="mixed_bfloat16", number=1)) == 30.0
    assert expect_trial([], Slot(arm="float32", number=1)) == 0.0


def test_what_the_first_trial_alone_goes_through_is_not_expected_again(lab):
    training = Training(
        ordinal=0,
        kind="fit",
        model="m",
        first_step_at_seconds=6.0,
        startup_seconds=2.0,
        seconds=5.0,
    )
    first = lab.trial(seconds=100.0, trainings=(training,), judged=0)
    remaining = [Slot(arm="float32", number=2), Slot(arm="mixed_float16", number=1)]
    # imports to 4 s, then a training of 5 s
    assert expect_total([first], remaining, 100.0) == 118.0
    full = [lab.trial(stage=2, seconds=100.0, trainings=(training,), judged=0)]
    assert expect_trial(full, Slot(arm="float32", number=2, stage=2)) == 100.0
