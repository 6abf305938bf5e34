"""Which metric is judged, where it is read, and its value in one trial.

The first of these that every finished trial has: the last `evaluate` of the judged
model after the judged training; the `val_*` of its last epoch, or of its best one where
early stopping puts the best weights back; the logs of the training itself, which show
how well it fitted what it saw and therefore never keep an arm.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Literal

from betterhalf.judging.metric import find_mode, name_kind


if TYPE_CHECKING:
    from collections.abc import Sequence

    from betterhalf.records.plan import Plan
    from betterhalf.records.training import Evaluation, Training
    from betterhalf.records.trial import Trial
    from betterhalf.statistics.differences import Mode


Source = Literal["evaluate", "last-epoch", "best-epoch", "training"]


@dataclass(frozen=True)
class Choice:
    """The judged metric.

    Attributes:
        name: as the script logs it.
        source: where it is read.
        mode: which way is better; absent where nobody said.
    """

    name: str
    source: Source
    mode: Mode | None


def choose_metric(plan: Plan, trials: Sequence[Trial]) -> Choice | None:
    """Returns what can be compared in all of `trials`, or `None` if nothing can."""
    if not trials:
        return None
    sources: tuple[Source, ...] = (
        "evaluate",
        "best-epoch" if _restores(trials[0]) else "last-epoch",
        "training",
    )
    for source in sources:
        logs = [read_logs(trial, source) for trial in trials]
        shared = [name for name in logs[0] if all(name in other for other in logs)]
        name = _pick(shared, plan.metric, source)
        if name is not None:
            return Choice(name, source, plan.mode or find_mode(name))
    return None


def read_value(trial: Trial, choice: Choice) -> float | None:
    """Returns the value of the judged metric in `trial`."""
    return read_logs(trial, choice.source).get(choice.name)


def read_logs(trial: Trial, source: Source) -> dict[str, float]:
    """Returns all metrics of `trial` at `source`, empty where it has none.

    Where the model computed them on 16-bit outputs they are those of the repetition in
    float32.
    """
    training = trial.judged_training
    if training is None:
        return {}
    if source == "evaluate":
        evaluation = find_evaluation(trial)
        if evaluation is None:
            return {}
        return {**evaluation.metrics, **evaluation.metrics_float32}
    validation = source != "training"
    epoch = _best_epoch(training) if source == "best-epoch" else _last_epoch(training)
    return {
        name: training.validation_float32.get(name, value)
        for name, value in epoch.items()
        if name.startswith("val_") == validation and not _is_time(name)
    }


def read_narrow_value(trial: Trial, choice: Choice) -> float | None:
    """Returns the judged metric as the model computed it, if that was in 16 bit."""
    training = trial.judged_training
    if training is None:
        return None
    if choice.source == "evaluate":
        evaluation = find_evaluation(trial)
        if evaluation is None or choice.name not in evaluation.metrics_float32:
            return None
        return evaluation.metrics.get(choice.name)
    if choice.name not in training.validation_float32:
        return None
    is_best = choice.source == "best-epoch"
    return (_best_epoch(training) if is_best else _last_epoch(training)).get(
        choice.name
    )


def find_evaluation(trial: Trial) -> Evaluation | None:
    """Returns the last whole `evaluate` of the judged model after its training."""
    training = trial.judged_training
    if training is None:
        return None
    for evaluation in reversed(trial.evaluations):
        after = evaluation.after_training
        same = evaluation.model == training.model
        if same and after is not None and after >= training.ordinal:
            return None if evaluation.cut_short else evaluation
    return None


def fingerprint(trial: Trial) -> tuple[object, ...]:
    """Returns every metric that `trial` logged; two alike are one observation."""
    training = trial.judged_training
    epochs = () if training is None else training.epochs
    logs = [epoch.logs for epoch in epochs]
    logs += [evaluation.metrics for evaluation in trial.evaluations]
    return tuple(
        tuple((name, repr(value)) for name, value in one.items() if not _is_time(name))
        for one in logs
    )


def _pick(names: Sequence[str], wanted: str | None, source: Source) -> str | None:
    """The user's choice, else what is known to be an accuracy, else the loss.

    In the logs of training the loss alone: an accuracy there flatters.
    """
    if wanted is not None:
        spellings = (wanted, f"val_{wanted}")
        return next((name for name in spellings if name in names), None)
    losses = [name for name in ("loss", "val_loss") if name in names]
    errors = [name for name in names if name_kind(name) == "error"]
    if source == "training":
        return next(iter([*losses, *errors]), None)
    accuracies = [name for name in names if name_kind(name) == "accuracy"]
    return next(iter([*accuracies, *losses, *errors, *names]), None)


def _restores(trial: Trial) -> bool:
    training = trial.judged_training
    return training is not None and training.restores_best_weights


def _last_epoch(training: Training) -> dict[str, float]:
    complete = [epoch.logs for epoch in training.epochs if epoch.complete]
    return complete[-1] if complete else {}


def _best_epoch(training: Training) -> dict[str, float]:
    """The logs of the epoch whose weights early stopping put back."""
    watched = training.monitors or "val_loss"
    complete = [epoch.logs for epoch in training.epochs if epoch.complete]
    complete = [logs for logs in complete if isfinite(logs.get(watched, float("nan")))]
    if not complete:
        return _last_epoch(training)
    # the first of equals, as Keras asks for an improvement
    best = max if find_mode(watched) == "max" else min
    return best(complete, key=lambda logs: logs[watched])


def _is_time(name: str) -> bool:
    return name.endswith(("_seconds", "_per_second"))
