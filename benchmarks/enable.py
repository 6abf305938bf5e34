"""What `enable` costs: building and compiling a ResNet-50, and a training step.

Each figure is the median over blocks of ABBA inside one process, with its exact 95 %
interval (order statistics); one process a backend, on one core and one thread.

- `build`: make and compile `keras.applications.ResNet50` under `mixed_bfloat16`, set
  by Keras or by `enable`, which is called and undone inside the clock. The bar is a
  median of at most 1.01.
- `step`: an epoch of a small network in which nothing is repaired. The bar is that 1 is
  inside the interval, or the median at most 1.005.
- `statistics`: an epoch of the same network with batch normalization under
  `mixed_float16`, with the repair `finite-state` and without that repair alone. No bar:
  it is what it costs that a skipped step cannot poison a statistic.

    ./dev bench enable [--blocks 20] [--epochs 100] [--backend jax]
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings

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
    parser.add_argument("--blocks", type=int, default=20, help="of building")
    parser.add_argument("--epochs", type=int, default=100, help="blocks of training")
    parser.add_argument("--backend", choices=BACKENDS)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if not chosen.child:
        told = ["--blocks", str(chosen.blocks), "--epochs", str(chosen.epochs)]
        return run_children(__file__, chosen.backend, told)
    keep_to_one_core()
    warnings.simplefilter("ignore")  # that layers exist already: the plain ones
    import keras

    building = show(chosen.backend, "build", time_building(keras, chosen.blocks))
    step = show(chosen.backend, "step", time_steps(keras, chosen.epochs))
    show(chosen.backend, "statistics", time_statistics(keras, chosen.epochs))
    met = building[1] <= 1.01 and (step[0] <= 1 or step[1] <= 1.005)
    return 0 if met else 1


def show(backend, name, pairs):
    """Prints one figure and returns its interval."""
    low, middle, high = ratio_interval(pairs)
    seconds = sorted(plain / 2 for plain, _ in pairs)[len(pairs) // 2]
    print(
        f"{backend:10}  {name:10}  {middle:.4f} [{low:.4f} … {high:.4f}]  "
        f"{len(pairs)} blocks of {1000 * seconds:.0f} ms",
        flush=True,
    )
    return low, middle, high


def time_building(keras, blocks):
    import betterhalf

    def build():
        model = keras.applications.ResNet50(weights=None, input_shape=(64, 64, 3))
        model.compile("adam", "categorical_crossentropy")

    def plain():
        keras.utils.clear_session()
        began = time.perf_counter()
        keras.config.set_dtype_policy("mixed_bfloat16")
        build()
        return time.perf_counter() - began

    def enabled():
        keras.utils.clear_session()
        began = time.perf_counter()
        with betterhalf.enable("mixed_bfloat16"):
            build()
        return time.perf_counter() - began

    pairs = alternate(plain, enabled, blocks, warm_up=1)
    keras.config.set_dtype_policy("float32")
    return pairs


def time_steps(keras, epochs):
    """Epochs of a network whose head is float32 by hand: nothing to repair."""
    import betterhalf

    keras.config.set_dtype_policy("mixed_bfloat16")
    plain_model = make_network(keras, normalized=False)
    with betterhalf.enable("mixed_bfloat16"):
        model = make_network(keras, normalized=False)
        made = betterhalf.repairs(model)
    if made:
        raise SystemExit(f"expected a network without repairs. Received: {made}")
    fit = make_fit(keras)

    def enabled():
        with betterhalf.enable("mixed_bfloat16"):
            return fit(model)

    return alternate(lambda: fit(plain_model), enabled, epochs, warm_up=3)


def time_statistics(keras, epochs):
    """Epochs with and without the repair of moving averages, all else as enabled."""
    import betterhalf
    from betterhalf.repairing import finite_state

    place = finite_state.place
    fit = make_fit(keras)

    def make(placed):
        finite_state.place = placed
        try:
            with betterhalf.enable("mixed_float16"):
                return make_network(keras, normalized=True)
        finally:
            finite_state.place = place

    def run(model, placed):
        finite_state.place = placed
        try:
            with betterhalf.enable("mixed_float16"):
                return fit(model)
        finally:
            finite_state.place = place

    def leave_out(*_):
        """Patches nothing."""

    without, repaired = make(leave_out), make(place)
    return alternate(
        lambda: run(without, leave_out),
        lambda: run(repaired, place),
        epochs,
        warm_up=3,
    )


def make_network(keras, normalized):
    layers = keras.layers
    keras.utils.clear_session()
    middle = []
    for _ in range(8):
        middle.append(layers.Dense(64, activation="relu"))
        if normalized:
            middle.append(layers.BatchNormalization())
    last = layers.Dense(8, dtype="float32")
    model = keras.Sequential([keras.Input((64,)), *middle, last])
    model.compile("adam", "mse")
    return model


def make_fit(keras):
    """A function that trains a network for one epoch of 40 steps; seconds of it."""
    import numpy as np

    x, y = np.zeros((1280, 64), "float32"), np.zeros((1280, 8), "float32")
    clock = make_clock(keras)

    def fit(model):
        model.fit(x, y, batch_size=32, verbose=0, callbacks=[clock])
        return clock.seconds

    return fit


if __name__ == "__main__":
    sys.exit(main())
