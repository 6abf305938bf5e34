"""Experiments whose truth is known, as records that the shipped judge can read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import structs

from betterhalf.records.arm import Arm
from betterhalf.records.plan import Limits, Plan
from betterhalf.records.training import Epoch, Evaluation, Training, Window
from betterhalf.records.trial import Trial
from betterhalf.trials.planning import order_blocks


REFERENCE, JUDGED = "float32", "mixed_bfloat16"
STEPS, EPOCHS = 100, 3
"""Steps of an epoch; epochs of a full training, the first of which is not steady."""
_UNTOLD = "synthetic"
_TRAINING = Training(
    ordinal=0,
    kind="fit",
    model=_UNTOLD,
    startup_seconds=1.0,
    first_step_at_seconds=1.0,
)


@dataclass(frozen=True)
class Figures:
    """What one trial shows: seconds of a step, shapes of its windows, its accuracy.

    A shape is (steps, seconds of a step relative to the mean of the process).
    """

    step_seconds: float
    windows: Sequence[tuple[int, float]]
    accuracy: float | None = None


def make_plan(*, full: bool) -> Plan:
    """Returns the plan of `compare`, or of `compare --quick`, with its defaults."""
    names = (REFERENCE, JUDGED)
    looks = Limits().looks if full else Limits().looks[:1]
    short = order_blocks(names, looks[0])
    return Plan(
        script=_UNTOLD,
        module=False,
        script_hash=_UNTOLD,
        arguments_hash=_UNTOLD,
        arms=tuple(
            Arm(
                name=name,
                slug=name,
                policy=name,
                backend="tensorflow",
                is_reference=name == REFERENCE,
            )
            for name in names
        ),
        order=(*short, *(order_blocks(names, looks[-1], stage=2) if full else ())),
        quick=not full,
        limits=Limits(looks=looks),
    )


def make_short(arm: str, number: int, figures: Figures) -> Trial:
    """Returns a short trial with these windows."""
    windows = _scale(figures)
    training = structs.replace(
        _TRAINING,
        seconds=sum(window.seconds for window in windows),
        steps=sum(window.steps for window in windows),
        cut_short=True,
        windows=windows,
    )
    return _end(arm, number, 1, training)


def make_full(arm: str, number: int, figures: Figures) -> Trial:
    """Returns a full training, with an `evaluate` behind it."""
    seconds = STEPS * figures.step_seconds
    epochs = tuple(
        Epoch(
            index=index,
            seconds=seconds,
            train_seconds=seconds,
            steps=STEPS,
            complete=True,
        )
        for index in range(EPOCHS)
    )
    training = structs.replace(
        _TRAINING,
        seconds=EPOCHS * seconds,
        steps=EPOCHS * STEPS,
        windows=_scale(figures),
        epochs=epochs,
    )
    # a loss of its own: two real trainings never log the same to the last digit
    metrics = {"accuracy": figures.accuracy or 0.0, "loss": 0.1 + number / 997}
    evaluation = Evaluation(
        model=_UNTOLD, after_training=0, seconds=1.0, metrics=metrics, samples=10_000
    )
    return _end(arm, number, 2, training, evaluation)


def _scale(figures: Figures) -> tuple[Window, ...]:
    return tuple(
        Window(
            epoch=1,
            steps=steps,
            seconds=steps * relative * figures.step_seconds,
            steady=True,
        )
        for steps, relative in figures.windows
    )


def _end(
    arm: str, number: int, stage: int, training: Training, *seen: Evaluation
) -> Trial:
    return Trial(
        arm=arm,
        number=number,
        stage=stage,
        outcome="finished",
        exit_code=0,
        seconds=10.0,
        trainings=(training,),
        judged=0,
        evaluations=seen,
        script_hash=_UNTOLD,
    )
