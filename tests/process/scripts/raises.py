# backends: tensorflow jax torch
# exit: 1
import keras
import numpy as np


def check_range(value, limit):
    if value < limit:
        raise ValueError(f"the loss fell below {limit}: {value:.3f}")


def inspect(logs):
    check_range(logs["loss"], limit=1e6)


class Inspector(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        inspect(logs)


x = np.random.default_rng(18).normal(size=(1280, 4)).astype("float32")
model = keras.Sequential([keras.layers.Dense(8), keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")
model.fit(x, x[:, :1], epochs=3, callbacks=[Inspector()], verbose=2)
print("never printed")
