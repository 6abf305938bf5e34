"""`fit`, in every way that a model can be compiled, against Keras's class."""

import os

import numpy as np
import pytest

import betterhalf


def make_model(keras, optimizer, policy="mixed_float16", **arguments):
    keras.utils.set_random_seed(7)
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((8,)),
            layers.Dense(16, activation="relu", dtype=policy),
            layers.Dense(8, activation="relu", dtype=policy),
            layers.Dense(2, dtype="float32"),
        ]
    )
    model.layers[0].trainable = arguments.pop("trainable", True)
    model.compile(optimizer, "mse", **arguments)
    return model


def train(keras, data, wrapper, epochs=1, **arguments):
    optimizer = wrapper(keras.optimizers.Adam(0.01), initial_scale=256.0)
    model = make_model(keras, optimizer, **arguments)
    history = model.fit(*data, batch_size=8, epochs=epochs, verbose=0, shuffle=False)
    return model, history.history["loss"]


WAYS = {
    "default": {},
    "compiled": {"jit_compile": True},
    "uncompiled": {"jit_compile": False},
    "eager": {"run_eagerly": True},
    "several steps": {"steps_per_execution": 3},
    "frozen": {"trainable": False},
    "float32": {"policy": "float32"},
}


SLOW = {  # torch takes a minute to compile what is decided on the host in any case
    ("torch", "compiled"): pytest.mark.long,
}


@pytest.mark.parametrize(
    "way",
    [
        pytest.param(way, marks=SLOW.get((os.environ.get("KERAS_BACKEND"), way), ()))
        for way in WAYS
    ],
)
def test_a_training_equals_one_with_keras_s_class(keras, data, way):
    backend = keras.backend.backend()
    if way == "several steps" and backend == "torch":
        pytest.skip("Keras refuses it")
    arguments = WAYS[way]
    ours, losses = train(keras, data, betterhalf.LossScaleOptimizer, **arguments)
    theirs, expected = train(
        keras, data, keras.optimizers.LossScaleOptimizer, **arguments
    )
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    for weight, other in zip(ours.get_weights(), theirs.get_weights(), strict=True):
        np.testing.assert_allclose(weight, other, rtol=1e-3, atol=1e-5)
    assert int(ours.optimizer.iterations) == int(theirs.optimizer.iterations) == 8


def test_compile_keeps_it_under_a_mixed_policy(keras, data):
    keras.config.set_dtype_policy("mixed_float16")
    optimizer = betterhalf.LossScaleOptimizer(keras.optimizers.Adam(0.01))
    model = make_model(keras, optimizer)
    assert model.optimizer is optimizer


def test_large_targets_cost_three_steps_and_keras_eleven(keras, data):
    x, y = data
    applied = {}
    for name, wrapper in (
        ("ours", betterhalf.LossScaleOptimizer),
        ("keras", keras.optimizers.LossScaleOptimizer),
    ):
        model = make_model(keras, wrapper(keras.optimizers.Adam(0.01)))
        model.fit(x, y + 3000, batch_size=8, epochs=2, verbose=0, shuffle=False)
        applied[name] = int(model.optimizer.iterations)
    assert applied["ours"] >= 12
    assert applied["keras"] <= 8


def test_an_embedding_trains(keras):
    rows = np.random.default_rng(0).integers(0, 50, (32, 4)).astype("int32")
    targets = np.random.default_rng(1).normal(size=(32, 2)).astype("float32")
    losses = []
    for wrapper in (
        betterhalf.LossScaleOptimizer,
        keras.optimizers.LossScaleOptimizer,
    ):
        keras.utils.set_random_seed(3)
        layers = keras.layers
        model = keras.Sequential(
            [
                keras.Input((4,), dtype="int32"),
                layers.Embedding(50, 8),
                layers.Flatten(),
                layers.Dense(2),
            ]
        )
        model.compile(wrapper(keras.optimizers.Adam(0.05)), "mse")
        history = model.fit(rows, targets, epochs=4, verbose=0, shuffle=False)
        losses.append(history.history["loss"])
    np.testing.assert_allclose(*losses, rtol=1e-5)


@pytest.mark.backend("tensorflow")
def test_sparse_gradients_stay_sparse(keras):
    if keras.backend.backend() != "tensorflow":
        pytest.skip("TensorFlow alone has them")
    import tensorflow as tf

    optimizer = betterhalf.LossScaleOptimizer(keras.optimizers.SGD(1.0))
    table = keras.Variable(np.zeros((1000, 2), "float32"))
    seen = []
    inner = optimizer.inner_optimizer
    original = inner.apply
    inner.apply = lambda grads, trainable_variables=None: (
        seen.extend(grads),
        original(grads, trainable_variables),
    )[1]
    for values in ([[8.0, 8.0]], [[np.inf, 0.0]]):
        slices = tf.IndexedSlices(
            tf.constant(values) * optimizer.loss_scale,
            tf.constant([3]),
            tf.constant([1000, 2]),
        )
        optimizer.apply([slices], [table])
    assert isinstance(seen[0], tf.IndexedSlices)
    assert len(seen) == optimizer.skipped_steps == 1
    np.testing.assert_array_equal(table.numpy()[3], [-8, -8])


def test_several_optimizers_scale_by_themselves(keras):
    pairs = []
    for scale in (8.0, 64.0):
        optimizer = betterhalf.LossScaleOptimizer(
            keras.optimizers.SGD(0.5), initial_scale=scale
        )
        pairs.append((optimizer, [keras.Variable(np.ones(2, "float32"))]))
    for optimizer, variables in pairs:
        gradient = keras.ops.ones(2) * optimizer.scale_loss(1.0)
        optimizer.apply([gradient], variables)
        np.testing.assert_array_equal(variables[0].numpy(), [0.5, 0.5])
    pairs[0][0].apply([keras.ops.full((2,), np.inf)], pairs[0][1])
    assert [optimizer.skipped_steps for optimizer, _ in pairs] == [1, 0]


def test_keras_s_multi_optimizer_goes_inside(keras, data):
    if not hasattr(keras.optimizers, "MultiOptimizer"):
        pytest.skip("this Keras has none")
    selected = keras.optimizers.OptimizerMap(
        keras.optimizers.SGD(0.01), {".*kernel": keras.optimizers.Adam(0.01)}
    )
    inner = keras.optimizers.MultiOptimizer(selected)
    model = make_model(keras, betterhalf.LossScaleOptimizer(inner), policy="float32")
    losses = model.fit(*data, batch_size=8, epochs=3, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    assert int(inner.iterations) == 24
