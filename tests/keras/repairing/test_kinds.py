"""Small scripts that go wrong under plain Keras, and right after `enable`.

Each function is a script: it returns whether what came out is right. A script that is
right under plain Keras too, on the backends named for it, proves nothing and fails.
"""

import contextlib
import os

import numpy as np
import pytest

import betterhalf


BACKEND = os.environ["KERAS_BACKEND"]
ALL = ("tensorflow", "jax", "torch")
BOTH = ("mixed_float16", "mixed_bfloat16")
HALF = ("mixed_float16",)


def ids_through_an_automatic_input(keras):
    table = np.arange(3100, dtype="float32").reshape(3100, 1) % 2
    model = keras.Sequential(
        [
            keras.layers.Embedding(3100, 1, name="rows"),
            keras.layers.Flatten(),
            keras.layers.Dense(1, kernel_initializer="ones", use_bias=False),
        ]
    )
    model.compile("adam", "mse")
    ids = np.array([[2501], [2503], [2999]], "int64")
    model.predict(ids, verbose=0)
    model.get_layer("rows").set_weights([table])
    return np.allclose(model.predict(ids, verbose=0), 1.0)


def ids_behind_a_reshape(keras):
    table = np.arange(3100, dtype="float32").reshape(3100, 1) % 2
    inputs = keras.Input((1,))
    column = keras.layers.Reshape((1, 1))(inputs)
    column = keras.layers.Flatten()(column)
    rows = keras.layers.Embedding(3100, 1, name="rows")(column)
    outputs = keras.layers.Dense(1, kernel_initializer="ones")(rows)
    model = keras.Model(inputs, outputs)
    model.compile("adam", "mse")
    model.get_layer("rows").set_weights([table])
    ids = np.array([[2501.0], [2503.0], [2999.0]], "float32")
    return np.allclose(model.predict(ids, verbose=0), 1.0)


def ids_at_the_door_of_a_subclass(keras):
    class Tower(keras.Model):
        def __init__(self):
            super().__init__()
            self.rows = keras.layers.Embedding(3100, 1)
            self.last = keras.layers.Dense(1, kernel_initializer="ones")

        def call(self, inputs):
            return self.last(self.rows(inputs[:, 1]))

    ids = np.array([[0.0, 2501.0], [0.0, 2999.0]], "float32")
    model = Tower()
    model.compile("adam", "mse")
    model(ids)
    model.rows.set_weights([np.arange(3100, dtype="float32").reshape(3100, 1) % 2])
    called = keras.ops.convert_to_numpy(keras.ops.cast(model(ids), "float32"))
    return np.allclose(called, 1.0)


def features_that_are_normalized(keras):
    x = np.linspace(100_000.0, 100_010.0, 32, dtype="float32").reshape(32, 1)
    normalize = keras.layers.Normalization()
    normalize.adapt(x)
    inputs = keras.Input((1,))
    model = keras.Model(inputs, normalize(inputs))
    scaled = model.predict(x, verbose=0).astype("float32")
    return np.allclose(scaled, (x - x.mean()) / x.std(), atol=0.03)


def features_that_are_put_into_bins(keras):
    layer = keras.layers.Discretization([3001.5], output_mode="one_hot")
    inputs = keras.Input((1,))
    outputs = layer(keras.layers.Flatten()(inputs))
    model = keras.Model(inputs, outputs)
    model.compile("adam", "mse")
    x = np.array([[3001.4], [3001.6]], "float32")
    return model.predict(x, verbose=0).argmax(-1).tolist() == [0, 1]


def raw_features_into_batch_normalization(keras):
    x = np.linspace(70_000.0, 90_000.0, 32, dtype="float32").reshape(16, 2)
    found = keras.layers.BatchNormalization()(x, training=True)
    return np.isfinite(keras.ops.convert_to_numpy(found).astype("float32")).all()


def a_running_mean(keras):
    class Mean(keras.layers.Layer):
        def build(self, shape):
            self.mean = self.add_weight(
                shape=(shape[-1],), initializer="zeros", trainable=False
            )

        def call(self, x, training=False):
            if training:
                self.mean.assign(0.99 * self.mean + 0.01 * keras.ops.mean(x, 0))
            return x - self.mean

    layer = Mean()
    for _ in range(1200):
        layer(np.ones((4, 3), "float32"), training=True)
    return np.allclose(layer.mean.numpy(), 1.0, atol=1e-4)


