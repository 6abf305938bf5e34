# backends: tensorflow jax torch
import keras
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Points(Dataset):
    def __init__(self, count, seed):
        rng = np.random.default_rng(seed)
        self.x = rng.normal(size=(count, 8)).astype("float32")
        self.y = (self.x.sum(axis=1, keepdims=True) > 0).astype("float32")

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return torch.from_numpy(self.x[index]), torch.from_numpy(self.y[index])


def main():
    train = DataLoader(Points(1280, 7), batch_size=32, shuffle=True, num_workers=2)
    val = DataLoader(Points(256, 8), batch_size=64)
    model = keras.Sequential([
        keras.layers.Dense(16, activation="relu"),
        keras.layers.Dense(1, activation="sigmoid"),
    ])
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    model.fit(train, validation_data=val, epochs=2, verbose=2)
    print("done after", int(model.optimizer.iterations), "steps")


if __name__ == "__main__":
    main()
