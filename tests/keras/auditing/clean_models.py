"""Models of every shape, made right by hand with Keras alone: nothing is wrong here.

Each function builds and compiles one under the global policy in force and returns it
with a batch. `last` is what an output layer is given: `dtype="float32"` by hand, and
nothing where `betterhalf.enable` is to see to it.
"""

import numpy as np


def cnn(keras, **last):
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((16, 16, 3)),
            layers.Rescaling(1 / 255, dtype="float32"),
            layers.Conv2D(4, 3, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.MaxPooling2D(),
            layers.SpatialDropout2D(0.1),
            layers.GlobalAveragePooling2D(),
            layers.Dense(8, activation="softmax", **last),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    x = np.random.default_rng(0).uniform(0, 255, (8, 16, 16, 3)).astype("float32")
    return model, (x, np.arange(8))


def transformer(keras, **last):
    layers = keras.layers
    tokens = keras.Input((8,), dtype="int32")
    x = layers.Embedding(5000, 16)(tokens)
    attended = layers.MultiHeadAttention(2, 8)(x, x)
    x = layers.LayerNormalization(epsilon=1e-6)(layers.Add()([x, attended]))
    x = x + layers.Dense(16, activation="gelu")(x)
    x = layers.GlobalAveragePooling1D()(x)
    outputs = layers.Dense(8, **last)(x)
    model = keras.Model(tokens, outputs)
    model.compile(
        keras.optimizers.AdamW(1e-3, clipnorm=1.0),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["sparse_categorical_accuracy"],
    )
    return model, (np.arange(32).reshape(4, 8) * 150, np.arange(4))


def rnn(keras, **last):
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((6, 8)),
            layers.Bidirectional(layers.LSTM(8, return_sequences=True)),
            layers.GRU(8),
            layers.Dense(1, activation="sigmoid", **last),
        ]
    )
    model.compile("rmsprop", "binary_crossentropy", metrics=["accuracy"])
    x = np.random.default_rng(0).normal(size=(4, 6, 8)).astype("float32")
    return model, (x, np.array([[0], [1], [1], [0]], "float32"))


def outputs(keras, **last):
    layers = keras.layers
    inputs = keras.Input((8,))
    hidden = layers.Dense(16, activation="relu")(inputs)
    hidden = layers.Dropout(0.2)(hidden)
    made = {
        "kind": layers.Dense(8, activation="softmax", name="kind", **last)(hidden),
        "value": layers.Dense(1, name="value", **last)(hidden),
    }
    model = keras.Model(inputs, made)
    model.compile(
        "adam",
        {"kind": "categorical_crossentropy", "value": "mse"},
        metrics={"kind": ["accuracy"], "value": ["mae"]},
    )
    x = np.random.default_rng(0).normal(size=(8, 8)).astype("float32")
    return model, (x, {"kind": np.eye(8), "value": x[:, :1]})


def recommender(keras, **last):
    class Recommender(keras.Model):
        def __init__(self):
            super().__init__()
            self.users = keras.layers.Embedding(4000, 8)
            self.items = keras.layers.Embedding(4000, 8)
            self.dot = keras.layers.Dot(axes=1)
            self.join = keras.layers.Concatenate()
            self.mix = keras.layers.Dense(8, activation="relu")
            self.last = keras.layers.Dense(1, **last)

        def call(self, pairs):
            user, item = self.users(pairs[:, 0]), self.items(pairs[:, 1])
            return self.last(self.mix(self.join([self.dot([user, item]), user, item])))

    model = Recommender()
    model.compile("adam", "mse")
    x = np.array([[3001, 2999], [5, 7], [3500, 1], [8, 9]], "int32")
    return model, (x, np.ones((4, 1), "float32"))


SHAPES = (cnn, transformer, rnn, outputs, recommender)
