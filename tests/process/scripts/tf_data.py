# backends: tensorflow jax torch
import keras
import numpy as np
import tensorflow as tf

rng = np.random.default_rng(5)
x = rng.normal(size=(1280, 8)).astype("float32")
y = x @ np.arange(8, dtype="float32")[:, None]

train = tf.data.Dataset.from_tensor_slices((x[:1024], y[:1024]))
train = train.shuffle(1024, seed=1).repeat(2).batch(32).prefetch(tf.data.AUTOTUNE)
val = tf.data.Dataset.from_tensor_slices((x[1024:], y[1024:])).batch(64)

model = keras.Sequential(
    [
        keras.layers.Dense(32, activation="gelu"),
        keras.layers.LayerNormalization(),
        keras.layers.Dense(1),
    ]
)
model.compile(optimizer=keras.optimizers.SGD(0.01, momentum=0.9), loss="mse")
model.fit(train, validation_data=val, epochs=2, verbose=2)
print("val loss", model.evaluate(val, verbose=0))
