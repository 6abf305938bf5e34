"""What a user is told when nothing but bad steps come."""

import logging
import warnings

import numpy as np
import pytest

import betterhalf
from betterhalf.errors import LossScaleError


BAD = np.full(2, np.nan)


def test_an_eager_step_raises_after_its_patience_and_the_weights_are_intact(
    keras, trainer
):
    optimizer = betterhalf.LossScaleOptimizer(keras.optimizers.Adam(0.1), patience=5)
    taker = trainer(optimizer, np.ones(2))
    taker.step(np.ones(2))
    before = taker.everything()
    told = []
    for number in range(1, 13):
        try:
            taker.step(BAD)
            optimizer.check()
        except Exception as error:
            told.append((number, error))
    # what stops a compiled graph of TensorFlow is told once more outside of it
    graph = not isinstance(told[0][1], LossScaleError)
    assert not graph or keras.backend.backend() == "tensorflow"
    assert [number for number, _ in told] == ([5, 6, 10, 11] if graph else [5, 10])
    text = str(told[0][1])
    for cause in ("data", "learning rate", "float16", "float32", "mixed_bfloat16"):
        assert cause in text
    assert optimizer.skipped_steps == 12
    for was, now in zip(before, taker.everything(), strict=True):
        np.testing.assert_array_equal(was, now)
    taker.step(np.ones(2))
    assert int(optimizer.iterations) == 2


def test_it_warns_if_that_was_chosen(keras):
    optimizer = betterhalf.LossScaleOptimizer(
        keras.optimizers.Adam(0.1), patience=3, on_failure="warn"
    )
    variables = [keras.Variable(np.ones(2, "float32"))]
    gradient = keras.ops.convert_to_tensor(BAD.astype("float32"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(7):
            optimizer.apply([gradient], variables)
    told = [each for each in caught if issubclass(each.category, RuntimeWarning)]
    assert len(told) == 2
    assert "3 in a row" in str(told[0].message)


@pytest.mark.parametrize("jit_compile", [False, True])
def test_fit_raises_and_the_model_is_intact_and_can_be_saved(
    keras, data, tmp_path, jit_compile
):
    if jit_compile and keras.backend.backend() == "torch":
        pytest.skip("half a minute of compiling for what is decided on the host")
    x, y = data
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(2)])
    optimizer = betterhalf.LossScaleOptimizer(keras.optimizers.Adam(0.1), patience=4)
    model.compile(optimizer, "mse", jit_compile=jit_compile)
    before = [np.array(weight) for weight in model.get_weights()]
    with pytest.raises(Exception, match="in a row with infinities or NaN"):
        model.fit(x, y * np.nan, batch_size=8, epochs=3, verbose=0)
    for was, now in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(was, now)
    # no later than where the next epoch begins, or where `fit` ends
    epochs = 3 if keras.backend.backend() == "tensorflow" and jit_compile else 1
    # (JAX throws away the state of a step that raised, if it ran uncompiled)
    assert 3 <= optimizer.skipped_steps <= 8 * epochs
    model.save(tmp_path / "model.keras")
    model.fit(x, y, batch_size=8, epochs=1, verbose=0)
    assert int(optimizer.iterations) == 8


def test_skipped_steps_are_said_where_fit_ends(keras, data, caplog):
    x, y = data
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(2)])
    model.compile(betterhalf.LossScaleOptimizer(keras.optimizers.Adam(0.1)), "mse")
    y = np.where(np.arange(len(y)) < 16, np.inf, y.T).T
    with caplog.at_level(logging.INFO, "betterhalf.scaling"):
        model.fit(x, y, batch_size=8, epochs=1, verbose=0, shuffle=False)
        model.fit(x[16:], y[16:], batch_size=8, epochs=1, verbose=0)
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "2 of 8 steps were skipped" in caplog.text
