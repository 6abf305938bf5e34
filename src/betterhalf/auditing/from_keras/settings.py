"""The plain settings of a layer, an optimizer or a loss."""

from __future__ import annotations

import inspect
from typing import Any

from betterhalf.repairing.dtypes import is_from_keras


_STATE = {
    *("autocast", "build", "built", "call_signature_parameters", "compiled"),
    *("input_layers", "layers", "name", "optimizer", "output_layers", "output_names"),
    *("predict_function", "quantize", "quantization_config", "stop_training"),
    *("steps_per_execution", "supports_jit", "test_function", "train_function"),
    *("trainable", "training", "unrolled_steps_per_execution"),
}
"""Attributes that are no settings, or are facts of their own in the view."""


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
        if not name.startswith("_")
        and name not in _STATE
        and (plain := _plain(value)) is not _NOT_PLAIN
    }
    if is_from_keras(type(owner)):
        try:
            config = owner.get_config()
        except Exception:  # some classes of Keras's cannot tell theirs
            config = {}
        for name, value in config.items():
            plain = _plain(value)
            if plain is _NOT_PLAIN or name in _STATE or plain == "DTypePolicy":
                continue
            if found.get(name) is None:
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
