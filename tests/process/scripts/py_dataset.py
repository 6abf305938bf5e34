# backends: tensorflow jax torch
import math

import keras
import numpy as np


class Batches(keras.utils.PyDataset):
    def __init__(self, x, y, batch_size, **kwargs):
        super().__init__(**kwargs)
        self.x, self.y, self.batch_size = x, y, batch_size

    def __len__(self):
        return math.ceil(len(self.x) / self.batch_size)

    def __getitem__(self, index):
        part = slice(index * self.batch_size, (index + 1) * self.batch_size)
        return self.x[part], self.y[part]


def build_model(features, classes):
    inputs = keras.Input(shape=(features,))
    x = keras.layers.Dense(24, activation="tanh")(inputs)
    x = keras.layers.Dropout(0.1)(x)
    outputs = keras.layers.Dense(classes, activation="softmax")(x)
    return keras.Model(inputs, outputs)


if __name__ == "__main__":
    rng = np.random.default_rng(6)
    x = rng.normal(size=(1300, 6)).astype("float32")  # the last batch is smaller
    y = x[:, :4].argmax(axis=1)
    model = build_model(6, 4)
    model.compile(
        optimizer="rmsprop", loss="sparse_categorical_crossentropy", metrics=["acc"]
    )
    model.fit(Batches(x, y, 32, workers=2), epochs=3, verbose=2)
    print("evaluated", model.evaluate(Batches(x, y, 64), return_dict=True, verbose=0))
