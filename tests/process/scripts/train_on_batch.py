# backends: tensorflow jax torch
import keras
import numpy as np

rng = np.random.default_rng(17)
x = rng.normal(size=(1280, 8)).astype("float32")
y = (x[:, 0] > x[:, 1]).astype("float32")

model = keras.models.Sequential(
    [
        keras.layers.Input((8,)),
        keras.layers.Dense(16, activation="relu"),
        keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])

for epoch in range(3):
    order = rng.permutation(len(x))
    for batch in np.split(order, 40):
        logs = model.train_on_batch(x[batch], y[batch], return_dict=True)
    print(f"epoch {epoch}:", {name: float(value) for name, value in logs.items()})
