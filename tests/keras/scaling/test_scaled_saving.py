"""Saved state and saved models, with Keras's class at the other end."""

import json
import os
import pickle
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import betterhalf


def make_model(keras, wrapper=betterhalf.LossScaleOptimizer, **options):
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(2)])
    model.compile(wrapper(keras.optimizers.Adam(0.01), **options), "mse")
    return model


def state_of(optimizer):
    return [np.array(variable.numpy()) for variable in optimizer.variables]


def describe(optimizer):
    return [
        (variable.name, variable.shape, variable.dtype)
        for variable in optimizer.variables
    ]


def assert_same(left, right):
    for one, other in zip(left, right, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_state_is_keras_s_list_in_keras_s_order(keras):
    theirs = make_model(keras, keras.optimizers.LossScaleOptimizer)
    ours = make_model(keras)
    for model in (theirs, ours):
        model.optimizer.build(model.trainable_variables)
    theirs, ours = describe(theirs.optimizer), describe(ours.optimizer)
    assert [name.split("_")[-1] for name, *_ in ours] == [
        name.split("_")[-1] for name, *_ in theirs
    ]
    assert [rest for _, *rest in ours] == [rest for _, *rest in theirs]


@pytest.mark.parametrize("direction", ["to keras", "from keras"])
def test_checkpoints_go_both_ways(keras, data, tmp_path, direction):
    wrappers = [betterhalf.LossScaleOptimizer, keras.optimizers.LossScaleOptimizer]
    if direction == "from keras":
        wrappers.reverse()
    source, target = (make_model(keras, wrapper) for wrapper in wrappers)
    for model in (source, target):
        model.fit(*data, epochs=1, verbose=0)
    path = tmp_path / "checkpoint.weights.h5"
    source.save_weights(path)
    target.load_weights(path)
    assert_same(state_of(source.optimizer), state_of(target.optimizer))
    losses = [
        model.fit(*data, epochs=2, verbose=0, shuffle=False).history["loss"]
        for model in (source, target)
    ]
    np.testing.assert_allclose(*losses, rtol=1e-5)


def test_keras_goes_on_from_a_state_that_counts_bad_steps(keras, data, tmp_path):
    source = make_model(keras)
    source.fit(*data, epochs=1, verbose=0)
    source.optimizer.apply(
        [
            keras.ops.full(variable.shape, np.nan)
            for variable in source.trainable_variables
        ]
    )
    target = make_model(keras, keras.optimizers.LossScaleOptimizer)
    target.fit(*data, epochs=1, verbose=0)
    source.save_weights(tmp_path / "bad.weights.h5")
    target.load_weights(tmp_path / "bad.weights.h5")
    assert int(target.optimizer.step_counter) == -1
    target.fit(*data, epochs=1, verbose=0)
    assert int(target.optimizer.step_counter) == 1
    assert float(target.optimizer.dynamic_scale) == source.optimizer.loss_scale


def test_a_model_comes_back_with_options_and_state(keras, data, tmp_path):
    model = make_model(keras, initial_scale=64.0, ceiling=128.0, hysteresis=2)
    model.fit(*data, epochs=1, verbose=0)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert type(loaded.optimizer) is betterhalf.LossScaleOptimizer
    assert loaded.optimizer.rule == model.optimizer.rule
    assert_same(state_of(model.optimizer), state_of(loaded.optimizer))
    losses = [
        each.fit(*data, epochs=2, verbose=0, shuffle=False).history["loss"]
        for each in (model, loaded)
    ]
    np.testing.assert_array_equal(*losses)


ELSEWHERE = """
import sys
sys.modules["betterhalf"] = None  # as if it were not installed
import keras, numpy as np
model = keras.models.load_model(sys.argv[1])
optimizer = model.optimizer
assert type(optimizer) is keras.optimizers.LossScaleOptimizer, type(optimizer)
model.fit(np.ones((4, 8), "float32"), np.ones((4, 2), "float32"), verbose=0)
scale = float(optimizer.dynamic_scale)
print(scale, int(optimizer.iterations), optimizer.initial_scale)
model.save(sys.argv[2])
"""


def test_a_saved_model_opens_where_betterhalf_is_not_installed(keras, data, tmp_path):
    model = make_model(keras, initial_scale=64.0, ceiling=128.0)
    model.fit(*data, epochs=1, batch_size=32, verbose=0)
    paths = [str(tmp_path / name) for name in ("ours.keras", "theirs.keras")]
    model.save(paths[0])
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", ELSEWHERE, *paths],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["64.0", "3", "64.0"]
    back = keras.models.load_model(paths[1])  # what Keras saves is Keras's
    assert type(back.optimizer) is keras.optimizers.LossScaleOptimizer


def test_the_file_names_keras_s_class(keras, tmp_path):
    model = make_model(keras)
    model.save(tmp_path / "model.keras")
    with zipfile.ZipFile(tmp_path / "model.keras") as archive:
        config = json.loads(archive.read("config.json"))
    written = config["compile_config"]["optimizer"]
    assert (written["module"], written["class_name"], written["registered_name"]) == (
        "keras.optimizers",
        "LossScaleOptimizer",
        "LossScaleOptimizer",
    )
    keras_s = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD())
    assert set(written["config"]) == set(keras_s.get_config())


def test_every_option_survives_its_config(keras):
    options = {
        "initial_scale": 8.0,
        "growth_interval": 7,
        "growth_factor": 4.0,
        "backoff_factor": 0.25,
        "floor": 0.5,
        "ceiling": 16.0,
        "hysteresis": 3,
        "search_factor": 0.125,
        "patience": 9,
        "on_failure": "warn",
        "mode": "dynamic",
    }
    optimizer = betterhalf.LossScaleOptimizer(keras.optimizers.SGD(0.1), **options)
    config = json.loads(json.dumps(keras.optimizers.serialize(optimizer)))
    again = keras.optimizers.deserialize(config)
    assert again.options == optimizer.options
    assert again.rule == optimizer.rule
    assert again.get_config() == optimizer.get_config()


def test_backup_and_restore_goes_on_with_the_same_scale_and_losses(
    keras, data, tmp_path
):
    def train(folder, dies_after=None):
        keras.utils.set_random_seed(4)
        model = make_model(keras, initial_scale=4.0, growth_interval=3)
        callbacks = [keras.callbacks.BackupAndRestore(tmp_path / folder)]
        if dies_after is not None:

            class Dies(keras.callbacks.Callback):
                def on_epoch_begin(self, epoch, logs=None):
                    if epoch == dies_after:
                        raise KeyboardInterrupt

            callbacks.append(Dies())
        arguments = {"epochs": 5, "verbose": 0, "shuffle": False}
        history = model.fit(*data, callbacks=callbacks, **arguments)
        return model, history.history["loss"]

    with pytest.raises(KeyboardInterrupt):
        train("killed", dies_after=3)
    resumed, losses = train("killed")
    whole, expected = train("whole")
    assert losses == expected[3:]
    assert resumed.optimizer.loss_scale == whole.optimizer.loss_scale > 4.0
    assert_same(state_of(resumed.optimizer), state_of(whole.optimizer))


def test_it_can_be_copied_by_pickle_where_keras_s_can(keras, data):
    model = make_model(keras)
    model.fit(*data, epochs=1, verbose=0)
    again = pickle.loads(pickle.dumps(model))
    assert type(again.optimizer) is betterhalf.LossScaleOptimizer
    assert_same(state_of(model.optimizer), state_of(again.optimizer))
