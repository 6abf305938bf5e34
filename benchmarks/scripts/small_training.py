"""Trains a very small network on the digits, in seconds: for controls of the verdict.

It sets no seed: with one, both arms of an A/A experiment would train the very same
network in each block, and accuracy could not differ. As many digits are held out as are
trained on, so that it is resolved as well as it can be.
"""

from pathlib import Path

import keras
import numpy as np
from keras import layers


DIGITS = Path(__file__).parents[2] / "examples" / "digits.npz"

with np.load(DIGITS) as digits:
    images, labels = digits["images"], digits["labels"]
images = images[..., None].astype("float32") / 16.0
order = np.random.default_rng(0).permutation(len(images))
train, test = order[:897], order[897:]

model = keras.Sequential(
    [
        keras.Input(shape=(8, 8, 1)),
        layers.Conv2D(16, 3, activation="relu"),
        layers.Conv2D(16, 3, activation="relu"),
        layers.Flatten(),
        layers.Dense(64, activation="relu"),
        layers.Dense(10, activation="softmax", dtype="float32"),
    ]
)
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(
    images[train],
    labels[train],
    batch_size=32,
    epochs=10,
    validation_data=(images[test], labels[test]),
    verbose=2,
)
