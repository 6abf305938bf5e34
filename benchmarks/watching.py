"""What being watched costs: one `fit` with and without the watcher, in turn.

Each block is ABBA inside one process (plain, watched, watched, plain), so that drift
cancels; the figure is the median over blocks of the ratio of the time of an epoch, with
its exact 95 % interval (order statistics): a pause of the machine hits one block, not
the figure. The bar is an upper end of at most 1.01. One process a backend, on one core
and one thread, because threads that wait for each other are most of the noise here; a
block still spreads by 3 to 6 %, which is why it takes hundreds.

Before it the same with a model of five weights, where the step is short enough to see
the cost itself: microseconds a step, and milliseconds an epoch.

    ./dev bench watching [--blocks 600] [--steps 30] [--batch 8] [--backend jax]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time


BACKENDS = ("tensorflow", "jax", "torch")
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "TF_NUM_INTRAOP_THREADS": "1",
    "TF_NUM_INTEROP_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    "TF_CPP_MIN_LOG_LEVEL": "2",
}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--blocks", type=int, default=600)
    parser.add_argument("--steps", type=int, default=30, help="in an epoch")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--backend", choices=BACKENDS)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child:
        return measure(chosen)
    codes = [
        subprocess.run(
            [
                *(sys.executable, __file__, "--child", "--backend", each),
                *("--blocks", str(chosen.blocks), "--steps", str(chosen.steps)),
                *("--batch", str(chosen.batch)),
            ],
            env={**os.environ, **ONE_THREAD, "KERAS_BACKEND": each},
            check=False,
        ).returncode
        for each in ([chosen.backend] if chosen.backend else BACKENDS)
    ]
    return max(codes)


def measure(chosen: argparse.Namespace) -> int:
    name, blocks, steps = chosen.backend, chosen.blocks, chosen.steps
    os.environ["KERAS_BACKEND"] = name
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    import keras
    import numpy as np

    _show_cost(keras, np, name)
    model, data, clock = _training(keras, np, chosen)
    pairs = _alternate(keras, model, data, clock, blocks)
    first = pairs[-1][0] / 2
    logs = [float(np.log(watched / plain)) for plain, watched in pairs]
    low, middle, high = (float(np.exp(value)) for value in _median_interval(logs))
    print(
        f"{name:10}  watched / plain  {middle:.4f} [{low:.4f} … {high:.4f}]  "
        f"{blocks} blocks, {steps} steps of {1000 * first / steps:.1f} ms, "
        f"batch {chosen.batch}",
        flush=True,
    )
    return 0 if high <= 1.01 else 1


def _alternate(keras, model, data, clock, blocks):
    """The seconds of two plain and of two watched epochs, block by block."""
    pairs = []
    for _ in range(3 + blocks):
        plain = _plain(model, data, clock)
        watched = _watched(keras, model, data, clock)
        watched += _watched(keras, model, data, clock)
        pairs.append((plain + _plain(model, data, clock), watched))
    return pairs[3:]


def _show_cost(keras, np, name) -> None:
    """Prints what a step and an epoch cost, from epochs of 1 and of 400 tiny steps."""
    cost = {}
    for steps in (1, 400):
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        x, y = np.zeros((steps, 4), "float32"), np.zeros((steps, 1), "float32")
        data = {"x": x, "y": y, "batch_size": 1, "verbose": 0}
        pairs = _alternate(keras, model, data, _clock(keras), 40)
        cost[steps] = float(np.median([(b - a) / 2 for a, b in pairs]))
    step = (cost[400] - cost[1]) / 399
    print(
        f"{name:10}  {1e6 * step:.0f} us a step, {1e3 * (cost[1] - step):.2f} ms an "
        "epoch",
        flush=True,
    )


def _median_interval(values):
    """The median and the pair of order statistics that covers it with 95 %."""
    from scipy.stats import binom

    ordered = sorted(values)
    count = len(ordered)
    rank = int(binom.ppf(0.025, count, 0.5)) - 1
    return ordered[rank], ordered[count // 2], ordered[count - 1 - rank]


def _training(keras, np, chosen):
    """The CNN of the examples on random images, and a callback that times its epoch."""
    samples = chosen.steps * chosen.batch
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
    x = generator.random((samples, 32, 32, 3), dtype="float32")
    y = generator.integers(0, 10, samples)
    data = {"x": x, "y": y, "batch_size": chosen.batch, "verbose": 0}
    return model, data, _clock(keras)


def _clock(keras):
    class Clock(keras.callbacks.Callback):
        seconds = 0.0

        def on_epoch_begin(self, epoch, logs=None):
            self.began = time.perf_counter()

        def on_epoch_end(self, epoch, logs=None):
            float(logs["loss"])  # the device is done when the number is there
            self.seconds = time.perf_counter() - self.began

    return Clock()


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
