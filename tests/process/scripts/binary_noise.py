# backends: tensorflow jax torch
import sys

import keras
import numpy as np


class Noise(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if batch % 10 == 0:
            sys.stdout.buffer.write(bytes(range(256)) * 4 + b"\r\x1b[2J\x00\xff\n")
            sys.stdout.buffer.flush()

    def on_epoch_end(self, epoch, logs=None):
        print("x" * 2_000_000)
        print("\x1b]0;title\x07" + "\N{SNOWMAN}" * 1000, file=sys.stderr)


sys.stdout.reconfigure(errors="replace")
sys.stderr.reconfigure(errors="replace")
x = np.random.default_rng(20).normal(size=(1280, 4)).astype("float32")
model = keras.Sequential([keras.layers.Dense(8), keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")
model.fit(x, x[:, :1], epochs=3, callbacks=[Noise()])
print("quiet again")
