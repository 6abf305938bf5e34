"""Facts about layers: policy, weights, settings, and what they were seen to do."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from betterhalf.auditing.from_keras.observing import Observation, dtype_of, view_tensor
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


def name_layers(model: Any) -> dict[int, str]:
    """Returns a unique path for each layer by its id, in the order of the model.

    Args:
        model: its own path is its name, with which no other path begins.
    """
    paths: dict[int, str] = {}
    taken: set[str] = set()

    def add(layer: Any, path: str) -> None:
        if id(layer) in paths:
            return
        free, number = path, 1
        while free in taken:
            number += 1
            free = f"{path}#{number}"
        taken.add(free)
        paths[id(layer)] = free
        for part in parts_of(layer):
            add(part, part.name if layer is model else f"{free}/{part.name}")

    add(model, str(model.name))
    return paths


def parts_of(layer: Any) -> list[Any]:
    """Returns the layers directly inside a layer."""
    parts = list(layer._flatten_layers(include_self=False, recursive=False))
    # a Sequential holds its layers once more in the graph that it makes of them
    inner = getattr(layer, "_functional", None)
    return [part for part in parts if part is not inner]


def find_layers(model: Any) -> list[Any]:
    """Returns the model and each layer inside it once, in the same order."""
    found: dict[int, Any] = {}

    def add(layer: Any) -> None:
        if id(layer) not in found:
            found[id(layer)] = layer
            for part in parts_of(layer):
                add(part)

    add(model)
    return list(found.values())


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
    edges = _edges(keras, paths, seen)
    holders = {
        id(part): path
        for layer in find_layers(model)
        for path in [paths[id(layer)]]
        for part in parts_of(layer)
    }
    calls: dict[int, list[Any]] = {}
    for call in seen.calls if seen else ():
        calls.setdefault(id(call.operation), []).append(call)
    return tuple(
        _view(keras, layer, paths, holders, edges, calls, code, made(layer))
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


def read_config(owner: Any) -> dict[str, Any]:
    """Returns the plain settings of an object of Keras's, or of the user's.

    Attributes that are numbers, strings, truth values, `None` or tuples of these, as
    they are; functions and objects of Keras by their name. What `get_config` says comes
    on top for classes of Keras's.
    """
    held = getattr(owner, "__dict__", {})
    found = {
        name: plain
        for name, value in list(held.items())
        if not name.startswith("_") and (plain := _plain(value)) is not _NOT_PLAIN
    }
    if is_from_keras(type(owner)):
        try:
            config = owner.get_config()
        except Exception:  # some classes of Keras's cannot tell theirs
            config = {}
        for name, value in config.items():
            plain = _plain(value)
            if plain is not _NOT_PLAIN and found.get(name) is None:
                found[name] = plain
    return found


_NOT_PLAIN = object()


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        items = tuple(_plain(each) for each in value)
        return _NOT_PLAIN if _NOT_PLAIN in items else items
    if isinstance(value, dict) and "class_name" in value:
        return str(value["class_name"])
    if inspect.isfunction(value) or inspect.isbuiltin(value):
        return value.__name__
    kind = type(value)
    if is_from_keras(kind) and not hasattr(value, "compute_dtype"):
        return kind.__name__
    return _NOT_PLAIN


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


def _edges(
    keras: Any, paths: Mapping[int, str], seen: Observation | None
) -> list[tuple[str, str]]:
    """Returns who hands on to whom, by path; `""` stands for an input of the model.

    Operations without a layer, such as a sum of two tensors in a functional model, are
    passed over: what went into them goes on.
    """
    if seen is None:
        return []
    makers: dict[int, tuple[str, ...]] = {id(tensor): ("",) for tensor in seen.inputs}
    edges: list[tuple[str, str]] = []
    for call in seen.calls:
        sources = [s for t in call.arguments for s in makers.get(id(t), ())]
        path = paths.get(id(call.operation))
        if path is not None:
            edges += [(source, path) for source in sources]
        for tensor in call.outputs:
            if dtype_of(keras, tensor) is not None:
                found = (path,) if path is not None else tuple(dict.fromkeys(sources))
                makers.setdefault(id(tensor), found)
    return list(dict.fromkeys(edges))
