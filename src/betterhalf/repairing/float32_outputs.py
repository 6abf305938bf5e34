"""The repair `float32-output`: what leaves the model is computed in float32.

A softmax that was computed in float16 has rounded small probabilities to zero, and a
cast behind it brings nothing back. So the last layer is set to float32, and where it
has no weights (an `Activation`, a `Reshape`) the layer that feeds it too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from betterhalf.records.trial import Repair
from betterhalf.repairing.dtypes import (
    computes_in_16bit,
    own_layers,
    path_of,
    policy_name,
)


CODE = "float32-output"


def repair_outputs(model: Any) -> list[tuple[Any, Repair]]:
    """Sets the output layers of a model to float32, as far as they are known.

    Those of a functional or sequential model are known before it is built; those of a
    subclassed model are not, see `LateOutputs`.

    Args:
        model: a Keras model that is not compiled yet.

    Returns:
        Each layer that was changed, with its record.
    """
    return [
        (layer, repair)
        for layer in _output_layers(model)
        for repair in _set_to_float32(layer)
    ]


class LateOutputs:
    """Repairs a model by its first call, in which every layer shows itself.

    The layers that computed the 16-bit outputs are set to float32 and called again with
    the inputs they had; the first result is dropped. It happens once a model, where
    Keras builds it or traces its first step, so that no later step pays for it. Models
    of a custom loop, which are never compiled, are repaired here too.

    Args:
        keras: the imported module.
        on_repair: called with each layer that was changed and the record of it.
    """

    def __init__(self, keras: Any, on_repair: Callable[[Any, Repair], None]):
        self._keras = keras
        self._on_repair = on_repair
        self._seen: set[int] = set()
        self._busy = False

    def call(self, model: Any, stateless: bool, proceed: Callable[[], Any]) -> Any:
        """Runs a model's call, repairing its outputs the first time.

        Args:
            model: the model that is called.
            stateless: by `stateless_call`, which may be called twice.
            proceed: goes on with the call.
        """
        if self._busy:
            return proceed()
        self._busy = True
        try:
            if id(model) in self._seen:
                return proceed()
            calls: dict[int, _Call] = {}
            with _recorded_calls(self._keras, model, calls):
                result = proceed()
            outputs = result[0] if stateless else result
            if self._is_being_assembled(outputs):
                return result
            self._seen.add(id(model))
            if stateless:
                return proceed() if self._set_makers(outputs, calls) else result
            return self._keras.tree.map_structure(
                lambda output: self._repaired(output, calls), outputs
            )
        finally:
            self._busy = False

    def _set_makers(self, outputs: Any, calls: dict[int, _Call]) -> bool:
        """Sets what made the outputs to float32; returns whether anything changed."""
        changed = False
        for output in self._keras.tree.flatten(outputs):
            made = calls.get(id(output))
            if made is None or not computes_in_16bit(made.layer):
                continue
            for repair in _set_to_float32(made.layer):
                self._on_repair(made.layer, repair)
                changed = True
            if _is_weightless(made.layer):
                self._set_makers(made.args, calls)
        return changed

    def _is_being_assembled(self, outputs: Any) -> bool:
        """Whether the model was called on symbolic tensors, to be a part of another."""
        tensors = self._keras.tree.flatten(outputs)
        return any(isinstance(tensor, self._keras.KerasTensor) for tensor in tensors)

    def _repaired(self, output: Any, calls: dict[int, _Call]) -> Any:
        made = calls.get(id(output))
        if made is None or not computes_in_16bit(made.layer):
            return output
        args = made.args
        if _is_weightless(made.layer):
            args = self._keras.tree.map_structure(
                lambda value: self._repaired(value, calls), args
            )
        for repair in _set_to_float32(made.layer):
            self._on_repair(made.layer, repair)
        return made.layer(*args, **made.kwargs)


class _Call:
    def __init__(self, layer: Any, args: Any, kwargs: Any, output: Any):
        self.layer = layer
        self.args = args
        self.kwargs = kwargs
        self.output = output  # kept alive, so that its id stays its own


class _recorded_calls:  # noqa: N801 (reads as a function where it is used)
    """Records the calls of all layers but one while it is entered."""

    def __init__(self, keras: Any, outermost: Any, calls: dict[int, _Call]):
        self._owner = keras.layers.Layer
        self._outermost = outermost
        self._calls = calls

    def __enter__(self) -> None:
        original = self._original = self._owner.__call__
        outermost, calls = self._outermost, self._calls

        def call(layer: Any, *args: Any, **kwargs: Any) -> Any:
            outputs = original(layer, *args, **kwargs)
            if layer is not outermost:
                for output in _flat(outputs):
                    # the innermost layer that made a tensor is the one to repair
                    calls.setdefault(id(output), _Call(layer, args, kwargs, output))
            return outputs

        self._owner.__call__ = call

    def __exit__(self, *_: object) -> None:
        self._owner.__call__ = self._original


def _flat(outputs: Any) -> Iterator[Any]:
    if isinstance(outputs, dict):
        outputs = list(outputs.values())
    if isinstance(outputs, list | tuple):
        for output in outputs:
            yield from _flat(output)
    elif outputs is not None:
        yield outputs


def _output_layers(model: Any) -> list[Any]:
    chains = _sequential_chain(model) or _functional_chains(model)
    found: list[Any] = []
    for layer in chains:
        if layer not in found:
            found.append(layer)
    return found


def _sequential_chain(model: Any) -> list[Any]:
    """Returns the last layers of a Sequential, back to the first with weights."""
    if not hasattr(model, "add") or not hasattr(model, "pop"):
        return []
    chain: list[Any] = []
    for layer in reversed(model.layers):
        chain.append(layer)
        if not _is_weightless(layer):
            break
    return [found for layer in chain for found in _inside(layer)]


def _functional_chains(model: Any) -> list[Any]:
    """Returns what makes the outputs of a functional model, back to weights."""
    tensors = getattr(model, "_outputs", None)  # absent in a subclassed model
    return list(_makers(tensors)) if tensors else []


def _makers(tensors: Iterable[Any]) -> Iterator[Any]:
    for tensor in tensors:
        history = getattr(tensor, "_keras_history", None)
        if history is None:
            continue
        operation, node_index, _ = history
        is_layer = hasattr(operation, "dtype_policy")
        if is_layer:
            yield from _inside(operation)
        if not is_layer or _is_weightless(operation):
            node = operation._inbound_nodes[node_index]
            yield from _makers(node.input_tensors)


def _inside(layer: Any) -> list[Any]:
    """Returns a layer or, for a nested model, the layers that make its outputs."""
    if hasattr(layer, "compute_loss") and (nested := _output_layers(layer)):
        return nested
    return [layer]


def _is_weightless(layer: Any) -> bool:
    """Whether a layer has no weights and, not being built yet, will not get any."""
    if layer.weights:
        return False
    if len(own_layers(layer)) > 1:
        return False
    # a class without a `build` of its own has nothing to create in it
    return layer.built or bool(getattr(type(layer).build, "_is_default", False))


def _set_to_float32(layer: Any) -> Iterator[Repair]:
    if not computes_in_16bit(layer):
        return
    before = policy_name(layer)
    for part in own_layers(layer):
        if computes_in_16bit(part):
            part.dtype_policy = "float32"
    yield Repair(
        code=CODE,
        where=path_of(layer),
        before=before,
        after="float32",
        reason="a model output is computed here and was 16 bit",
    )
