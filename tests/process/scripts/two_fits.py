# backends: tensorflow jax torch
"""A short warm-up, the real training, and a second model that learns from the first."""

import keras
import numpy as np
from keras import layers, ops

rng = np.random.default_rng(12)
x = rng.normal(size=(1280, 8)).astype("float32")
y = np.sin(x[:, :1])

base = keras.Sequential([keras.Input((8,)), layers.Dense(32, activation="relu")])
model = keras.Sequential([base, layers.Dense(1)], name="student")

base.trainable = False
model.compile(optimizer=keras.optimizers.Adam(1e-2), loss="mse")
model.fit(x[:640], y[:640], epochs=1, verbose=2)

base.trainable = True
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse", metrics=["mae"])
model.fit(x, y, epochs=3, validation_data=(x[:128], -y[:128]), verbose=2)

made = ops.convert_to_numpy(model(x[:320]))
critic = keras.Sequential(
    [layers.Dense(8, activation="relu"), layers.Dense(1, activation="sigmoid")],
    name="critic",
)
critic.compile("adam", "binary_crossentropy")
critic.fit(
    np.concatenate([made, y[:320]]).astype("float32"),
    np.repeat([0.0, 1.0], 320),
    epochs=1,
    verbose=2,
)
print("model", model.evaluate(x, y, verbose=0))
