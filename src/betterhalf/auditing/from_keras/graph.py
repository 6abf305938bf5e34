"""Which layers there are in a model, and which hand on to which."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from betterhalf.auditing.from_keras.observing import Observation


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


def find_edges(
    keras: Any, model: Any, paths: Mapping[int, str], seen: Observation | None
) -> list[tuple[str, str]]:
    """Returns who hands on to whom, by path; `""` stands for an input of the model.

    The graph of a functional model tells it, and a watched call the rest. Operations
    without a layer, such as a sum of two tensors in a functional model, are passed
    over: what went into them goes on.

    Args:
        keras: the imported module.
        model: the model.
        paths: of `name_layers`.
        seen: a watched call; absent without.
    """
    edges = [*_graph_edges(keras, model, paths), *_called_edges(paths, seen)]
    return list(dict.fromkeys(edges))


def _graph_edges(
    keras: Any, model: Any, paths: Mapping[int, str]
) -> Iterator[tuple[str, str]]:
    kind = keras.layers.InputLayer
    own_inputs = {id(part) for part in parts_of(model) if isinstance(part, kind)}

    def sources(tensors: Any) -> Iterator[str]:
        for tensor in tensors:
            history = getattr(tensor, "_keras_history", None)
            if history is None:
                continue
            operation, index, _ = history
            if id(operation) in own_inputs:
                yield ""
            elif id(operation) in paths:
                yield paths[id(operation)]
            elif not isinstance(operation, keras.layers.Layer):
                yield from sources(operation._inbound_nodes[index].input_tensors)

    for layer in find_layers(model):
        for node in getattr(layer, "_inbound_nodes", None) or ():
            for source in sources(node.input_tensors):
                yield source, paths[id(layer)]


def _called_edges(
    paths: Mapping[int, str], seen: Observation | None
) -> Iterator[tuple[str, str]]:
    if seen is None:
        return
    makers: dict[int, tuple[str, ...]] = {id(tensor): ("",) for tensor in seen.inputs}
    for call in seen.calls:
        sources = [s for t in call.arguments for s in makers.get(id(t), ())]
        path = paths.get(id(call.operation))
        if path is not None:
            yield from ((source, path) for source in sources)
        found = (path,) if path is not None else tuple(dict.fromkeys(sources))
        for tensor in call.outputs:
            makers.setdefault(id(tensor), found)
