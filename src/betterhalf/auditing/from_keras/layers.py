"""Facts about layers: policy, weights, settings, and what they were seen to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from betterhalf.auditing.from_keras.graph import find_edges, find_layers, parts_of
from betterhalf.auditing.from_keras.observing import Observation, view_tensor
from betterhalf.auditing.from_keras.settings import read_config
from betterhalf.auditing.from_keras.user_code import UserCode
from betterhalf.auditing.sources import Place
from betterhalf.auditing.view import LayerView, WeightView
from betterhalf.repairing.dtypes import is_from_keras, policy_name


@dataclass(frozen=True)
class Made:
    """How a layer was made, where that was watched.

    Attributes:
        dtype_given: whether the script gave it a `dtype`.
        at: the line of the script.
    """

    dtype_given: bool
    at: Place | None


def view_layers(
    keras: Any,
    model: Any,
    paths: Mapping[int, str],
    seen: Observation | None,
    code: UserCode,
    made: Callable[[Any], Made | None],
) -> tuple[LayerView, ...]:
    """Returns facts about the model and every layer inside it.

    Args:
        keras: the imported module.
        model: the model.
        paths: of `name_layers`.
        seen: a watched call; absent without.
        code: reads the source of the user's classes.
        made: tells how a layer was made.
    """
    edges = find_edges(keras, model, paths, seen)
    holders = {
        id(part): path
        for layer in find_layers(model)
        for path in [paths[id(layer)]]
        for part in parts_of(layer)
    }
    inner = {
        id(part)
        for layer in find_layers(model)
        if is_from_keras(type(layer)) and not isinstance(layer, keras.Model)
        for part in parts_of(layer)
    }

    def how_made(layer: Any) -> Made | None:
        known = made(layer)
        if known is None or id(layer) not in inner:
            return known
        return Made(dtype_given=False, at=known.at)  # Keras gave it, not the script

    calls: dict[int, list[Any]] = {}
    for call in seen.calls if seen else ():
        calls.setdefault(id(call.operation), []).append(call)
    return tuple(
        _view(keras, layer, paths, holders, edges, calls, code, how_made(layer))
        for layer in find_layers(model)
    )


def _view(
    keras: Any,
    layer: Any,
    paths: Mapping[int, str],
    holders: Mapping[int, str],
    edges: list[tuple[str, str]],
    calls: Mapping[int, list[Any]],
    code: UserCode,
    made: Made | None,
) -> LayerView:
    path, kind, seen = paths[id(layer)], type(layer), calls.get(id(layer), [])
    from_keras = is_from_keras(kind)
    return LayerView(
        path=path,
        name=str(layer.name),
        class_name=kind.__name__,
        bases=_bases(keras, kind),
        module=kind.__module__,
        from_keras=from_keras,
        policy=policy_name(layer),
        compute_dtype=str(layer.compute_dtype),
        variable_dtype=str(layer.variable_dtype),
        autocast=bool(getattr(layer, "autocast", True)),
        dtype_given=None if made is None else made.dtype_given,
        made_at=None if made is None else made.at,
        built=bool(layer.built),
        trainable=bool(layer.trainable),
        stateful=bool(getattr(layer, "stateful", False)),
        weights=tuple(view_weight(weight) for weight in _own_weights(layer)),
        parameters=sum(_size(weight) for weight in layer.weights),
        config=read_config(layer),
        holder=holders.get(id(layer)),
        holds=tuple(paths[id(part)] for part in parts_of(layer)),
        incoming=tuple(dict.fromkeys(a for a, b in edges if b == path)),
        outgoing=tuple(dict.fromkeys(b for a, b in edges if a == path)),
        inputs=tuple(view_tensor(keras, t) for call in seen for t in call.arguments),
        outputs=tuple(view_tensor(keras, t) for call in seen for t in call.outputs),
        masked=any(call.masked for call in seen),
        calls=len(seen),
        code=None if from_keras else code.of_class(kind),
    )


def view_weight(weight: Any) -> WeightView:
    """Returns facts about a variable; its values are not read."""
    return WeightView(
        name=str(weight.name),
        shape=tuple(weight.shape),
        dtype=str(weight.dtype),
        trainable=bool(weight.trainable),
        autocast=bool(getattr(weight, "autocast", getattr(weight, "_autocast", True))),
    )


def _bases(keras: Any, kind: type) -> tuple[str, ...]:
    stop = kind.__mro__.index(keras.layers.Layer)
    return tuple(each.__name__ for each in kind.__mro__[1 : stop + 1])


def _own_weights(layer: Any) -> Iterator[Any]:
    inside = {id(w) for part in parts_of(layer) for w in part.weights}
    return (weight for weight in layer.weights if id(weight) not in inside)


def _size(weight: Any) -> int:
    size = 1
    for each in weight.shape:
        size *= each or 1
    return size
