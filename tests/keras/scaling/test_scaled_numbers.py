"""The numbers of Keras's class, and thousands of steps against an independent model.

Scales are powers of two, so dividing by one is exact and the weights equal those of
Keras's class to the last bit wherever both run operation by operation. Under XLA (JAX)
the two are fused differently, and they are equal to float32 rounding.
"""

import numpy as np
import pytest

import betterhalf


SHAPES = ((3,), (4, 3), (4, 3), (5,))


def draw(generator, bad):
    gradients = [generator.normal(size=shape).astype("float32") for shape in SHAPES]
    if bad:
        spoiled = gradients[generator.integers(len(SHAPES))]
        spoiled.flat[generator.integers(spoiled.size)] = generator.choice(
            [np.inf, -np.inf, np.nan]
        )
    return gradients


def test_weights_equal_those_of_keras_s_class(keras, trainer, request):
    takers = [
        trainer(wrapper(keras.optimizers.Adam(0.05), initial_scale=2.0**10), *start())
        for wrapper in (
            betterhalf.LossScaleOptimizer,
            keras.optimizers.LossScaleOptimizer,
        )
    ]
    eager_jax = keras.backend.backend() == "jax" and "eager" in request.node.name
    if eager_jax:
        pytest.skip("Keras's class cannot")
    generator = np.random.default_rng(2)
    for number in range(60):
        gradients = draw(generator, bad=number in {7, 8, 30})
        for taker in takers:
            scale = float(taker.optimizer.dynamic_scale)
            taker.step(*[np.float32(scale) * each for each in gradients])
    ours, theirs = (taker.everything() for taker in takers)
    for one, other in zip(ours, theirs, strict=True):
        if keras.backend.backend() == "jax":
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-7)
        else:
            np.testing.assert_array_equal(one, other)


def start():
    return [np.ones(shape) for shape in SHAPES]


class Model:
    """SGD with momentum under loss scaling, written down once more in NumPy."""

    def __init__(self, interval):
        self.scale, self.good, self.bad, self.skipped = 2.0**15, 0, 0, 0
        self.interval, self.searching = interval, True
        self.weights = [np.ones(shape, "float32") for shape in SHAPES]
        self.moments = [np.zeros(shape, "float32") for shape in SHAPES]

    def step(self, gradients):
        if not all(np.isfinite(each).all() for each in gradients):
            self.skipped += 1
            self.bad, self.good = self.bad + 1, 0
            self.scale = max(self.scale / (16 if self.searching else 2), 2.0**-14)
            return
        rate, momentum = np.float32(2.0**-6), np.float32(0.5)
        for index, gradient in enumerate(gradients):
            part = gradient / np.float32(self.scale)
            self.moments[index] = self.moments[index] * momentum - part * rate
            self.weights[index] = self.weights[index] + self.moments[index]
        self.searching, self.bad, self.good = False, 0, self.good + 1
        if self.good == self.interval:
            self.good, self.scale = 0, min(self.scale * 2, 2.0**24)


@pytest.mark.parametrize("steps", [1500, pytest.param(20_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("trainer", ["compiled"], indirect=True)
def test_a_long_random_training_follows_the_model(keras, trainer, steps):
    optimizer = betterhalf.LossScaleOptimizer(
        keras.optimizers.SGD(2.0**-6, momentum=0.5), growth_interval=40
    )
    taker = trainer(optimizer, *start())
    model = Model(interval=40)
    generator = np.random.default_rng(steps)
    rate = 0.0
    for number in range(steps):
        if number % 100 == 0:  # from quiet stretches to ones where most are bad
            rate = generator.choice([0.0, 0.0, 0.02, 0.6])
        gradients = draw(generator, bad=number < 2 or generator.random() < rate)
        scaled = [np.float32(optimizer.loss_scale) * each for each in gradients]
        model.step(scaled)
        taker.step(*scaled)
        assert optimizer.loss_scale == model.scale
        assert int(optimizer.step_counter) == (model.good or -model.bad)
        assert optimizer.skipped_steps == model.skipped
        assert int(optimizer.iterations) == number + 1 - model.skipped
    for weight, expected in zip(taker.variables, model.weights, strict=True):
        values = keras.ops.convert_to_numpy(weight.value)
        np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-5)
    assert 0.01 < model.skipped / steps < 0.5
