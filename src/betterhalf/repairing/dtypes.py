"""What the repairs ask of a layer, and how they compute in float32 for a while."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from types import CodeType
from typing import Any

from betterhalf.records.trial import Repair


SIXTEEN_BIT = ("float16", "bfloat16")
_VARIABLES = "keras.src.backend.common.variables"


def computes_in_16bit(layer: Any) -> bool:
    """Whether a layer computes in 16 bit over float32 variables."""
    return (
        getattr(layer, "compute_dtype", None) in SIXTEEN_BIT
        and layer.variable_dtype == "float32"
    )


def policy_name(layer: Any) -> str:
    """Returns the name of a layer's dtype policy."""
    return str(layer.dtype_policy.name)


def path_of(layer: Any) -> str:
    """Returns how a layer is called in a record."""
    return str(getattr(layer, "path", None) or layer.name)


def set_to_float32(code: str, layer: Any, reason: str) -> Repair:
    """Returns the record of a layer that computes in float32 from now on.

    Args:
        code: of the repair.
        layer: its policy not changed yet.
        reason: one clause.
    """
    return Repair(
        code=code,
        where=path_of(layer),
        before=policy_name(layer),
        after="float32",
        reason=reason,
    )


def own_layers(layer: Any) -> list[Any]:
    """Returns a layer and every layer inside it, wrapped ones included."""
    return list(layer._flatten_layers())


def is_graph(layer: Any) -> bool:
    """Whether a layer is a functional or a sequential model."""
    is_sequential = hasattr(layer, "add") and hasattr(layer, "pop")
    return is_sequential or hasattr(layer, "_nodes_by_depth")


def is_from_keras(kind: type) -> bool:
    """Whether a class came with Keras, and not with the user."""
    return kind.__module__.partition(".")[0] == "keras"


def names_in(code: CodeType) -> set[str]:
    """Returns the attributes and globals that a function names, nested ones too."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= names_in(constant)
    return names


def autocast_scope() -> Any:
    """Returns the scope under which Keras casts variables now, or `None`."""
    return sys.modules[_VARIABLES].get_autocast_scope()


def uncast() -> Any:
    """Returns a context in which variables are read as they are stored."""
    return sys.modules[_VARIABLES].AutocastScope(None)


@contextlib.contextmanager
def computing_in_float32(keras: Any, layers: list[Any]) -> Iterator[None]:
    """Lets layers compute in float32 while it is entered.

    Args:
        keras: the imported module.
        layers: all of them over float32 variables.
    """
    policies = [layer._dtype_policy for layer in layers]
    float32 = keras.dtype_policies.get("float32")
    try:
        for layer in layers:
            layer._dtype_policy = float32
        with uncast():
            yield
    finally:
        for layer, policy in zip(layers, policies, strict=True):
            layer._dtype_policy = policy


def cast_floats(keras: Any, tree: Any, source: tuple[str, ...], target: str) -> Any:
    """Casts the tensors of a tree whose dtype is one of `source`."""

    def cast(value: Any) -> Any:
        dtype = getattr(value, "dtype", None)
        if dtype is None or keras.backend.standardize_dtype(dtype) not in source:
            return value
        return keras.ops.cast(value, target)

    return keras.tree.map_structure(cast, tree)
