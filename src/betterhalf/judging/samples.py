"""The figures that one trial contributes, each from its raw windows and epochs.

A trial is one observation, however many steps it took: steps and epochs inside a
process are not replicates (Georges and others 2007, doi 10.1145/1297027.1297033;
Kalibera and Jones 2013, doi 10.1145/2464157.2464160). A figure that the record cannot
give is `None`.
"""

from __future__ import annotations

from math import isfinite
from statistics import fmean, median
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Iterable

    from betterhalf.records.training import Epoch, Training, Window
    from betterhalf.records.trial import Trial


def list_steady_windows(training: Training) -> tuple[Window, ...]:
    """Returns the windows that no compilation disturbed."""
    return tuple(
        window for window in training.windows if window.steady and window.steps > 0
    )


def list_steady_epochs(training: Training) -> tuple[Epoch, ...]:
    """Returns the epochs after the first that ran to their end.

    The first of `fit` is meant, whatever index `initial_epoch` gave it: it compiles.
    """
    return tuple(epoch for epoch in training.epochs[1:] if epoch.complete)


def mean_step_seconds(training: Training) -> float | None:
    """Returns the time per step over all steady windows, data loading included."""
    windows = list_steady_windows(training)
    steps = sum(window.steps for window in windows)
    return _time(sum(w.seconds for w in windows) / steps) if steps else None


def median_step_seconds(training: Training) -> float | None:
    """Returns the median over the steady windows of their time per step.

    A diagnosis only: it hides the slow steps that the user waits for.
    """
    times = [w.seconds / w.steps for w in list_steady_windows(training)]
    return _time(median(times)) if times else None


def mean_epoch_seconds(training: Training) -> float | None:
    """Returns the mean of the steady epochs, validation and callbacks included."""
    epochs = list_steady_epochs(training)
    return _time(fmean(e.seconds for e in epochs)) if epochs else None


def samples_per_step(training: Training) -> float | None:
    """Returns the examples of a step, the smaller last one of an epoch counted."""
    known = [e for e in training.epochs if e.samples and e.steps]
    counted = [e for e in known if e.complete] or known
    if counted:
        return sum(e.samples or 0 for e in counted) / sum(e.steps for e in counted)
    return training.batch_size


def startup_seconds(trial: Trial) -> float | None:
    """Returns imports, building, compilation and the first step of the judged training.

    Where the script trained something else before, that time is left out.
    """
    training = trial.judged_training
    if training is None:
        return None
    first = trial.trainings[0]
    if first.first_step_at_seconds is None or first.startup_seconds is None:
        return training.startup_seconds
    if training is first:
        return first.first_step_at_seconds
    if training.startup_seconds is None:
        return None
    before = first.first_step_at_seconds - first.startup_seconds
    return before + training.startup_seconds


def whole_seconds(trial: Trial) -> float | None:
    """Returns start-up and training together, extrapolated where it was cut short.

    The extrapolation counts steps alone, neither validation nor an early stop.
    """
    training, startup = trial.judged_training, startup_seconds(trial)
    if training is None or startup is None:
        return None
    if not training.cut_short:
        return startup + training.seconds - (training.startup_seconds or 0.0)
    step = mean_step_seconds(training)
    if None in {step, training.planned_epochs, training.steps_per_epoch}:
        return None
    steps = (training.planned_epochs or 0) * (training.steps_per_epoch or 0)
    return startup + max(steps - 1, 0) * (step or 0.0)


def keep_known(figures: Iterable[float | None]) -> list[float]:
    """Returns the figures that are there."""
    return [figure for figure in figures if figure is not None]


def _time(seconds: float) -> float | None:
    """A time of zero or less is a fault of the clock and no figure."""
    return seconds if isfinite(seconds) and seconds > 0 else None
