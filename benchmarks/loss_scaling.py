"""What loss scaling costs: Adam alone, under Keras's class and under ours, in turn.

Each block runs every kind once, in a fresh process and in an order that turns with the
block; the figure is the median over blocks of the ratio to Adam alone in the same
block, with the smallest and the largest (of 7 they cover the median with 98 %). Two
trainings: 61 Dense layers of 64 units (many small gradients), and an embedding table of
6.4 million parameters (one large gradient). The models are float32, because what is
measured is the optimizer. Each process has one core and one thread: threads that wait
for each other are most of the noise (with two, blocks spread from 0.84 to 1.41).

The fourth kind, `check`, is the bound: Adam alone, and one check of all gradients whose
verdict nobody waits for. The bar is 1.05, or where that is beyond the bound, 1.25 times
what the bound costs.

With `--resnet`, the same for a step of ResNet-50 (25.6 million parameters, batch 8).

    ./dev bench loss_scaling [--blocks 7] [--backend jax] [--resnet]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys

from timing.pairs import BACKENDS, ONE_THREAD, keep_to_one_core, make_clock


KINDS = ("none", "check", "ours", "keras")
STEPS = {"dense": (60, 32), "table": (12, 64), "resnet": (3, 8)}
EPOCHS = 5


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--blocks", type=int, default=7)
    parser.add_argument("--backend", choices=BACKENDS)
    parser.add_argument("--resnet", action="store_true")
    parser.add_argument("--trial", nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.trial:
        print(measure(*chosen.trial))
        return 0
    cases = ("resnet",) if chosen.resnet else ("dense", "table")
    backends = (chosen.backend,) if chosen.backend else BACKENDS
    met = [compare(each, case, chosen.blocks) for each in backends for case in cases]
    return 0 if all(met) else 1


def compare(backend: str, case: str, blocks: int) -> bool:
    """Prints the figures of one training and returns whether the bar is met."""
    seconds: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for block in range(blocks):
        turn = block % len(KINDS)
        for kind in KINDS[turn:] + KINDS[:turn]:
            seconds[kind].append(run_trial(backend, case, kind))
    ratios = {}
    for kind in KINDS[1:]:
        each = [
            one / base for one, base in zip(seconds[kind], seconds["none"], strict=True)
        ]
        ratios[kind] = statistics.median(each)
        print(
            f"{backend:10}  {case:6}  {kind:5} / none  {ratios[kind]:.3f} "
            f"[{min(each):.3f} … {max(each):.3f}]  {blocks} blocks, "
            f"{1000 * statistics.median(seconds[kind]):.2f} ms a step",
            flush=True,
        )
    bound = 1 + 1.25 * (ratios["check"] - 1)
    return ratios["ours"] <= max(1.05, bound)


def run_trial(backend: str, case: str, kind: str) -> float:
    """The seconds of a step, measured in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--trial", case, kind],
        env={**os.environ, **ONE_THREAD, "KERAS_BACKEND": backend},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return float(done.stdout.split()[-1])


def measure(case: str, kind: str) -> float:
    import keras

    keras.utils.set_random_seed(0)
    steps, batch = STEPS[case]
    model, x, y = make_training(keras, case, steps * batch)
    model.compile(wrap(keras, keras.optimizers.Adam(1e-4), kind), "mse")
    keep_to_one_core()
    clock, times = make_clock(keras), []
    note = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda *_: times.append(clock.seconds / steps)
    )
    arguments = {"batch_size": batch, "epochs": 1 + EPOCHS, "shuffle": False}
    model.fit(x, y, verbose=0, callbacks=[clock, note], **arguments)
    return statistics.median(times[1:])


def make_training(keras, case: str, rows: int):
    import numpy as np

    layers = keras.layers
    generator = np.random.default_rng(0)
    if case == "resnet":
        model = keras.applications.ResNet50(weights=None, classifier_activation=None)
        x = generator.random((rows, 224, 224, 3), dtype="float32")
        return model, x, np.zeros((rows, 1000), "float32")
    if case == "dense":
        middle = [layers.Dense(64, activation="relu") for _ in range(60)]
        model = keras.Sequential([keras.Input((64,)), *middle, layers.Dense(64)])
        x = generator.normal(size=(rows, 64)).astype("float32")
        return model, x, x
    model = keras.Sequential(
        [
            keras.Input((8,), dtype="int32"),
            layers.Embedding(100_000, 64),
            layers.Flatten(),
            layers.Dense(8),
        ]
    )
    x = generator.integers(0, 100_000, (rows, 8)).astype("int32")
    return model, x, generator.normal(size=(rows, 8)).astype("float32")


def wrap(keras, optimizer, kind: str):
    if kind == "none":
        return optimizer
    if kind == "keras":
        return keras.optimizers.LossScaleOptimizer(optimizer)
    from betterhalf import LossScaleOptimizer

    if kind == "ours":
        return LossScaleOptimizer(optimizer)
    return check_alone(keras, LossScaleOptimizer)(optimizer, 1.0, mode="static")


def check_alone(keras, base):
    class Checked(base):
        """Adam alone, and the verdict on its gradients, which nobody reads."""

        def scale_loss(self, loss):
            return loss

        def apply(self, grads, trainable_variables=None):
            from betterhalf.scaling.steps import Step

            if not self.built:
                self.build(list(trainable_variables))
            step = Step(self, list(grads), trainable_variables)
            _, finite = self.adapter.unscale(step)
            self.inner_optimizer.apply(grads, trainable_variables)
            self.step_counter.assign(keras.ops.cast(finite, self.step_counter.dtype))

    return Checked


if __name__ == "__main__":
    sys.exit(main())
