"""Native loops on torch: a `torch.optim` optimizer steps Keras variables by itself.

No Keras optimizer takes part in `optimizer.step()`, so nothing can be wrapped; that no
loss is scaled is seen at the first step of each optimizer, and said once.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from typing import Any

from betterhalf import backends
from betterhalf.keras_seams.patching import Patches
from betterhalf.records.trial import Note
from betterhalf.repairing.dtypes import own_layers
from betterhalf.repairing.loss_scaling import NOT_SCALED


_SCALERS = ("torch.amp.", "torch.cuda.amp.", "betterhalf.backends.loss_scaling.")


class TorchLoops:
    """Looks at the first step of each optimizer of `torch.optim`.

    Args:
        on_note: called once for each optimizer whose loss nobody seems to scale.
    """

    def __init__(self, on_note: Callable[[Note], None]):
        self._on_note = on_note
        self._models: weakref.WeakSet[Any] = weakref.WeakSet()
        self._looked_at: weakref.WeakSet[Any] = weakref.WeakSet()

    def place(self, patches: Patches) -> None:
        """Listens to optimizers that are not Keras's; undone with the patches."""
        patches.when_undone(backends.load("torch").before_native_step(self._look))

    def saw_call(self, model: Any) -> None:
        """Remembers a model that was called."""
        self._models.add(model)

    def _look(self, optimizer: Any) -> None:
        if optimizer in self._looked_at:
            return
        self._looked_at.add(optimizer)
        if _steps_under_a_scaler() or not self._has_float16(optimizer):
            return
        name = type(optimizer).__name__
        self._on_note(
            Note(
                code=NOT_SCALED,
                text=(
                    f"torch.optim.{name} steps a model with float16 layers, and no "
                    "loss scaling was seen: float16 gradients below 6e-8 become zero"
                ),
                todo="wrap it, `optimizer = betterhalf.LossScaleOptimizer(optimizer)`, "
                "and add `loss = optimizer.scale_loss(loss)` before `loss.backward()`",
            )
        )

    def _has_float16(self, optimizer: Any) -> bool:
        stepped = {
            id(parameter)
            for group in optimizer.param_groups
            for parameter in group["params"]
        }
        return any(
            layer.compute_dtype == "float16"
            and any(id(weight._value) in stepped for weight in layer.trainable_weights)
            for model in self._models
            for layer in own_layers(model)
        )


def _steps_under_a_scaler() -> bool:
    """Whether a gradient scaler of torch's, or ours, calls this step."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.startswith(_SCALERS):
            return True
        frame = frame.f_back
    return False
