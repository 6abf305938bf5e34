"""A training loop of one's own on TensorFlow, with float16 made safe.

KERAS_BACKEND=tensorflow python examples/custom_loop_tensorflow.py
"""

import keras
import numpy as np
import tensorflow as tf

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


@tf.function
def step(x, y):
    """Takes a training step."""
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        scaled = optimizer.scale_loss(loss)
    gradients = tape.gradient(scaled, model.trainable_variables)
    optimizer.apply(gradients, model.trainable_variables)
    return loss


generator = np.random.default_rng(0)
x = generator.normal(size=(4096, 8)).astype("float32")
y = x.sum(axis=1, keepdims=True)
for epoch in range(3):
    for start in range(0, len(x), 64):
        loss = step(x[start : start + 64], y[start : start + 64])
    print(epoch, float(loss), optimizer.loss_scale, optimizer.skipped_steps)
