# backends: tensorflow jax torch
import keras
import numpy as np
from keras import layers

keras.utils.clear_session()
keras.mixed_precision.set_global_policy("mixed_float16")
keras.utils.set_random_seed(7)
np.random.seed(7)

x = np.random.normal(size=(1280, 10)).astype("float32")
y = (x[:, 0] * x[:, 1] > 0).astype("int32")

model = keras.Sequential(
    [
        keras.Input(shape=(10,)),
        layers.Dense(32, activation="relu"),
        layers.Dropout(0.2),
        layers.Dense(2),
        layers.Activation("softmax", dtype="float32"),
    ]
)
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x, y, batch_size=32, epochs=3, verbose=2)
print("policy", keras.config.dtype_policy().name)
print("first weight", float(model.get_weights()[0].ravel()[0]))
