# backends: tensorflow jax torch
import keras
import numpy as np


def batches(seed, size=32):
    rng = np.random.default_rng(seed)
    while True:
        x = rng.uniform(-1, 1, size=(size, 20, 3)).astype("float32")
        yield x, x.mean(axis=(1, 2))[:, None]


model = keras.Sequential(
    [
        keras.Input((20, 3)),
        keras.layers.Conv1D(8, 5, activation="relu"),
        keras.layers.GlobalMaxPooling1D(),
        keras.layers.Dense(1),
    ]
)
model.compile(optimizer="adam", loss="mae")
history = model.fit(
    batches(9),
    steps_per_epoch=40,
    epochs=3,
    validation_data=batches(10),
    validation_steps=5,
    verbose=2,
)
print("best val loss", min(history.history["val_loss"]))
