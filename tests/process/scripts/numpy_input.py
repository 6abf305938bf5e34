# backends: tensorflow jax torch
import numpy as np
from keras import Input, layers, models

rng = np.random.default_rng(4)
images = rng.integers(0, 256, size=(1280, 8, 8, 1)).astype("float32") / 255
labels = (images.mean(axis=(1, 2, 3)) > 0.5).astype("float32")
x_train, x_val = images[:1024], images[1024:]
y_train, y_val = labels[:1024], labels[1024:]

model = models.Sequential([
    Input((8, 8, 1)),
    layers.Conv2D(8, 3, activation="relu"),
    layers.GlobalAveragePooling2D(),
    layers.Dense(1, activation="sigmoid"),
])
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=24, epochs=2, validation_data=(x_val, y_val),
          verbose=2)
print("predicted", model.predict(x_val[:4], verbose=0).ravel())
