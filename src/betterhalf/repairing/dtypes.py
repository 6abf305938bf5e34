"""What the repairs ask of a layer."""

from __future__ import annotations

from typing import Any


def computes_in_16bit(layer: Any) -> bool:
    """Whether a layer computes in 16 bit over float32 variables."""
    return (
        getattr(layer, "compute_dtype", None) in ("float16", "bfloat16")
        and layer.variable_dtype == "float32"
    )


def policy_name(layer: Any) -> str:
    """Returns the name of a layer's dtype policy."""
    return str(layer.dtype_policy.name)


def path_of(layer: Any) -> str:
    """Returns how a layer is called in a record."""
    return str(getattr(layer, "path", None) or layer.name)


def own_layers(layer: Any) -> list[Any]:
    """Returns a layer and every layer inside it, wrapped ones included."""
    return list(layer._flatten_layers())
