"""These tests need one backend, chosen before the process began."""

import os

import pytest


BACKEND = os.environ.get("KERAS_BACKEND")


def pytest_configure(config):
    if BACKEND not in {"tensorflow", "jax", "torch"}:
        raise pytest.UsageError(
            "expected KERAS_BACKEND to be tensorflow, jax or torch for tests/rules. "
            f"Received: {BACKEND!r}. `./dev test` runs them once for each."
        )
    # warnings of the frameworks, and of programs that are wrong on purpose
    config.addinivalue_line("filterwarnings", "ignore")
