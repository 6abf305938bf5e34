"""Facts about the outputs of a model: what makes them, and with what nonlinearity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from betterhalf.auditing.from_keras.graph import parts_of
from betterhalf.auditing.from_keras.observing import Call, Observation, view_tensor
from betterhalf.auditing.from_keras.settings import read_config
from betterhalf.auditing.view import LayerView, LossView, OutputView


_NONLINEAR = {"ReLU", "LeakyReLU", "PReLU", "ELU", "Softmax", "UnitNormalization"}


def view_outputs(
    keras: Any,
    model: Any,
    paths: Mapping[int, str],
    seen: Observation | None,
    losses: tuple[LossView, ...],
    layers: tuple[LayerView, ...],
) -> tuple[OutputView, ...]:
    """Returns facts about each output of a watched call.

    Args:
        keras: the imported module.
        model: the model.
        paths: path of each layer by its id.
        seen: the watched call; without it nothing is known.
        losses: of `compile`.
        layers: facts about the layers.
    """
    if seen is None or seen.outputs is None:
        return ()
    makers: dict[int, Call] = {}
    for call in seen.calls:
        if call.operation is not model:
            for tensor in call.outputs:
                makers.setdefault(id(tensor), call)
    tensors = keras.tree.flatten(seen.outputs)
    names = _names_of(model, seen.outputs, len(tensors))
    made_at = {layer.path: layer.made_at for layer in layers}
    views = []
    for position, (name, tensor) in enumerate(zip(names, tensors, strict=True)):
        chain = list(_chain(tensor, makers))
        shown = view_tensor(keras, tensor)
        made_by = tuple(paths[id(o)] for o in chain if id(o) in paths)
        views.append(
            OutputView(
                name=name,
                dtype=shown.dtype,
                shape=shown.shape,
                layers=made_by,
                made_at=made_at.get(made_by[0]) if made_by else None,
                activation=_activation(chain),
                loss=_loss_of(losses, name, position, len(tensors)),
            )
        )
    return tuple(views)


def _names_of(model: Any, outputs: Any, count: int) -> list[str]:
    if isinstance(outputs, dict) and len(outputs) == count:
        return [str(name) for name in sorted(outputs)]
    names = getattr(model, "output_names", None) or ()
    if len(names) == count:
        return [str(name) for name in names]
    return [str(position) for position in range(count)]


def _chain(tensor: Any, makers: Mapping[int, Call]) -> Iterator[Any]:
    """Yields what makes a tensor, the last first, back to the first with weights."""
    done: set[int] = set()
    waiting = [tensor]
    while waiting:
        call = makers.get(id(waiting.pop(0)))
        if call is None or id(call.operation) in done:
            continue
        done.add(id(call.operation))
        yield call.operation
        if not _has_weights(call.operation):
            waiting += call.arguments


def _has_weights(operation: Any) -> bool:
    return bool(getattr(operation, "weights", ())) or (
        hasattr(operation, "_flatten_layers") and bool(parts_of(operation))
    )


def _activation(chain: list[Any]) -> str:
    """Returns the last nonlinearity of a chain; empty without anything in it."""
    for operation in chain:
        kind = type(operation).__name__
        name = read_config(operation).get("activation")
        if isinstance(name, str) and name != "linear":
            return name.lower()
        if kind in _NONLINEAR or not hasattr(operation, "compute_dtype"):
            return kind.lower()  # an operation of a graph is its own name
    return "linear" if chain else ""


def _loss_of(
    losses: tuple[LossView, ...], name: str, position: int, count: int
) -> LossView | None:
    for loss in losses:
        if loss.output in {name, str(position)} or (count == 1 and not loss.output):
            return loss
    return next((loss for loss in losses if not loss.output), None)
