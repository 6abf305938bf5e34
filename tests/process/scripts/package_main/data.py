import numpy as np


def load(count=1280):
    x = np.random.default_rng(24).normal(size=(count, 8)).astype("float32")
    return x, x[:, :1] * x[:, 1:2]