def a_counter(keras):
    class Warm(keras.layers.Layer):
        def build(self, _):
            self.steps = self.add_weight(
                shape=(), initializer=lambda *a, **k: 2047.0, trainable=False
            )

        def call(self, x):
            self.steps.assign_add(1.0)
            return x * 1.0

    layer = Warm()
    for _ in range(6):
        layer(np.ones((1, 1), "float32"))
    return float(layer.steps.numpy()) == 2053.0


def a_metric_inside_call(keras):
    class Tracked(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.seen = keras.metrics.Mean(name="seen")

        def call(self, x):
            self.seen.update_state(keras.ops.mean(x))
            return x * 1.0

    layer = Tracked()
    layer(np.ones((1, 1), "float32"))
    layer.seen.count.assign(2048.0)
    for _ in range(4):
        layer(np.ones((1, 1), "float32"))
    return float(layer.seen.count.numpy()) == 2052.0


def a_stateful_rnn(keras):
    model = keras.Sequential(
        [
            keras.Input(batch_shape=(2, 3, 2)),
            keras.layers.GRU(4, stateful=True),
        ]
    )
    x = np.ones((2, 3, 2), "float32")
    first, second = (np.asarray(model.predict(x, verbose=0)) for _ in range(2))
    return not np.array_equal(first, second)


def spectral_normalization(keras):
    layer = keras.layers.SpectralNormalization(
        keras.layers.Dense(6, use_bias=False), power_iterations=30
    )
    layer(np.ones((2, 5), "float32"), training=True)
    kernel = layer.layer.kernel.numpy()
    sigma = np.linalg.svd(kernel, compute_uv=False)[0]
    rounded = np.array_equal(kernel, kernel.astype("float16").astype("float32"))
    return abs(sigma - 1) < 0.02 and not rounded


def unit_vectors(keras):
    rows = np.array([[300.0] * 64, [0.0] * 64, [1e-4] * 64], "float32")
    found = keras.layers.UnitNormalization()(rows)
    found = keras.ops.convert_to_numpy(keras.ops.cast(found, "float32"))
    expected = [[0.125] * 64, [0.0] * 64, [0.125] * 64]
    return np.allclose(found, expected, atol=2e-3)


def cosines(keras):
    layer = keras.layers.Dot(axes=1, normalize=True)
    x = np.full((1, 64), 300.0, "float32")
    found = keras.ops.cast(layer([x, x]), "float32")
    return np.allclose(keras.ops.convert_to_numpy(found), 1.0, atol=1e-2)


def attention_over_padding(keras):
    x = np.full((1, 3, 4), 4.0, "float32")
    mask = np.zeros((1, 3), bool)
    found = keras.layers.Attention()([-x, x], mask=[None, mask])
    return np.isfinite(keras.ops.convert_to_numpy(found).astype("float32")).all()


def a_masked_average(keras):
    x = np.full((1, 3000, 1), 60.0, "float32")
    mask = np.ones((1, 3000), bool)
    found = keras.layers.GlobalAveragePooling1D()(x, mask=mask)
    found = keras.ops.convert_to_numpy(keras.ops.cast(found, "float32"))
    return np.allclose(found, 60.0, rtol=1e-2)


def an_activity_regularizer(keras):
    layer = keras.layers.Dense(
        64, kernel_initializer="ones", activity_regularizer=keras.regularizers.L2(0.1)
    )
    model = keras.Sequential([keras.Input((8,)), layer, keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    try:
        loss = model.evaluate(
            np.full((4, 8), 9.0, "float32"), np.zeros((4, 1)), verbose=0
        )
    except Exception:
        return False
    return bool(np.isfinite(loss))


def a_wrapper_that_is_told_to_be_float32(keras):
    layer = keras.layers.TimeDistributed(keras.layers.Dense(2), dtype="float32")
    model = keras.Sequential([keras.Input((3, 2)), layer, keras.layers.Flatten()])
    model.compile("sgd", "mse")
    return layer.layer.compute_dtype == "float32"


def a_policy_that_is_set_on_a_layer(keras):
    layer = keras.layers.LSTM(3)
    layer.dtype_policy = "float32"
    return layer.cell.compute_dtype == "float32"


def a_cleared_session(keras):
    keras.utils.clear_session()
    return keras.layers.Dense(1).compute_dtype != "float32"


def statistics_after_an_overflow(keras):
    model = keras.Sequential(
        [
            keras.Input((2,)),
            keras.layers.Dense(4, kernel_initializer="ones"),
            keras.layers.BatchNormalization(),
            keras.layers.Dense(1),
        ]
    )
    model.compile("sgd", "mse")
    y = np.zeros((4, 1), "float32")
    for value in (1.0, 60_000.0, 1.0):
        model.fit(np.full((4, 2), value, "float32"), y, verbose=0)
    return all(np.isfinite(weight).all() for weight in model.get_weights())


def float16_by_a_policy_map(keras):
    policies = keras.dtype_policies.DTypePolicyMap(default_policy="mixed_float16")
    keras.config.set_dtype_policy(policies)
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile({"class_name": "SGD", "config": {"learning_rate": 0.1}}, "mse")
    return isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)


def float16_in_a_layer_made_late(keras):
    keras.config.set_dtype_policy("float32")

    class Late(keras.Model):
        def build(self, _):
            self.first = keras.layers.Dense(2, dtype="mixed_float16")
            self.first.build((None, 2))
            self.last = keras.layers.Dense(1)
            self.last.build((None, 2))

        def call(self, x):
            return self.last(self.first(x))

    model = Late()
    model.compile("sgd", "mse")
    model.fit(np.ones((4, 2), "float32"), np.ones((4, 1)), verbose=0)
    return isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)


def a_scale_that_falls_to_zero(keras):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    x = np.ones((200, 2), "float32")
    model.fit(x[:1], x[:1, :1], verbose=0)
    # a failed training may stop; its weights may not be lost
    with contextlib.suppress(Exception):
        model.fit(x * np.inf, x[:, :1], batch_size=1, verbose=0)
    with contextlib.suppress(Exception):
        model.fit(x[:1], x[:1, :1], verbose=0)
    return all(np.isfinite(weight).all() for weight in model.get_weights())


def a_scale_that_is_far_too_large_at_first(keras):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(1e-6))
    model.compile(optimizer, "mse")
    x = np.ones((12, 2), "float32")
    model.fit(x, 2e3 * x[:, :1], batch_size=1, verbose=0)
    return int(optimizer.inner_optimizer.iterations) >= 8


