"""Runs the repairs at Keras's seams and reports what each of them did."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from betterhalf.keras_seams import Listener
from betterhalf.keras_seams.listening import ApplyCall
from betterhalf.records.trial import Note, Repair
from betterhalf.repairing import float32_outputs, loss_scaling


class Repairs(Listener):
    """A listener that repairs models as they are compiled and first called.

    Args:
        keras: the imported module.
        on_repair: called once for each thing put right.
        on_note: called for what cannot be put right without changing the script.
    """

    def __init__(
        self,
        keras: Any,
        on_repair: Callable[[Repair], None],
        on_note: Callable[[Note], None],
    ):
        self._keras = keras
        self._on_repair = on_repair
        self._scaling = loss_scaling.LossScaling(keras, on_repair, on_note)
        self._late_outputs = float32_outputs.LateOutputs(keras, on_repair)

    def around_compile(
        self, model: Any, arguments: dict[str, Any], proceed: Callable[[], Any]
    ) -> Any:
        """Repairs outputs and loss scaling before the train function exists."""
        for repair in float32_outputs.repair_outputs(model):
            self._on_repair(repair)
        self._scaling.wrap(model, arguments)
        return proceed()

    def around_call(
        self, model: Any, stateless: bool, proceed: Callable[[], Any]
    ) -> Any:
        """Repairs the outputs of a model whose layers are only known from a call."""
        return self._late_outputs.call(model, stateless, proceed)

    def on_scale_loss(self, optimizer: Any) -> None:
        """Remembers whose loss is scaled."""
        self._scaling.saw_scaled_loss(optimizer)

    def around_apply(self, step: ApplyCall, proceed: Callable[[], Any]) -> Any:
        """Keeps a wrapper from dividing gradients that nobody multiplied."""
        return self._scaling.apply(step, proceed)
