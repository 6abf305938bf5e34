"""The loss of a repaired arm is the loss of its reference, far from the data too.

On TensorFlow a float32 softmax hands its logits to the cross-entropy, which a 16-bit
head loses: the loss of one confident mistake is then 16.1 instead of 20 and its
gradient zero. Two arms that minimise different losses cannot be compared.
"""

import numpy as np
import pytest

from betterhalf.keras_seams import install
from betterhalf.repairing import Repairs


LOGIT = 20.0


@pytest.fixture
def repaired(keras):
    installation = install(keras, [Repairs(keras, lambda _: None, lambda _: None)])
    yield
    installation.remove()


def _mistaken(keras):
    """A layer that is sure of class 0, whatever it is given."""
    bias = keras.initializers.Constant([LOGIT, 0.0])
    return keras.layers.Dense(2, kernel_initializer="zeros", bias_initializer=bias)


def _sequential(keras, *head):
    return keras.Sequential([keras.Input((4,)), keras.layers.Dense(4), *head])


def _in_the_layer(keras):
    last = _mistaken(keras)
    last.activation = keras.activations.softmax
    return _sequential(keras, last)


def _in_an_activation(keras):
    return _sequential(keras, _mistaken(keras), keras.layers.Activation("softmax"))


def _in_a_softmax(keras):
    return _sequential(keras, _mistaken(keras), keras.layers.Softmax())


def _in_a_nested_model(keras):
    last = _mistaken(keras)
    last.activation = keras.activations.softmax
    return _sequential(keras, keras.Sequential([keras.Input((4,)), last]))


def _in_a_subclass(keras):
    class Classifier(keras.Model):
        def __init__(self):
            super().__init__()
            self.hidden = keras.layers.Dense(4)
            self.last = _mistaken(keras)
            self.last.activation = keras.activations.softmax

        def call(self, inputs):
            return self.last(self.hidden(inputs))

    return Classifier()


MODELS = (
    _in_the_layer,
    _in_an_activation,
    _in_a_softmax,
    _in_a_nested_model,
    _in_a_subclass,
)


def _train(keras, build, policy):
    """Returns the loss of one step on a confident mistake, and what the bias did."""
    keras.config.set_dtype_policy(policy)
    model = build(keras)
    model.compile(
        keras.optimizers.SGD(1.0),
        "sparse_categorical_crossentropy",
        auto_scale_loss=False,
    )
    x, y = np.zeros((4, 4), "float32"), np.ones(4, "int32")
    loss = model.fit(x, y, batch_size=4, verbose=0).history["loss"][0]
    bias = next(w for w in reversed(model.trainable_weights) if "bias" in w.path)
    return loss, np.asarray(bias) - [LOGIT, 0.0]


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
@pytest.mark.parametrize("build", MODELS)
def test_a_confident_mistake_costs_both_arms_the_same(keras, repaired, build, policy):
    loss, moved = _train(keras, build, policy)
    expected, expected_moved = _train(keras, build, "float32")
    assert loss == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(moved, expected_moved, atol=1e-4)
