# backends: tensorflow
import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

rng = np.random.default_rng(15)
x = rng.normal(size=(1280, 12)).astype("float32")
y = x[:, :3].argmax(axis=1)
dataset = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1280, seed=0).batch(32)

inputs = keras.Input(shape=(12,))
hidden = layers.Dense(32, activation="relu")(inputs)
outputs = layers.Dense(3)(hidden)
model = keras.Model(inputs, outputs)
optimizer = keras.optimizers.Adam(learning_rate=1e-3)
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x, training=True))
    grads = tape.gradient(loss, model.trainable_weights)
    optimizer.apply_gradients(zip(grads, model.trainable_weights))
    return loss


for epoch in range(3):
    for x_batch, y_batch in dataset:
        loss = train_step(x_batch, y_batch)
    print(f"epoch {epoch}: loss {float(loss):.4f}")
