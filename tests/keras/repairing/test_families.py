"""The three classic checks after `enable("mixed_float16")`.

They are the global policy, a middle layer that computes in float16 over float32
variables, and float32 outputs under a wrapped optimizer.
"""

import numpy as np
import pytest

import betterhalf


@pytest.fixture(autouse=True)
def enabled(keras):
    with betterhalf.enable("mixed_float16"):
        yield


def _check(keras, model, x, y=None, loss="mse"):
    model.compile("adam", loss)
    assert keras.config.dtype_policy().name == "mixed_float16"
    if y is not None:
        model.fit(x, y, epochs=1, verbose=0)
    outputs = keras.tree.flatten(model.predict(x, verbose=0))
    assert {str(output.dtype) for output in outputs} == {"float32"}
    computed = [each.compute_dtype for each in model._flatten_layers()]
    assert "float16" in computed
    floating = {each.dtype for each in model.weights if "int" not in each.dtype}
    assert floating == {"float32"}
    assert isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)


SMALL = {
    "MobileNetV2": {"input_shape": (32, 32, 3), "alpha": 0.35},
    "DenseNet121": {"input_shape": (32, 32, 3)},
    "ResNet50": {"input_shape": (32, 32, 3)},
}
LARGE = (
    "ConvNeXtTiny",
    "EfficientNetB0",
    "EfficientNetV2B0",
    "InceptionResNetV2",
    "InceptionV3",
    "MobileNet",
    "MobileNetV3Small",
    "NASNetMobile",
    "ResNet50V2",
    "VGG16",
    "Xception",
)


@pytest.mark.parametrize("family", SMALL)
def test_a_family_of_applications_is_put_right(keras, family):
    options = SMALL[family]
    model = getattr(keras.applications, family)(weights=None, classes=5, **options)
    model.compile("adam", "categorical_crossentropy")
    assert [output.compute_dtype for output in _last(model)] == ["float32"]
    assert isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)
    assert model.layers[len(model.layers) // 2].compute_dtype == "float16"
    assert model.layers[len(model.layers) // 2].variable_dtype == "float32"


def _last(model):
    return [tensor._keras_history[0] for tensor in model.outputs]


@pytest.mark.long
@pytest.mark.parametrize("family", [*SMALL, *LARGE])
def test_every_family_of_applications_is_put_right(keras, family):
    if (family, keras.backend.backend()) == ("NASNetMobile", "torch"):
        pytest.skip("keras.applications refuses NASNetMobile on torch")
    model = getattr(keras.applications, family)(
        weights=None, classes=5, input_shape=(96, 96, 3)
    )
    _check(keras, model, np.ones((1, 96, 96, 3), "float32"))


def test_a_cnn(keras):
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((8, 8, 3)),
            layers.Rescaling(1 / 255),
            layers.Conv2D(4, 3, activation="relu"),
            layers.BatchNormalization(),
            layers.GlobalAveragePooling2D(),
            layers.Dense(3),
            layers.Softmax(),
        ]
    )
    x = np.ones((8, 8, 8, 3), "float32")
    _check(keras, model, x, np.eye(3)[[0, 1, 2, 0, 1, 2, 0, 1]])


def test_a_transformer(keras):
    layers = keras.layers
    tokens = keras.Input((6,), dtype="int32")
    x = layers.Embedding(50, 8, mask_zero=True)(tokens)
    attended = layers.MultiHeadAttention(2, 4)(x, x)
    x = layers.LayerNormalization()(x + attended)
    x = layers.GlobalAveragePooling1D()(x)
    model = keras.Model(tokens, layers.Dense(2, activation="softmax")(x))
    ids = np.arange(24).reshape(4, 6)
    _check(keras, model, ids, np.eye(2)[[0, 1, 0, 1]])


def test_an_rnn(keras):
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((5, 3)),
            layers.Masking(-999.1),
            layers.Bidirectional(layers.LSTM(4, return_sequences=True)),
            layers.GRU(4),
            layers.Dense(1),
        ]
    )
    _check(keras, model, np.ones((4, 5, 3), "float32"), np.ones((4, 1), "float32"))


def test_a_model_of_several_outputs(keras):
    layers = keras.layers
    inputs = keras.Input((4,))
    hidden = layers.Dense(8)(inputs)
    outputs = {
        "kind": layers.Activation("softmax")(layers.Dense(3, name="logits")(hidden)),
        "value": layers.Dense(1)(hidden),
    }
    model = keras.Model(inputs, outputs)
    y = {"kind": np.ones((4, 3)) / 3, "value": np.ones((4, 1))}
    _check(
        keras,
        model,
        np.ones((4, 4), "float32"),
        y,
        {"kind": "categorical_crossentropy", "value": "mse"},
    )


def test_a_recommender(keras):
    class Recommender(keras.Model):
        def __init__(self):
            super().__init__()
            self.users = keras.layers.Embedding(4000, 4)
            self.items = keras.layers.Embedding(4000, 4)
            self.dot = keras.layers.Dot(axes=1)
            self.mix = keras.layers.Dense(4)
            self.last = keras.layers.Dense(1)

        def call(self, pairs):
            user, item = self.users(pairs[:, 0]), self.items(pairs[:, 1])
            return self.last(self.mix(self.dot([user, item])))

    x = np.array([[3001.0, 2999.0], [5.0, 7.0]], "float32")
    _check(keras, Recommender(), x, np.ones((2, 1), "float32"))


def test_a_gan(keras):
    layers = keras.layers
    critic = keras.Sequential(
        [
            keras.Input((6,)),
            layers.SpectralNormalization(layers.Dense(8)),
            layers.LeakyReLU(),
            layers.Dense(1),
        ]
    )
    maker = keras.Sequential([keras.Input((2,)), layers.Dense(8), layers.Dense(6)])

    class Gan(keras.Model):
        def __init__(self):
            super().__init__()
            self.maker, self.critic = maker, critic

        def call(self, noise):
            return self.critic(self.maker(noise))

    x = np.ones((4, 2), "float32")
    _check(keras, Gan(), x, np.ones((4, 1), "float32"))
