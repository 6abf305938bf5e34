"""Metrics on 16-bit outputs, measured again in float32."""

import json
import math

import numpy as np
import pytest

from betterhalf import backends
from betterhalf.keras_seams import install
from betterhalf.records.instructions import Instructions
from betterhalf.worker.recomputing import recompute_metrics
from betterhalf.worker.trainings import TrainingWatcher
from betterhalf.worker.writing import EventWriter


@pytest.fixture
def far_data():
    """Targets so far off that the mean of squares overflows in float16."""
    x = np.random.default_rng(0).normal(size=(64, 8)).astype("float32")
    return x, np.full((64, 2), 500.0, "float32")


def _model(keras, policy="mixed_float16", head=None):
    keras.config.set_dtype_policy(policy)
    model = keras.Sequential(
        [keras.Input((8,)), keras.layers.Dense(4), keras.layers.Dense(2, dtype=head)]
    )
    model.compile("sgd", "mae", metrics=["mse"], auto_scale_loss=False)
    return model


def _exact(keras, model, x, y):
    """The mean of squares in float64, from what the model returns."""
    output = np.asarray(model.predict(x, verbose=0)).astype("float64")
    return float(np.mean((output - y.astype("float64")) ** 2))


def test_a_metric_that_overflows_in_float16_is_what_it_is_in_float32(keras, far_data):
    x, y = far_data
    model = _model(keras)
    said = model.evaluate(x, y, verbose=0, return_dict=True)["mse"]
    assert not math.isfinite(said)
    again = recompute_metrics(keras, model, {"x": x, "y": y})["mse"]
    assert again == pytest.approx(_exact(keras, model, x, y), rel=2e-3)


def test_the_model_and_its_metrics_are_left_as_they_were(keras, far_data):
    x, y = far_data
    model = _model(keras)
    before = model.evaluate(x, y, verbose=0, return_dict=True)
    state = [np.asarray(v).copy() for v in model.metrics_variables]
    recompute_metrics(keras, model, {"x": x, "y": y})
    for variable, value in zip(model.metrics_variables, state, strict=True):
        np.testing.assert_array_equal(np.asarray(variable), value)
    assert "compute_metrics" not in vars(model)
    after = model.evaluate(x, y, verbose=0, return_dict=True)
    assert str(after) == str(before)


def test_a_compute_metrics_of_the_users_own_is_repeated_too(keras, far_data):
    x, y = far_data

    class Own(keras.Sequential):
        def compute_metrics(self, x, y, y_pred, sample_weight=None):
            results = super().compute_metrics(x, y, y_pred, sample_weight)
            return {**results, "own": keras.ops.mean(keras.ops.square(y_pred - 500))}

    keras.config.set_dtype_policy("mixed_float16")
    model = Own([keras.Input((8,)), keras.layers.Dense(2)])
    model.compile("sgd", "mae", auto_scale_loss=False)
    metrics = recompute_metrics(keras, model, {"x": x, "y": y, "batch_size": 64})
    assert metrics["own"] == pytest.approx(_exact(keras, model, x, y), rel=2e-3)


def test_data_that_can_be_gone_over_once_only_are_refused(keras, far_data):
    model = _model(keras)
    batches = iter([far_data])
    with pytest.raises(ValueError, match="once only"):
        recompute_metrics(keras, model, {"x": batches})
    assert next(batches) is far_data


def _watch(keras, tmp_path, script, short=False):
    """Runs `script` as in a trial and returns the events that it left."""
    path = tmp_path / "events.jsonl"
    instructions = Instructions(
        policy="mixed_float16",
        backend=None,
        events=str(path),
        folder="",
        raw=True,
        short=short,
    )
    watcher = TrainingWatcher(
        keras,
        backends.load(keras.backend.backend()),
        instructions,
        EventWriter(str(path)),
    )
    installation = install(keras, [watcher])
    try:
        script()
    finally:
        installation.remove()
        watcher.stop()
    return [json.loads(line) for line in path.read_text().splitlines()]


def _of(events, kind):
    return [event for event in events if event["event"] == kind]


def test_fit_and_evaluate_are_repeated_after_a_16_bit_head(keras, far_data, tmp_path):
    x, y = far_data
    model = _model(keras)

    def script():
        model.fit(x, y, epochs=2, verbose=0, validation_data=(x, y))
        model.evaluate(x, y, verbose=0)

    events = _watch(keras, tmp_path, script)
    (again,) = _of(events, "recomputed")
    (evaluated,) = _of(events, "evaluation")
    exact = _exact(keras, model, x, y)
    assert again["metrics"]["val_mse"] == pytest.approx(exact, rel=2e-3)
    assert evaluated["evaluation"]["metrics_float32"]["mse"] == pytest.approx(
        exact, rel=2e-3
    )
    assert evaluated["evaluation"]["metrics"]["mse"] == "inf"
    assert len(_of(events, "evaluation")) == 1, "ours is no evaluation of the script"


def test_a_float32_head_needs_no_repetition(keras, far_data, tmp_path):
    x, y = far_data
    model = _model(keras, head="float32")

    def script():
        model.fit(x, y, verbose=0, validation_data=(x, y))
        model.evaluate(x, y, verbose=0)

    events = _watch(keras, tmp_path, script)
    assert not _of(events, "recomputed")
    assert not _of(events, "evaluation")[0]["evaluation"].get("metrics_float32")


def test_what_cannot_be_repeated_is_noted(keras, far_data, tmp_path):
    x, y = far_data
    model = _model(keras)

    def script():
        model.fit(x, y, verbose=0)
        batches = ((x, y) for _ in range(3))
        model.evaluate(batches, steps=2, verbose=0)

    (note,) = [
        event["note"]
        for event in _of(_watch(keras, tmp_path, script), "note")
        if event["note"]["code"] == "metrics-in-16-bit"
    ]
    assert "once only" in note["text"]
    assert "float16" in note["text"]
