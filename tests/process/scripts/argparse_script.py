# backends: tensorflow jax torch
# arguments: --data data/readings.csv --epochs 2
import argparse
from pathlib import Path

import keras
import numpy as np


def parse_arguments():
    parser = argparse.ArgumentParser(description="Trains on a table of readings.")
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=32)
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    table = np.loadtxt(arguments.data, delimiter=",", skiprows=1, dtype="float32")
    x, y = table[:, :-1], table[:, -1]
    model = keras.Sequential(
        [
            keras.layers.Normalization(),
            keras.layers.Dense(16, activation="relu"),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.layers[0].adapt(x)
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    model.fit(
        x, y, batch_size=arguments.batch_size, epochs=arguments.epochs, verbose=2
    )
    print("accuracy on", arguments.data, model.evaluate(x, y, verbose=0)[1])


if __name__ == "__main__":
    main()
