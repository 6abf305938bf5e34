"""Each repair against a model that was built right by hand."""

import os

import numpy as np
import pytest

from betterhalf.keras_seams import install
from betterhalf.repairing import Repairs


@pytest.fixture
def repaired(keras):
    """Installs the repairs; gives the lists of what they did and noted."""
    repairs, notes = [], []
    installation = install(keras, [Repairs(keras, repairs.append, notes.append)])
    yield repairs, notes
    installation.remove()


def _sequential(keras, head):
    layers = keras.layers
    return keras.Sequential(
        [keras.Input((8,)), layers.Dense(16, activation="relu"), *head(layers)]
    )


HEADS = {
    "dense": (
        lambda layers: [layers.Dense(2)],
        lambda layers: [layers.Dense(2, dtype="float32")],
    ),
    "activation": (
        lambda layers: [layers.Dense(2), layers.Activation("softmax")],
        lambda layers: [
            layers.Dense(2, dtype="float32"),
            layers.Activation("softmax", dtype="float32"),
        ],
    ),
    "reshape": (
        lambda layers: [layers.Dense(2), layers.Reshape((2, 1)), layers.Flatten()],
        lambda layers: [
            layers.Dense(2, dtype="float32"),
            layers.Reshape((2, 1), dtype="float32"),
            layers.Flatten(dtype="float32"),
        ],
    ),
}


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
@pytest.mark.parametrize("head", HEADS)
def test_a_repaired_sequential_trains_as_one_built_right(
    keras, data, repaired, head, policy
):
    keras.config.set_dtype_policy(policy)
    losses = []
    for build in HEADS[head]:
        keras.utils.set_random_seed(1)
        model = _sequential(keras, build)
        model.compile(keras.optimizers.Adam(0.01), "mse")
        losses.append(model.fit(*data, epochs=3, verbose=0).history["loss"])
    assert losses[0] == losses[1]


def test_every_output_of_a_functional_model_is_float32(keras, data, repaired):
    keras.config.set_dtype_policy("mixed_bfloat16")
    repairs, _ = repaired
    inputs = keras.Input((8,))
    hidden = keras.layers.Dense(16, activation="relu", name="hidden")(inputs)
    kind = keras.layers.Dense(2, name="kind")(hidden)
    value = keras.ops.tanh(keras.layers.Dense(2, name="value")(hidden))
    model = keras.Model(inputs, [kind, value])
    model.compile("adam", ["mse", "mse"])
    x, y = data
    model.fit(x, [y, y], verbose=0)
    assert {repair.where for repair in repairs} == {"kind", "value"}
    assert model.get_layer("hidden").compute_dtype == "bfloat16"
    assert [output.dtype for output in model.predict(x, verbose=0)] == ["float32"] * 2


def test_a_nested_model_at_the_end_is_entered(keras, data, repaired):
    keras.config.set_dtype_policy("mixed_bfloat16")
    layers = keras.layers
    head = keras.Sequential(
        [keras.Input((16,)), layers.Dense(4, name="deep"), layers.Dense(2, name="last")]
    )
    model = keras.Sequential([keras.Input((8,)), layers.Dense(16), head])
    model.compile("adam", "mse")
    model.fit(*data, verbose=0)
    assert head.get_layer("last").compute_dtype == "float32"
    assert head.get_layer("deep").compute_dtype == "bfloat16"
    assert model.predict(data[0], verbose=0).dtype == "float32"


def test_a_wrapped_layer_at_the_end_is_repaired_inside(keras, repaired):
    keras.config.set_dtype_policy("mixed_bfloat16")
    layers = keras.layers
    model = keras.Sequential(
        [keras.Input((3, 8)), layers.Dense(4), layers.TimeDistributed(layers.Dense(2))]
    )
    model.compile("adam", "mse")
    x = np.ones((16, 3, 8), "float32")
    model.fit(x, x[..., :2], verbose=0)
    assert model.layers[-1].layer.compute_dtype == "float32"
    assert model.predict(x, verbose=0).dtype == "float32"


def _subclassed(keras, dtype=None):
    class Small(keras.Model):
        def __init__(self):
            super().__init__()
            self.hidden = keras.layers.Dense(16, activation="relu")
            self.last = keras.layers.Dense(2, dtype=dtype)
            self.shape = keras.layers.Activation("tanh", dtype=dtype)

        def call(self, x):
            return self.shape(self.last(self.hidden(x)))

    return Small()


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_a_subclassed_model_is_repaired_by_its_first_call(
    keras, data, repaired, policy
):
    keras.config.set_dtype_policy(policy)
    losses = []
    for dtype in (None, "float32"):
        keras.utils.set_random_seed(1)
        model = _subclassed(keras, dtype)
        model.compile(keras.optimizers.Adam(0.01), "mse")
        losses.append(model.fit(*data, epochs=3, verbose=0).history["loss"])
        assert model.predict(data[0], verbose=0).dtype == "float32"
        assert model.hidden.compute_dtype == policy.removeprefix("mixed_")
    assert losses[0] == losses[1]


