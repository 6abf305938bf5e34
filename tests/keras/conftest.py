"""These tests need one backend, chosen before the process began."""

import os

import pytest


BACKEND = os.environ.get("KERAS_BACKEND")


def pytest_configure(config):
    if BACKEND not in {"tensorflow", "jax", "torch"}:
        raise pytest.UsageError(
            "expected KERAS_BACKEND to be tensorflow, jax or torch for tests/keras. "
            f"Received: {BACKEND!r}. `./dev test` runs them once for each."
        )
    # warnings of the frameworks at import are theirs
    config.addinivalue_line("filterwarnings", "ignore::DeprecationWarning")
    config.addinivalue_line("filterwarnings", "ignore::FutureWarning")
    config.addinivalue_line("filterwarnings", "ignore::ImportWarning")


@pytest.fixture
def keras():
    """Keras, with its global policy and names put back afterwards."""
    import keras as module

    module.utils.clear_session()
    module.utils.set_random_seed(3)
    yield module
    module.config.set_dtype_policy("float32")
    module.utils.clear_session()


@pytest.fixture
def data():
    """A small regression task of 64 rows."""
    import numpy as np

    generator = np.random.default_rng(0)
    x = generator.normal(size=(64, 8)).astype("float32")
    return x, x[:, :2] * 0.5
