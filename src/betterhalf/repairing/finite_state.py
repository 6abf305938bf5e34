"""The repair `finite-state`: a step that overflows does not poison the statistics.

Loss scaling skips the weights of a step whose gradients are not finite, but the forward
pass has assigned its moving averages by then: one bad batch, and a moving variance is
NaN for ever. So inside the same compiled step each assignment in a `call` keeps the old
value where the new one is not finite. Only models with float16 have such steps.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from betterhalf.keras_seams.layers import find_owner
from betterhalf.keras_seams.patching import Patches
from betterhalf.repairing.dtypes import autocast_scope, uncast


def place(keras: Any, patches: Patches, is_needed: Callable[[], bool]) -> None:
    """Patches the assignment of variables.

    Args:
        keras: the imported module.
        patches: undone together.
        is_needed: whether a model computes in float16.
    """
    owner = find_owner(keras.Variable, "assign")
    original = vars(owner)["assign"]

    @functools.wraps(original)
    def assign(self: Any, value: Any) -> Any:
        # only layers that compute in 16 bit, and those inside them, open such a scope
        if autocast_scope() is None or self.trainable or not is_needed():
            return original(self, value)
        if self._dtype != "float32":
            return original(self, value)
        ops = keras.ops
        with uncast():
            new = ops.convert_to_tensor(value, dtype="float32")
            is_finite = ops.all(ops.isfinite(new))
            return original(self, ops.where(is_finite, new, self.value))

    patches.replace(owner, "assign", assign)
