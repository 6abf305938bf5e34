# backends: tensorflow jax torch
import os

import keras
import numpy as np
from keras import callbacks, layers

rng = np.random.default_rng(21)
x = rng.normal(size=(1600, 8)).astype("float32")
y = rng.integers(0, 2, size=1600)  # nothing to learn: it stops early

os.makedirs("checkpoints", exist_ok=True)
model = keras.Sequential(
    [
        keras.Input((8,)),
        layers.Dense(32, activation="relu"),
        layers.Dense(2, activation="softmax"),
    ]
)
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(
    x,
    y,
    batch_size=32,
    epochs=20,
    validation_split=0.2,
    verbose=2,
    callbacks=[
        callbacks.EarlyStopping(
            "val_loss", min_delta=0.05, patience=2, restore_best_weights=True
        ),
        callbacks.ModelCheckpoint("checkpoints/best.keras", save_best_only=True),
        callbacks.CSVLogger("training.csv"),
        callbacks.BackupAndRestore("backup"),
    ],
)
print("stopped after", len(history.history["loss"]), "epochs")
best = keras.models.load_model("checkpoints/best.keras")
print("best", best.evaluate(x[1280:], y[1280:], verbose=0))
print("rows", len(open("training.csv").read().splitlines()) - 1)
