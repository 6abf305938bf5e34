# backends: tensorflow jax torch
import keras
import numpy as np
from keras import layers

rng = np.random.default_rng(0)
x = rng.normal(size=(1600, 16)).astype("float32")
y = (x[:, :4].sum(axis=1) > 0).astype("int32")

model = keras.Sequential()
model.add(keras.Input(shape=(16,)))
model.add(layers.Dense(32, activation="relu"))
model.add(layers.Dense(32, activation="relu"))
model.add(layers.Dense(2, activation="softmax"))
model.compile(
    optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"]
)
model.fit(x, y, batch_size=32, epochs=3, validation_split=0.2, verbose=2)
loss, accuracy = model.evaluate(x[-320:], y[-320:], verbose=0)
print(f"accuracy {accuracy:.3f}")
