"""The repair `exact-inputs`: ids and raw features are not rounded on their way in.

Every layer under a 16-bit policy casts the float inputs it gets, a `Reshape` too, and a
`Sequential` without an `Input` makes one of the first layer's compute dtype. Ids above
2048 (256 in bfloat16) then look up another row. What lies between the input and a layer
that looks at exact values is therefore left in float32.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from betterhalf.keras_seams.layers import find_owner
from betterhalf.keras_seams.patching import Patches
from betterhalf.records.trial import Repair
from betterhalf.repairing.dtypes import (
    SIXTEEN_BIT,
    computes_in_16bit,
    is_from_keras,
    is_graph,
    own_layers,
    set_to_float32,
)


CODE = "exact-inputs"
_REASON = "ids or raw features pass through here on their way in"


class ExactInputs:
    """Keeps the way to exact layers in float32.

    Args:
        keras: the imported module.
        tell: called once with each layer and its record.
        is_exact: whether a layer needs its inputs as exact as they came.
    """

    def __init__(
        self,
        keras: Any,
        tell: Callable[[Any, Repair], None],
        is_exact: Callable[[Any], bool],
    ):
        self._keras = keras
        self._tell = tell
        self._is_exact = is_exact
        self._seen: weakref.WeakSet[Any] = weakref.WeakSet()

    def place(self, patches: Patches) -> None:
        """Makes the automatic input of a Sequential of the right dtype."""
        keras = self._keras
        owner = find_owner(keras.Sequential, "build")
        original = vars(owner)["build"]
        first_exact = self._first_exact

        @functools.wraps(original)
        def build(self: Any, input_shape: Any = None) -> Any:
            first = self._layers[0] if self._layers else None
            if first is not None and not isinstance(first, keras.layers.InputLayer):
                exact = first_exact(self._layers)
                if exact is not None and first.compute_dtype in SIXTEEN_BIT:
                    _prepend_input(keras, self, input_shape, exact)
            return original(self, input_shape)

        patches.replace(owner, "build", build)

    def repair_graph(self, model: Any) -> None:
        """Sets what lies between inputs and exact layers to float32, where known."""
        freed: dict[int, bool] = {}
        for layer in own_layers(model):
            if self._is_exact(layer):
                for node in getattr(layer, "_inbound_nodes", ()):
                    self._free_way(node.input_tensors, freed)

    def call(self, model: Any, proceed: Callable[[], Any]) -> Any:
        """Runs a model's call; before the first, opens the doors to exact layers.

        Where the model cannot be called so, because its own arithmetic mixes what is
        cast with what is not, the doors are closed again.
        """
        if model in self._seen:
            return proceed()
        self._seen.add(model)
        if is_graph(model):
            self.repair_graph(model)  # it may never be compiled
        doors = [layer for layer in own_layers(model) if self._is_door(layer)]
        if not doors:
            return proceed()
        for layer in doors:
            layer.autocast = False
        try:
            result = proceed()
        except Exception:
            for layer in doors:
                layer.autocast = True
            return proceed()
        for layer in doors:
            self._tell(layer, set_to_float32(CODE, layer, _REASON))
        return result

    def _is_door(self, layer: Any) -> bool:
        """Whether a layer of the user's hands what it gets to an exact one."""
        return (
            not is_from_keras(type(layer))
            and not is_graph(layer)
            and layer.autocast
            and computes_in_16bit(layer)
            and not layer._trainable_variables
            and any(self._is_exact(part) for part in own_layers(layer))
        )

    def _first_exact(self, layers: list[Any]) -> Any:
        """Returns the exact layer that the first layers lead to, if they do."""
        for layer in layers:
            if self._is_exact(layer):
                return layer
            if is_graph(layer) and layer.layers:
                return self._first_exact(layer.layers)
            if not _is_passage(layer):
                return None
        return None

    def _free_way(self, tensors: Any, freed: dict[int, bool]) -> bool:
        """Sets a way that leads back to an input to float32; returns if it does."""
        found = False
        for tensor in tensors:
            history = getattr(tensor, "_keras_history", None)
            if history is None:
                continue
            operation, index, _ = history
            if isinstance(operation, self._keras.layers.InputLayer):
                found = True
            elif _is_passage(operation):
                node = operation._inbound_nodes[index]
                if id(node) not in freed:
                    freed[id(node)] = self._free_way(node.input_tensors, freed)
                if freed[id(node)]:
                    found = True
                    self._set_to_float32(operation)
        return found

    def _set_to_float32(self, layer: Any) -> None:
        if hasattr(layer, "dtype_policy") and computes_in_16bit(layer):
            self._tell(layer, set_to_float32(CODE, layer, _REASON))
            layer.dtype_policy = "float32"


def _is_passage(operation: Any) -> bool:
    """Whether an operation has no weights: what goes in comes out, moved about."""
    weights: Iterator[Any] = iter(getattr(operation, "weights", ()))
    if next(weights, None) is not None:
        return False
    if not hasattr(operation, "dtype_policy"):
        return True
    return operation.built or bool(getattr(type(operation).build, "_is_default", False))


def _prepend_input(keras: Any, model: Any, input_shape: Any, exact: Any) -> None:
    shape_of_one = isinstance(input_shape, list | tuple) and all(
        size is None or isinstance(size, int) for size in input_shape
    )
    if not shape_of_one:
        return  # Keras gives up here too
    first = model._layers[0]
    is_first = first is exact and isinstance(exact, keras.layers.Embedding)
    dtype = "int32" if is_first else "float32"
    model._layers = [
        keras.layers.InputLayer(batch_shape=tuple(input_shape), dtype=dtype),
        *model._layers,
    ]
