"""What being watched costs: one `fit` with and without the watcher, in turn.

Each block is ABBA inside one process (plain, watched, watched, plain), so that drift
cancels; the figure is the median over blocks of the ratio of the time of an epoch, with
its exact 95 % interval (order statistics): a pause of the machine hits one block, not
the figure. The bar is an upper end of at most 1.01. One process a backend.

    ./dev bench watching [--blocks 40] [--backend jax]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time


BACKENDS = ("tensorflow", "jax", "torch")
STEPS = 200


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--blocks", type=int, default=40)
    parser.add_argument("--backend", choices=BACKENDS)
    chosen = parser.parse_args()
    if chosen.backend:
        return measure(chosen.backend, chosen.blocks)
    codes = [
        subprocess.run(
            [
                sys.executable,
                __file__,
                "--backend",
                each,
                "--blocks",
                str(chosen.blocks),
            ],
            env={**os.environ, "KERAS_BACKEND": each, "TF_CPP_MIN_LOG_LEVEL": "2"},
            check=False,
        ).returncode
        for each in BACKENDS
    ]
    return max(codes)


def measure(name: str, blocks: int) -> int:
    os.environ["KERAS_BACKEND"] = name
    import keras
    import numpy as np

    model, data, clock = _training(keras, np)
    for _ in range(3):
        _watched(keras, model, data, clock)
        _plain(model, data, clock)
    logs = []
    for _ in range(blocks):
        first = _plain(model, data, clock)
        watched = _watched(keras, model, data, clock)
        watched += _watched(keras, model, data, clock)
        plain = first + _plain(model, data, clock)
        logs.append(float(np.log(watched / plain)))
    low, middle, high = (float(np.exp(value)) for value in _median_interval(logs))
    step = 1000 * first / STEPS
    print(
        f"{name:10}  watched / plain  {middle:.4f} [{low:.4f} … {high:.4f}]  "
        f"{blocks} blocks, {step:.1f} ms a step",
        flush=True,
    )
    return 0 if high <= 1.01 else 1


def _median_interval(values):
    """The median and the pair of order statistics that covers it with 95 %."""
    from scipy.stats import binom

    ordered = sorted(values)
    count = len(ordered)
    rank = int(binom.ppf(0.025, count, 0.5)) - 1
    return ordered[rank], ordered[count // 2], ordered[count - 1 - rank]


def _training(keras, np):
    """The CNN of the examples on random images, and a callback that times its epoch."""
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((32, 32, 3)),
            layers.Conv2D(32, 3, activation="relu"),
            layers.Conv2D(32, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy")
    generator = np.random.default_rng(0)
    batch = 2
    x = generator.random((STEPS * batch, 32, 32, 3), dtype="float32")
    y = generator.integers(0, 10, STEPS * batch)

    class Clock(keras.callbacks.Callback):
        seconds = 0.0

        def on_epoch_begin(self, epoch, logs=None):
            self.began = time.perf_counter()

        def on_epoch_end(self, epoch, logs=None):
            float(logs["loss"])  # the device is done when the number is there
            self.seconds = time.perf_counter() - self.began

    return model, {"x": x, "y": y, "batch_size": batch, "verbose": 0}, Clock()


def _plain(model, data, clock) -> float:
    model.fit(**data, callbacks=[clock])
    return clock.seconds


def _watched(keras, model, data, clock) -> float:
    from betterhalf import backends
    from betterhalf.keras_seams import install
    from betterhalf.records.instructions import Instructions
    from betterhalf.worker.trainings import TrainingWatcher
    from betterhalf.worker.writing import EventWriter

    instructions = Instructions(
        policy="float32", backend=None, events=os.devnull, folder=""
    )
    watcher = TrainingWatcher(
        keras,
        backends.load(keras.backend.backend()),
        instructions,
        EventWriter(os.devnull),
    )
    installation = install(keras, [watcher])
    try:
        model.fit(**data, callbacks=[clock])
    finally:
        installation.remove()
        watcher.stop()
    return clock.seconds


if __name__ == "__main__":
    sys.exit(main())
