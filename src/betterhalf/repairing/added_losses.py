"""The repair `float32-losses`: losses that layers add are float32.

TensorFlow cannot add a float16 activity regularization to a float32 loss, and its sum
of squares overflows on every backend.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from betterhalf.keras_seams.patching import Patches
from betterhalf.records.trial import Repair
from betterhalf.repairing.dtypes import SIXTEEN_BIT, cast_floats, set_to_float32


CODE = "float32-losses"
_REGULARIZERS = ("L1", "L2", "L1L2", "OrthogonalRegularizer")


def place(keras: Any, patches: Patches, tell: Callable[[Any, Repair], None]) -> None:
    """Patches `add_loss` and Keras's own regularizers.

    Args:
        keras: the imported module.
        patches: undone together.
        tell: called with each layer and its record.
    """
    owner = keras.layers.Layer
    original = owner.add_loss

    @functools.wraps(original)
    def add_loss(self: Any, loss: Any) -> Any:
        cast = cast_floats(keras, loss, SIXTEEN_BIT, "float32")
        regularized = getattr(self, "activity_regularizer", None) is not None
        if regularized:
            regularized = self.compute_dtype in SIXTEEN_BIT
        if regularized or _differs(keras, cast, loss):
            tell(self, set_to_float32(CODE, self, "a loss that it adds was 16 bit"))
        return original(self, cast)

    patches.replace(owner, "add_loss", add_loss)
    for name in _REGULARIZERS:
        _compute_in_float32(keras, patches, getattr(keras.regularizers, name))


def _compute_in_float32(keras: Any, patches: Patches, owner: Any) -> None:
    original = owner.__call__

    @functools.wraps(original)
    def call(self: Any, x: Any) -> Any:
        return original(self, cast_floats(keras, x, SIXTEEN_BIT, "float32"))

    patches.replace(owner, "__call__", call)


def _differs(keras: Any, one: Any, other: Any) -> bool:
    pairs = zip(keras.tree.flatten(one), keras.tree.flatten(other), strict=True)
    return any(mine is not theirs for mine, theirs in pairs)
