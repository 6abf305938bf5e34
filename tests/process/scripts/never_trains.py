# backends: tensorflow jax torch
import keras
import numpy as np

model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.summary()
print("predicted", model.predict(np.ones((8, 4), "float32"), verbose=0).shape)
