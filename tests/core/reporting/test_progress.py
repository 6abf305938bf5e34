from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from betterhalf.records.events import (
    EpochEnded,
    FirstStepEnded,
    Left,
    TrainingBegan,
    WindowClosed,
)
from betterhalf.records.training import Epoch, Window
from betterhalf.reporting.progress import Progress


if TYPE_CHECKING:
    from types import SimpleNamespace

    from betterhalf.records.plan import Plan

BEGAN = TrainingBegan(at=1.0, ordinal=0, kind="fit", model="m", planned_epochs=3)


def window(epoch: int, steps: int = 10, *, steady: bool = True) -> WindowClosed:
    sample = Window(epoch=epoch, steps=steps, seconds=0.05 * steps, steady=steady)
    return WindowClosed(at=1.0, ordinal=0, window=sample)


def epoch_ended(index: int) -> EpochEnded:
    epoch = Epoch(
        index=index, seconds=1.0, train_seconds=1.0, steps=20, complete=True, logs={}
    )
    return EpochEnded(at=1.0, ordinal=0, epoch=epoch)


def run(progress: Progress, *events: object) -> Progress:
    for event in events:
        progress = progress.see(event)  # type: ignore[arg-type]
    return progress


def test_steps_are_counted_within_their_epoch(plan: Plan) -> None:
    begun = Progress(plan).begin(plan.order[0], 1, 9, 0.0)
    first = FirstStepEnded(at=1.0, ordinal=0, startup_seconds=1.0, steps_per_epoch=20)
    seen = run(begun, BEGAN, first, window(0), window(0), epoch_ended(0), window(1))
    assert seen.course is not None
    assert (seen.course.epoch, seen.course.step) == (1, 10)
    assert (seen.course.planned_epochs, seen.course.steps_per_epoch) == (3, 20)


def test_a_window_that_was_disturbed_is_no_measure(plan: Plan) -> None:
    begun = Progress(plan).begin(plan.order[0], 1, 9, 0.0)
    seen = run(begun, BEGAN, window(0, steady=False))
    assert seen.course is not None
    assert seen.course.step_seconds is None
    steady = run(seen, window(0), Left(at=2.0))
    assert steady.course is not None
    assert steady.course.step_seconds == pytest.approx(0.05)


def test_what_comes_before_a_training_moves_nothing(plan: Plan) -> None:
    assert run(Progress(plan), window(0)).course is None


def test_a_second_training_starts_anew(plan: Plan) -> None:
    seen = run(Progress(plan), BEGAN, window(2), BEGAN)
    assert seen.course is not None
    assert (seen.course.epoch, seen.course.step) == (0, 0)


def test_the_time_left_is_unknown_before_a_trial_has_ended(plan: Plan) -> None:
    assert Progress(plan).begin(plan.order[0], 1, 9, 0.0).seconds_left(5.0) is None


def test_the_time_left_counts_each_arm_at_its_own_pace(
    plan: Plan, make: SimpleNamespace
) -> None:
    progress = Progress(plan)
    for slot, took in zip(plan.order[:3], (10.0, 20.0, 300.0), strict=True):
        progress = progress.begin(slot, 1, 9, 0.0)
        progress = progress.end(make.trial(slot.arm, slot.number, seconds=took))
    progress = progress.begin(plan.order[3], 4, 9, 100.0)
    # 4 s of the running one's 10, then one round of the two others and one of all
    assert progress.seconds_left(104.0) == pytest.approx(6 + 320 + 330)


def test_a_trial_that_takes_longer_than_its_like_owes_no_time(
    plan: Plan, make: SimpleNamespace
) -> None:
    progress = Progress(plan).end(make.trial("float32", 1, seconds=10.0))
    last = progress.begin(plan.order[-1], 9, 9, 0.0)
    assert last.seconds_left(1000.0) == 0.0


def test_the_running_ratio_takes_the_trial_that_runs_along(
    plan: Plan, make: SimpleNamespace
) -> None:
    progress = Progress(plan).end(make.trial("float32", 0))
    progress = progress.begin(plan.order[1], 2, 9, 0.0)
    assert progress.ratio() is None
    found = run(progress, BEGAN, window(1)).ratio()
    assert found is not None
    assert found[0] == pytest.approx(0.0638 / 0.05)
    assert found[1] == "float32"


def test_a_reference_is_compared_with_nothing(
    plan: Plan, make: SimpleNamespace
) -> None:
    progress = Progress(plan).end(make.trial("float32", 1))
    progress = progress.begin(plan.order[3], 4, 9, 0.0)
    assert run(progress, BEGAN, window(1)).ratio() is None
