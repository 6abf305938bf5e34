"""A training loop of one's own on JAX, with float16 made safe.

KERAS_BACKEND=jax python examples/custom_loop_jax.py
"""

import jax
import keras
import numpy as np

from betterhalf import LossScaleOptimizer


keras.utils.set_random_seed(0)
keras.mixed_precision.set_global_policy("mixed_float16")
model = keras.Sequential(
    [
        keras.Input((8,)),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(1, dtype="float32"),
    ]
)
optimizer = LossScaleOptimizer.for_policy(keras.optimizers.Adam(1e-2))
optimizer.build(model.trainable_variables)


def compute_loss(weights, state, optimizer_state, x, y):
    """Returns the scaled loss to differentiate, and the loss itself."""
    predicted, _ = model.stateless_call(weights, state, x, training=True)
    loss = keras.ops.mean((predicted - y) ** 2)
    scope = keras.StatelessScope(zip(optimizer.variables, optimizer_state, strict=True))
    with scope:  # the scale is part of the state
        return optimizer.scale_loss(loss), loss


@jax.jit
def step(weights, state, optimizer_state, x, y):
    """Takes a training step."""
    gradients, loss = jax.grad(compute_loss, has_aux=True)(
        weights, state, optimizer_state, x, y
    )
    weights, optimizer_state = optimizer.stateless_apply(
        optimizer_state, gradients, weights
    )
    return weights, optimizer_state, loss


generator = np.random.default_rng(0)
x = generator.normal(size=(4096, 8)).astype("float32")
y = x.sum(axis=1, keepdims=True)
weights = [variable.value for variable in model.trainable_variables]
state = [variable.value for variable in model.non_trainable_variables]
optimizer_state = [variable.value for variable in optimizer.variables]
for epoch in range(3):
    for start in range(0, len(x), 64):
        batch = x[start : start + 64], y[start : start + 64]
        weights, optimizer_state, loss = step(weights, state, optimizer_state, *batch)
    for variable, value in zip(optimizer.variables, optimizer_state, strict=True):
        variable.assign(value)
    optimizer.check()  # a compiled step cannot raise
    print(epoch, float(loss), optimizer.loss_scale, optimizer.skipped_steps)
for variable, value in zip(model.trainable_variables, weights, strict=True):
    variable.assign(value)
