# backends: tensorflow jax torch
"""One body, a class and a value as outputs."""

import keras
import numpy as np

rng = np.random.default_rng(1)
x = rng.normal(size=(1280, 12)).astype("float32")
kind = x[:, :3].argmax(axis=1)
value = x[:, 3:6].sum(axis=1, keepdims=True)

inputs = keras.Input((12,))
hidden = keras.layers.Dense(32, activation="relu", name="body")(inputs)
hidden = keras.layers.BatchNormalization()(hidden)
kind_output = keras.layers.Dense(3, activation="softmax", name="kind")(hidden)
value_output = keras.layers.Dense(1, name="value")(hidden)
model = keras.Model(inputs=inputs, outputs=[kind_output, value_output])

model.compile(
    optimizer=keras.optimizers.Adam(1e-3),
    loss=["sparse_categorical_crossentropy", "mse"],
    metrics=[["accuracy"], ["mae"]],
)
history = model.fit(x, [kind, value], batch_size=32, epochs=3, verbose=2)
print({name: round(values[-1], 3) for name, values in history.history.items()})
