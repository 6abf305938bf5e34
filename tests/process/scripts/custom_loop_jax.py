# backends: jax
import jax
import keras
import numpy as np

rng = np.random.default_rng(14)
x = rng.normal(size=(1280, 12)).astype("float32")
y = x[:, :3].argmax(axis=1)

inputs = keras.Input(shape=(12,))
hidden = keras.layers.Dense(32, activation="relu")(inputs)
outputs = keras.layers.Dense(3)(hidden)
model = keras.Model(inputs=inputs, outputs=outputs)
optimizer = keras.optimizers.Adam(learning_rate=1e-3)
optimizer.build(model.trainable_variables)
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def compute_loss(trainable, non_trainable, x, y):
    logits, non_trainable = model.stateless_call(
        trainable, non_trainable, x, training=True
    )
    return loss_fn(y, logits), non_trainable


gradient = jax.value_and_grad(compute_loss, has_aux=True)


@jax.jit
def train_step(state, x, y):
    trainable, non_trainable, slots = state
    (loss, non_trainable), grads = gradient(trainable, non_trainable, x, y)
    trainable, slots = optimizer.stateless_apply(slots, grads, trainable)
    return loss, (trainable, non_trainable, slots)


state = (
    [variable.value for variable in model.trainable_variables],
    [variable.value for variable in model.non_trainable_variables],
    [variable.value for variable in optimizer.variables],
)
for epoch in range(3):
    for start in range(0, len(x), 32):
        loss, state = train_step(state, x[start : start + 32], y[start : start + 32])
    print(f"epoch {epoch}: loss {float(loss):.4f}")

for variable, value in zip(model.trainable_variables, state[0]):
    variable.assign(value)
