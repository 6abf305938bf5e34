"""A training loop of one's own on torch, with float16 made safe.

KERAS_BACKEND=torch python examples/custom_loop_torch.py
"""

import keras
import numpy as np
import torch

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

generator = np.random.default_rng(0)
x = torch.from_numpy(generator.normal(size=(4096, 8)).astype("float32"))
y = x.sum(dim=1, keepdim=True)
for epoch in range(3):
    for start in range(0, len(x), 64):
        model.zero_grad()
        predicted = model(x[start : start + 64], training=True)
        loss = torch.mean((predicted - y[start : start + 64]) ** 2)
        optimizer.scale_loss(loss).backward()
        variables = model.trainable_variables
        optimizer.apply([variable.value.grad for variable in variables], variables)
    print(epoch, loss.item(), optimizer.loss_scale, optimizer.skipped_steps)
