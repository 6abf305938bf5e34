"""What the first trial shows that no later one could put right."""

from __future__ import annotations

from betterhalf.errors import UsageError
from betterhalf.records.plan import Plan
from betterhalf.records.trial import Trial


FAILED = frozenset({"out-of-memory", "crashed", "timed-out"})
"""Outcomes of a trial that ran to no end; divergence is an end."""


def refuse_unusable(plan: Plan, trial: Trial) -> None:
    """Raises `UsageError` if a trial shows that no comparison can come of the script.

    Args:
        plan: of the experiment.
        trial: the first one that went through the whole script.
    """
    if trial.outcome not in {"finished", "diverged"}:
        return
    trains = any(training.steps for training in trial.trainings)
    if not trains and any(note.code == "keras-2" for note in trial.notes):
        raise UsageError(
            "Expected a script that trains with Keras 3. Received: "
            f"{plan.script}, which uses tf_keras (Keras 2). Use `import keras`, "
            "without TF_USE_LEGACY_KERAS."
        )
    if not trains:
        raise UsageError(
            "Expected a script that trains: a fit, train_on_batch or a loop of its own "
            f"with an optimizer of Keras. Received: {plan.script}, which ended without "
            "a training step. Name the script that trains, with its arguments behind."
        )
    known = list_metrics(trial)
    if plan.metric is not None and not _may_be_there(plan.metric, known, trial):
        there = ", ".join(known) if known else "no metric at all"
        raise UsageError(
            f"Expected --metric to name what {plan.script} logs: {there}. Received: "
            f"'{plan.metric}'."
        )


def list_metrics(trial: Trial) -> list[str]:
    """Returns the names of all metrics that the judged training and evaluations log."""
    training = trial.judged_training
    logs = [] if training is None else [epoch.logs for epoch in training.epochs]
    logs += [evaluation.metrics for evaluation in trial.evaluations]
    return list(dict.fromkeys(name for one in logs for name in one))


def _may_be_there(metric: str, known: list[str], trial: Trial) -> bool:
    if metric in known or f"val_{metric}" in known:
        return True
    training = trial.judged_training
    # a short trial may end before the first validation or the end of the first epoch
    whole = training is not None and any(epoch.complete for epoch in training.epochs)
    cut_short = training is not None and training.cut_short
    validated = any(name.startswith("val_") for name in known)
    if not cut_short or whole or validated:
        return False
    return metric.startswith("val_") or not known
