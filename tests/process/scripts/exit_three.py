# backends: tensorflow jax torch
# exit: 3
import sys

import keras
import numpy as np

x = np.random.default_rng(19).normal(size=(1280, 4)).astype("float32")
model = keras.Sequential([keras.layers.Dense(8), keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")
model.fit(x, x[:, :1], epochs=2, verbose=2)
print("leaving with 3")
sys.exit(3)
