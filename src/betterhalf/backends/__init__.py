"""The only place that knows jax, tensorflow and torch: one class a backend.

`load` imports the one that is asked for and no other.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from betterhalf.backends._base import Backend as Backend
from betterhalf.errors import BetterhalfError


NAMES = ("tensorflow", "jax", "torch")
"""Keras backends that train."""


@cache
def load(name: str) -> Backend:
    """Returns the one adapter of a backend, importing that backend.

    Args:
        name: `tensorflow`, `jax` or `torch`.

    Raises:
        BetterhalfError: a backend that cannot train, such as `numpy`.
    """
    if name not in NAMES:
        raise BetterhalfError(
            f"expected a Keras backend that trains: {', '.join(NAMES)}. "
            f"Received: '{name}'."
        )
    module = import_module(f"betterhalf.backends._{name}")
    return module.ADAPTER()
