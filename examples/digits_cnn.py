"""Trains a small convolutional network on 1,797 handwritten digits, kept beside it."""

from pathlib import Path

import keras
import numpy as np
from keras import layers


with np.load(Path(__file__).with_name("digits.npz")) as digits:
    images, labels = digits["images"], digits["labels"]

# 8x8 pixels from 0 to 16 become 32x32 pixels of three equal channels from 0 to 1.
images = images.repeat(4, axis=1).repeat(4, axis=2)
images = np.stack([images] * 3, axis=-1).astype("float32") / 16.0

order = np.random.default_rng(0).permutation(len(images))
train, test = order[:1437], order[1437:]

model = keras.Sequential(
    [
        keras.Input(shape=(32, 32, 3)),
        layers.Conv2D(32, 3, activation="relu"),
        layers.Conv2D(32, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(64, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(128, activation="relu"),
        layers.Dense(10, activation="softmax", dtype="float32"),
    ]
)
model.compile(
    optimizer="adam",
    loss="sparse_categorical_crossentropy",
    metrics=["accuracy"],
)
model.fit(images[train], labels[train], batch_size=32, epochs=15, validation_split=0.1)

loss, accuracy = model.evaluate(images[test], labels[test], verbose=0)
print(f"test loss {loss:.4f}, test accuracy {accuracy:.4f}")
