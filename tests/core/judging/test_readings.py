from __future__ import annotations

import pytest
from msgspec import structs

from betterhalf.judging.readings import (
    choose_metric,
    find_evaluation,
    fingerprint,
    read_narrow_value,
    read_value,
)
from betterhalf.records.training import Evaluation


LOGS = (
    {"loss": 0.9, "accuracy": 0.5, "val_loss": 0.8, "val_accuracy": 0.55},
    {"loss": 0.5, "accuracy": 0.8, "val_loss": 0.4, "val_accuracy": 0.85},
    {"loss": 0.2, "accuracy": 0.9, "val_loss": 0.6, "val_accuracy": 0.80},
)


def _fit(lab, logs=LOGS, evaluations=(), **training):
    trial = lab.full("float32", 1, 1.0, epochs=len(logs), evaluations=evaluations)
    old = trial.trainings[0]
    epochs = tuple(
        structs.replace(epoch, logs=one)
        for epoch, one in zip(old.epochs, logs, strict=True)
    )
    return structs.replace(
        trial, trainings=(structs.replace(old, epochs=epochs, **training),)
    )


def _evaluate(metrics, after=0, model="cnn", **fields):
    return Evaluation(
        model=model, after_training=after, seconds=1.0, metrics=metrics, **fields
    )


def _choose(lab, trial, **plan):
    choice = choose_metric(lab.plan(full=1, **plan), [trial])
    return choice.name, choice.source, choice.mode, read_value(trial, choice)


def test_the_last_evaluation_after_the_judged_training_comes_first(lab):
    evaluations = (_evaluate({"accuracy": 0.1}), _evaluate({"accuracy": 0.7}))
    trial = _fit(lab, evaluations=evaluations)
    assert _choose(lab, trial) == ("accuracy", "evaluate", "max", 0.7)


@pytest.mark.parametrize(
    "evaluation",
    [
        _evaluate({"accuracy": 0.7}, after=None),
        _evaluate({"accuracy": 0.7}, model="another"),
        _evaluate({"accuracy": 0.7}, cut_short=True),
    ],
)
def test_an_evaluation_of_something_else_is_passed_over(lab, evaluation):
    trial = _fit(lab, evaluations=(evaluation,))
    assert find_evaluation(trial) is None
    assert _choose(lab, trial) == ("val_accuracy", "last-epoch", "max", 0.80)


def test_an_evaluation_before_the_judged_training_is_passed_over(lab):
    trial = _fit(lab, evaluations=(_evaluate({"accuracy": 0.7}, after=0),))
    first = trial.trainings[0]
    second = structs.replace(first, ordinal=1)
    trial = structs.replace(trial, trainings=(first, second), judged=1)
    assert find_evaluation(trial) is None


def test_the_best_epoch_is_read_where_its_weights_are_put_back(lab):
    trial = _fit(lab, restores_best_weights=True, monitors="val_accuracy")
    assert _choose(lab, trial) == ("val_accuracy", "best-epoch", "max", 0.85)
    lowest = _fit(lab, restores_best_weights=True)
    assert _choose(lab, lowest, metric="val_loss") == (
        "val_loss", "best-epoch", "min", 0.4,
    )  # fmt: skip


def test_without_the_watched_metric_the_last_epoch_is_read(lab):
    trial = _fit(lab, restores_best_weights=True, monitors="val_f1")
    assert _choose(lab, trial)[3] == 0.80


def test_a_broken_last_epoch_is_not_read(lab):
    trial = _fit(lab)
    training = trial.trainings[0]
    broken = structs.replace(training.epochs[-1], complete=False)
    epochs = (*training.epochs[:-1], broken)
    trial = structs.replace(
        trial, trainings=(structs.replace(training, epochs=epochs),)
    )
    assert _choose(lab, trial)[3] == 0.85


def test_without_validation_the_training_loss_is_left(lab):
    logs = [{k: v for k, v in one.items() if k[:4] != "val_"} for one in LOGS]
    assert _choose(lab, _fit(lab, logs)) == ("loss", "training", "min", 0.2)


def test_the_users_metric_is_found_with_and_without_its_prefix(lab):
    trial = _fit(lab, evaluations=(_evaluate({"loss": 0.3, "mae": 0.1}),))
    assert _choose(lab, trial, metric="mae")[:2] == ("mae", "evaluate")
    assert _choose(lab, trial, metric="accuracy")[:2] == ("val_accuracy", "last-epoch")
    assert choose_metric(lab.plan(metric="nothing"), [trial]) is None


def test_the_users_mode_wins(lab):
    assert _choose(lab, _fit(lab), mode="min")[2] == "min"


def test_a_loss_is_judged_where_nothing_looks_like_an_accuracy(lab):
    trial = _fit(lab, evaluations=(_evaluate({"a_loss": 1.0, "loss": 3.0, "mse": 2}),))
    assert _choose(lab, trial)[0] == "loss"


def test_only_what_all_trials_have_is_judged(lab):
    one = _fit(lab, evaluations=(_evaluate({"accuracy": 0.7}),))
    other = structs.replace(_fit(lab), number=2)
    choice = choose_metric(lab.plan(full=2), [one, other])
    assert choice.source == "last-epoch"
    assert choose_metric(lab.plan(full=2), []) is None


def test_the_fingerprint_ignores_times(lab):
    timed = [{**one, "epoch_seconds": 0.1 * i} for i, one in enumerate(LOGS)]
    assert fingerprint(_fit(lab, timed)) == fingerprint(_fit(lab))
    assert fingerprint(_fit(lab, LOGS[:2])) != fingerprint(_fit(lab))


def test_a_script_that_never_trained_has_no_metric(lab):
    trial = structs.replace(_fit(lab), trainings=(), judged=None)
    assert choose_metric(lab.plan(full=1), [trial]) is None


def test_an_evaluation_in_float32_stands_in_for_the_one_in_16_bit(lab):
    evaluation = _evaluate({"mse": float("inf"), "loss": 1.0})
    evaluation = structs.replace(evaluation, metrics_float32={"mse": 9e4})
    trial = _fit(lab, evaluations=(evaluation,))
    choice = choose_metric(lab.plan(full=1, metric="mse"), [trial])
    assert read_value(trial, choice) == 9e4
    assert read_narrow_value(trial, choice) == float("inf")


def test_a_validation_in_float32_stands_in_for_that_of_the_last_epoch(lab):
    trial = _fit(lab, validation_float32={"val_accuracy": 0.81, "val_other": 7.0})
    choice = choose_metric(lab.plan(full=1), [trial])
    assert (choice.name, choice.source) == ("val_accuracy", "last-epoch")
    assert read_value(trial, choice) == 0.81
    assert read_narrow_value(trial, choice) == 0.80
    assert choice.name != "val_other", "only what the script logs is judged"


def test_a_metric_that_was_in_float32_has_no_value_in_16_bit(lab):
    trial = _fit(lab)
    assert read_narrow_value(trial, choose_metric(lab.plan(full=1), [trial])) is None
