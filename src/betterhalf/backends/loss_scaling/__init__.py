"""What a scaled step needs of a framework: one class a backend, as in `backends`.

The decision itself (`betterhalf.scaling`) is the same everywhere. Here is what differs:
how many gradients are divided and checked in one go, and how a step that was decided
inside a compiled function leaves everything as it was.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from betterhalf.backends import NAMES
from betterhalf.backends.loss_scaling._base import LossScaling as LossScaling
from betterhalf.backends.loss_scaling._base import ScaledStep as ScaledStep
from betterhalf.errors import BetterhalfError


@cache
def load(name: str) -> LossScaling:
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
    module = import_module(f"betterhalf.backends.loss_scaling._{name}")
    return module.ADAPTER()
