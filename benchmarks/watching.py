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
import sys

from timing.pairs import (
    BACKENDS,
    alternate,
    keep_to_one_core,
    make_clock,
    ratio_interval,
    run_children,
)


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
    sizes = ("blocks", "steps", "batch")
    told = [text for each in sizes for text in (f"--{each}", str(vars(chosen)[each]))]
    return run_children(__file__, chosen.backend, told)


def measure(chosen: argparse.Namespace) -> int:
    name, blocks, steps = chosen.backend, chosen.blocks, chosen.steps
    os.environ["KERAS_BACKEND"] = name
    keep_to_one_core()
    import keras
    import numpy as np

    _show_cost(keras, np, name)
    model, data, clock = _training(keras, np, chosen)
    pairs = _alternate(keras, model, data, clock, blocks)
    first = pairs[-1][0] / 2
    low, middle, high = ratio_interval(pairs)
    print(
        f"{name:10}  watched / plain  {middle:.4f} [{low:.4f} … {high:.4f}]  "
        f"{blocks} blocks, {steps} steps of {1000 * first / steps:.1f} ms, "
        f"batch {chosen.batch}",
        flush=True,
    )
    return 0 if high <= 1.01 else 1


def _alternate(keras, model, data, clock, blocks):
    return alternate(
        lambda: _plain(model, data, clock),
        lambda: _watched(keras, model, data, clock),
        blocks,
        warm_up=3,
    )


def _show_cost(keras, np, name) -> None:
    """Prints what a step and an epoch cost, from epochs of 1 and of 400 tiny steps."""
    cost = {}
    for steps in (1, 400):
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        x, y = np.zeros((steps, 4), "float32"), np.zeros((steps, 1), "float32")
        data = {"x": x, "y": y, "batch_size": 1, "verbose": 0}
        pairs = _alternate(keras, model, data, make_clock(keras), 40)
        cost[steps] = float(np.median([(b - a) / 2 for a, b in pairs]))
    step = (cost[400] - cost[1]) / 399
    print(
        f"{name:10}  {1e6 * step:.0f} us a step, {1e3 * (cost[1] - step):.2f} ms an "
        "epoch",
        flush=True,
    )


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
    return model, data, make_clock(keras)


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