def test_a_float32_model_is_left_alone(keras, data, repaired):
    repairs, notes = repaired
    model = _sequential(keras, HEADS["activation"][0])
    model.compile("adam", "mse")
    model.fit(*data, verbose=0)
    assert repairs == []
    assert notes == []


def test_a_backbone_that_is_called_to_build_a_model_keeps_its_16_bit(keras, repaired):
    keras.config.set_dtype_policy("mixed_bfloat16")
    backbone = keras.Sequential([keras.Input((8,)), keras.layers.Dense(16)])
    inputs = keras.Input((8,))
    outputs = keras.layers.Dense(2)(backbone(inputs))
    model = keras.Model(inputs, outputs)
    model.compile("adam", "mse")
    x = np.ones((16, 8), "float32")
    model.fit(x, x[:, :2], verbose=0)
    assert backbone.layers[-1].compute_dtype == "bfloat16"


def test_float16_layers_under_a_float32_policy_get_loss_scaling(keras, data, repaired):
    repairs, _ = repaired
    layers = keras.layers
    model = keras.Sequential(
        [keras.Input((8,)), layers.Dense(16, dtype="mixed_float16"), layers.Dense(2)]
    )
    optimizer = keras.optimizers.Adam(0.01)
    model.compile(optimizer, "mse")
    assert isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)
    assert model.optimizer.inner_optimizer is optimizer
    assert [repair.code for repair in repairs] == ["loss-scaling"]
    model.fit(*data, verbose=0)


def test_an_optimizer_that_the_user_leaves_unscaled_stays_so(keras, repaired):
    repairs, _ = repaired
    model = keras.Sequential(
        [keras.Input((8,)), keras.layers.Dense(2, dtype="mixed_float16")]
    )
    model.compile("adam", "mse", auto_scale_loss=False)
    assert not isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)
    assert [repair.code for repair in repairs] == ["float32-output"]


def _unscaled_step(keras):
    """A model whose train step forgets `scale_loss`, on the backend at hand."""
    backend = os.environ["KERAS_BACKEND"]

    class Forgetful(keras.Sequential):
        def train_step(self, *arguments):
            step = {"jax": _jax, "tensorflow": _tensorflow, "torch": _torch}[backend]
            return step(self, *arguments)

    return Forgetful([keras.Input((8,)), keras.layers.Dense(2)])


def _jax(model, state, batch):
    import jax

    weights, others, slots, metrics = state
    x, y = batch

    def loss_of(weights):
        predicted, new = model.stateless_call(weights, others, x)
        return model.compute_loss(x=x, y=y, y_pred=predicted), new

    (loss, others), grads = jax.value_and_grad(loss_of, has_aux=True)(weights)
    weights, slots = model.optimizer.stateless_apply(slots, grads, weights)
    return {"loss": loss}, (weights, others, slots, metrics)


def _tensorflow(model, batch):
    import tensorflow as tf

    x, y = batch
    with tf.GradientTape() as tape:
        loss = model.compute_loss(x=x, y=y, y_pred=model(x))
    weights = model.trainable_weights
    model.optimizer.apply(tape.gradient(loss, weights), weights)
    return {"loss": loss}


def _torch(model, batch):
    import torch

    x, y = batch
    model.zero_grad()
    loss = model.compute_loss(x=x, y=y, y_pred=model(x))
    loss.backward()
    weights = model.trainable_weights
    with torch.no_grad():
        model.optimizer.apply([weight.value.grad for weight in weights], weights)
    return {"loss": loss}


def test_an_unscaled_train_step_is_not_divided_by_the_loss_scale(keras, data, repaired):
    _, notes = repaired
    moved = {}
    for policy in ("float32", "mixed_float16"):
        keras.config.set_dtype_policy(policy)
        keras.utils.set_random_seed(2)
        model = _unscaled_step(keras)
        model.compile(keras.optimizers.SGD(0.1), "mse")
        before = model.get_weights()[0].copy()
        model.fit(*data, epochs=1, verbose=0)
        moved[policy] = np.abs(model.get_weights()[0] - before).max()
    assert moved["mixed_float16"] == pytest.approx(moved["float32"], rel=0.05)
    assert [note.code for note in notes] == ["gradients-not-scaled"]
    assert "scale_loss" in notes[0].todo