KINDS = (
    (ids_through_an_automatic_input, ALL, BOTH),
    (ids_behind_a_reshape, ALL, BOTH),
    (ids_at_the_door_of_a_subclass, ALL, BOTH),
    (features_that_are_normalized, ALL, BOTH),
    (features_that_are_put_into_bins, ALL, BOTH),
    (raw_features_into_batch_normalization, ALL, HALF),
    (a_running_mean, ALL, BOTH),
    (a_counter, ALL, BOTH),
    (a_metric_inside_call, ALL, BOTH),
    (a_stateful_rnn, ("torch",), BOTH),
    (spectral_normalization, ALL, HALF),
    (unit_vectors, ALL, HALF),
    (cosines, ("tensorflow", "jax"), HALF),
    (attention_over_padding, ALL, HALF),
    (a_masked_average, ALL, HALF),
    (an_activity_regularizer, ALL, HALF),
    (a_wrapper_that_is_told_to_be_float32, ALL, BOTH),
    (a_policy_that_is_set_on_a_layer, ALL, BOTH),
    (a_cleared_session, ALL, BOTH),
    (statistics_after_an_overflow, ALL, HALF),
    (float16_by_a_policy_map, ALL, HALF),
    (float16_in_a_layer_made_late, ALL, HALF),
    (a_scale_that_falls_to_zero, ALL, HALF),
    (a_scale_that_is_far_too_large_at_first, ALL, HALF),
)
HERE = [
    pytest.param(script, policy, id=f"{script.__name__}-{policy}")
    for script, backends, policies in KINDS
    for policy in policies
    if BACKEND in backends
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("script", "policy"), HERE)
def test_a_script_that_goes_wrong_is_put_right(keras, script, policy):
    keras.config.set_dtype_policy(policy)
    assert not script(keras)
    keras.utils.clear_session()
    keras.config.set_dtype_policy("float32")
    with betterhalf.enable(policy):
        assert script(keras)
