# backends: tensorflow
import numpy as np
import tensorflow as tf

keras = tf.keras
layers = keras.layers

x = np.random.default_rng(22).normal(size=(1280, 8)).astype("float32")
y = (x.sum(axis=1) > 0).astype("float32")

model = keras.Sequential([
    layers.Dense(16, activation="relu"),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer=tf.keras.optimizers.Adam(), loss="binary_crossentropy")
model.fit(x, y, batch_size=32, epochs=3, verbose=2)
print("keras", tf.keras.__version__, "on TensorFlow", tf.__version__)
