# backends: jax
import os

os.environ["KERAS_BACKEND"] = "jax"

import keras
import numpy as np

x = np.random.default_rng(13).normal(size=(1280, 6)).astype("float32")
y = np.abs(x).sum(axis=1, keepdims=True)

model = keras.Sequential()
model.add(keras.layers.Dense(16, activation="relu"))
model.add(keras.layers.Dense(1))
model.compile(optimizer="adam", loss="mse")
model.fit(x, y, epochs=3, verbose=2)
print("backend", keras.backend.backend())
