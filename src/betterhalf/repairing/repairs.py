"""Runs the repairs at Keras's seams and reports what each of them did."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from betterhalf.keras_seams import Listener
from betterhalf.keras_seams.listening import ApplyCall
from betterhalf.keras_seams.patching import Patches
from betterhalf.records.trial import Note, Repair
from betterhalf.repairing import added_losses, finite_state, float32_outputs
from betterhalf.repairing.dtypes import own_layers
from betterhalf.repairing.exact_inputs import ExactInputs
from betterhalf.repairing.kept_state import KeptState
from betterhalf.repairing.layers_in_float32 import Float32Layers
from betterhalf.repairing.loss_scaling import LossScaling
from betterhalf.repairing.torch_loops import TorchLoops
from betterhalf.repairing.wrapped_layers import WrappedLayers


class Repairs(Listener):
    """A listener that repairs models as they are made, compiled and first called.

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
        self._on_repair = on_repair
        self._made: weakref.WeakKeyDictionary[Any, list[Repair]] = (
            weakref.WeakKeyDictionary()
        )
        self._builds_in_trace = keras.backend.backend() == "tensorflow"
        self._called: weakref.WeakSet[Any] = weakref.WeakSet()
        self._keras = keras
        self._scaling = LossScaling(keras, self._tell, on_note)
        self._layers = Float32Layers(keras, self._tell)
        self._inputs = ExactInputs(keras, self._tell, self._layers.looks_at_raw)
        self._state = KeptState(keras, self._tell)
        self._wrapped = WrappedLayers(keras, self._tell)
        is_torch = keras.backend.backend() == "torch"
        self._loops = TorchLoops(on_note) if is_torch else None
        self._late_outputs = float32_outputs.LateOutputs(keras, self._tell)

    def made(self, model: Any) -> tuple[Repair, ...]:
        """Returns what was put right in a model, layer by layer.

        Args:
            model: a Keras model.
        """
        return tuple(
            repair
            for layer in own_layers(model)
            for repair in self._made.get(layer, ())
        )

    def place(self, patches: Patches) -> None:
        """Patches what single repairs need."""
        self._layers.place(patches)
        self._inputs.place(patches)
        self._state.place(patches)
        added_losses.place(self._keras, patches, self._tell)
        if self._loops is not None:
            self._loops.place(patches)
        finite_state.place(self._keras, patches, lambda: self._scaling.is_needed)

    def after_layer_made(self, layer: Any, dtype_given: bool) -> None:
        """Prepares a layer for its first call."""
        self._layers.keep_raw(layer)
        self._state.watch(layer)
        self._wrapped.remember(layer, dtype_given)

    def on_layer_policy(self, layer: Any, before: Any) -> None:
        """Hands a policy on to what is inside a layer."""
        self._layers.keep_raw(layer)
        self._wrapped.follow_change(layer, before)

    def around_compile(
        self, model: Any, arguments: dict[str, Any], proceed: Callable[[], Any]
    ) -> Any:
        """Repairs a model as far as it is known before its train function exists."""
        self._repair_layers(model)
        self._scaling.wrap(model, arguments)
        return proceed()

    def before_train_function(self, model: Any) -> None:
        """Repairs what `compile` could not know of."""
        self._repair_layers(model)
        self._scaling.wrap_late(model)

    def around_call(
        self, model: Any, stateless: bool, proceed: Callable[[], Any]
    ) -> Any:
        """Repairs a model whose layers are only known from a call."""
        if self._loops is not None:
            self._loops.saw_call(model)
        result = self._inputs.call(
            model, lambda: self._late_outputs.call(model, stateless, proceed)
        )
        if self._builds_in_trace and model not in self._called:
            self._called.add(model)
            # TensorFlow builds a subclassed model in the trace of its first step; the
            # loss comes after this call, and the optimizer is not built before that
            optimizer = getattr(model, "optimizer", None)
            if optimizer is not None and not optimizer.built:
                self._scaling.wrap_late(model)
        return result

    def on_scale_loss(self, optimizer: Any) -> None:
        """Remembers whose loss is scaled."""
        self._scaling.saw_scaled_loss(optimizer)

    def around_apply(self, step: ApplyCall, proceed: Callable[[], Any]) -> Any:
        """Keeps a wrapper from dividing gradients that nobody multiplied."""
        return self._scaling.apply(step, proceed)

    def _repair_layers(self, model: Any) -> None:
        self._wrapped.follow_all(model)
        for layer in own_layers(model):
            self._layers.keep_raw(layer)
        self._inputs.repair_graph(model)
        for layer, repair in float32_outputs.repair_outputs(model):
            self._tell(layer, repair)

    def _tell(self, owner: Any, repair: Repair) -> None:
        """Reports a repair once for each layer and kind."""
        told = self._made.setdefault(owner, [])
        if any(before.code == repair.code for before in told):
            return
        told.append(repair)
        self._on_repair(repair)
