"""Reasons to doubt a time: how it was taken, and what it leaves out."""

from __future__ import annotations

from math import isnan, log
from statistics import geometric_mean
from typing import TYPE_CHECKING

from betterhalf.judging.samples import (
    keep_known,
    list_steady_windows,
    startup_seconds,
    whole_seconds,
)
from betterhalf.judging.wording import (
    say_count,
    say_percent,
    say_ratio,
    say_seconds,
)
from betterhalf.records.result import Caveat


if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from betterhalf.judging.caveats._context import Context
    from betterhalf.records.plan import Plan
    from betterhalf.records.training import Training
    from betterhalf.records.trial import Trial


SUM_TOLERANCE = 0.01
"""Windows must add up to their epoch within this share, half of the gate: a clock that
loses more could decide by itself."""
STARTUP_SHARE = 0.5
"""Start-up dominates where it is more than half of a whole training."""


def find(context: Context) -> Iterator[Caveat]:
    """Yields what is odd about the times of an arm and its reference."""
    look = context.look
    trials = (*look.finished, *look.reference_finished)
    yield from _check_sums(trials)
    yield from _check_length(context, trials)
    yield from _check_ratios(context)
    yield from _check_startup(context)


def _check_sums(trials: Iterable[Trial]) -> Iterator[Caveat]:
    worst, where = 0.0, ""
    for trial in trials:
        gap = max(_gaps(trial.judged_training), default=0.0)
        if gap > worst:
            worst, where = gap, f"{trial.arm}-{trial.number}"
    if worst > SUM_TOLERANCE:
        yield Caveat(
            code="windows-do-not-add-up",
            text=f"The timed windows of {where} miss {say_percent(worst)} of an epoch.",
            todo="Believe the epoch times rather than the step times.",
        )


def _gaps(training: Training | None) -> list[float]:
    """Share of each epoch that its windows miss; the first epoch only if it is alone.

    Compilation in the first epoch is timed apart and no judged figure has it.
    """
    if training is None:
        return []
    epochs = training.epochs[1:] or training.epochs
    gaps: list[float] = []
    for epoch in epochs:
        windows = [w.seconds for w in training.windows if w.epoch == epoch.index]
        if epoch.complete and windows and epoch.train_seconds > 0:
            gaps.append(abs(sum(windows) / epoch.train_seconds - 1.0))
    return gaps


def _check_length(context: Context, trials: Iterable[Trial]) -> Iterator[Caveat]:
    limits = context.plan.limits
    timed = [_steady(trial.judged_training) for trial in trials]
    if not timed:
        return
    steps, seconds = min(timed)
    short = min(seconds for _, seconds in timed)
    if steps < limits.steady_steps or short < limits.steady_seconds:
        yield Caveat(
            code="too-few-steps",
            text=f"The shortest trial has {say_count(steps, 'steady step')} in "
            f"{say_seconds(seconds)}; {limits.steady_steps} steps and "
            f"{say_seconds(limits.steady_seconds)} are asked for.",
            todo=_advise_length(context.plan),
        )


def _advise_length(plan: Plan) -> str:
    if plan.steps is not None:
        return f"Raise --steps above {plan.steps}."
    if plan.epochs is not None:
        return f"Raise --epochs above {plan.epochs}."
    return "Train on more data or for more epochs, so that there is more to time."


def _steady(training: Training | None) -> tuple[int, float]:
    windows = [] if training is None else list_steady_windows(training)
    return sum(w.steps for w in windows), sum(w.seconds for w in windows)


def _check_ratios(context: Context) -> Iterator[Caveat]:
    speed = context.evidence.speed
    if speed is None or isnan(speed.median_step_ratio):
        return
    judged, steps = speed.speedup.estimate, speed.median_step_ratio
    if not abs(log(judged) - log(steps)) > log(1.0 + context.plan.limits.gate):
        return
    if speed.speedup.basis == "epoch":
        what, todo = "epoch", "Validation, callbacks or data loading take the rest."
    else:
        what, todo = "mean step", "Some steps wait for something, such as data."
    yield Caveat(
        code="steps-and-epochs-disagree",
        text=f"The median step is {say_ratio(steps)} times as fast, the {what} "
        f"{say_ratio(judged)} times.",
        todo=f"{todo} Time the input pipeline by itself.",
    )


def _check_startup(context: Context) -> Iterator[Caveat]:
    look = context.look
    startup = keep_known(startup_seconds(trial) for trial in look.finished)
    whole = keep_known(whole_seconds(trial) for trial in look.finished)
    others = keep_known(whole_seconds(trial) for trial in look.reference_finished)
    positive = [*startup, *whole, *others]
    if not (startup and whole and others) or min(positive) <= 0:
        return
    begin, end = geometric_mean(startup), geometric_mean(whole)
    ratio = geometric_mean(others) / end
    speed = context.evidence.speed
    eats_gain = speed is not None and speed.speedup.low > 1.0 > ratio
    if begin > STARTUP_SHARE * end or eats_gain:
        yield Caveat(
            code="startup-dominates",
            text=f"Start-up takes {say_seconds(begin)} of the {say_seconds(end)} of a "
            f"whole training, which is {say_ratio(ratio)} times as fast as the "
            "reference's.",
            todo="Judge by steady speed only if your real trainings are longer.",
        )
