# backends: tensorflow jax torch
# arguments: --epochs 2
import argparse
import sys

import keras

from . import data


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=1)
    epochs = parser.parse_args().epochs
    x, y = data.load()
    model = keras.Sequential([keras.layers.Dense(16, "relu"), keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
    model.fit(x, y, batch_size=32, epochs=epochs, verbose=2)
    print(__name__, __package__, sys.argv[1:])


if __name__ == "__main__":
    main()
