"""Watches one call of the model: what each layer got, and what it returned.

JAX and TensorFlow are asked by a trace, which computes nothing and shows the true
dtypes. torch infers shapes where dtypes are not true, so there the model is really
called, on the batch or on ones, with every assignment kept out of its variables.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from betterhalf import backends
from betterhalf.auditing.from_keras.user_code import UserCode
from betterhalf.auditing.sources import Place
from betterhalf.auditing.view import TensorView
from betterhalf.keras_seams import recorded_calls
from betterhalf.repairing.dtypes import (
    computes_in_16bit,
    computing_in_float32,
    own_layers,
)


_UNKNOWN_SIZE = 8
"""A size that nobody knows, such as a number of time steps."""


@dataclass
class Call:
    """A call of a layer, or of an operation of a graph.

    Attributes:
        operation: the layer.
        arguments: the tensors that it got, as they came.
        outputs: the tensors that it returned; they stay alive, so that their ids hold.
        masked: whether it got a mask.
    """

    operation: Any
    arguments: list[Any]
    outputs: list[Any]
    masked: bool


@dataclass
class Observation:
    """What one call of the model showed.

    Attributes:
        calls: the innermost first.
        outputs: what the model returned, in its structure; `None` where it raised.
        inputs: the tensors that it was called with.
        error: what it raised.
        error_at: the line of the user's code that the error came through.
        error_in: the innermost layer that it came through.
        fails_in_float32: whether the same call raises in float32 too.
    """

    calls: list[Call] = field(default_factory=list)
    outputs: Any = None
    inputs: list[Any] = field(default_factory=list)
    error: Exception | None = None
    error_at: Place | None = None
    error_in: Any = None
    fails_in_float32: bool | None = None


class Failures:
    """Remembers which layers raised what, until the error that came out is known."""

    def __init__(self):
        self._seen: list[tuple[Any, Exception]] = []

    def add(self, operation: Any, error: Exception) -> None:
        """Remembers a layer whose call raised; the innermost come first."""
        self._seen.append((operation, error))

    def innermost(self, error: BaseException | None) -> Any:
        """Returns the innermost layer that an error, or its cause, came through."""
        while error is not None:
            for operation, raised in self._seen:
                if raised is error:
                    return operation
            error = error.__cause__ or error.__context__
        return None


def observe_call(keras: Any, model: Any, x: Any, code: UserCode) -> Observation | None:
    """Calls the model once, untouched, and returns what was seen.

    A model that is not built yet is built, as its first call would.

    Args:
        keras: the imported module.
        model: the model.
        x: a batch of NumPy arrays in the model's structure; `None` to make do with what
            the model declares as its inputs.
        code: tells lines of the user's.

    Returns:
        `None` where there is nothing to call the model with.
    """
    specs = _specs_of(keras, x) if x is not None else _declared(keras, model)
    if specs is None:
        return None
    seen = _try_call(keras, model, specs, x)
    if seen.error is not None:
        seen.error_at = code.place_of_error(seen.error)
        with computing_in_float32(keras, layers_in_16bit(model)):
            seen.fails_in_float32 = _try_call(keras, model, specs, x).error is not None
    return seen


def layers_in_16bit(model: Any) -> list[Any]:
    """Returns the layers that can compute in float32 as well."""
    return [layer for layer in own_layers(model) if computes_in_16bit(layer)]


def _try_call(keras: Any, model: Any, specs: Any, x: Any) -> Observation:
    seen, failures = Observation(), Failures()
    adapter = backends.load(keras.backend.backend())
    internals: Any = importlib.import_module("keras.src.backend")

    def call(inputs: Any) -> Any:
        seen.inputs = keras.tree.flatten(inputs)
        outputs = model(inputs, training=False)
        seen.outputs = outputs
        return outputs

    try:
        if adapter.infers_dtypes:
            with recorded_calls(keras, _into(keras, seen), failures.add):
                internals.compute_output_spec(call, specs)
            return seen
        if not model.built:
            internals.compute_output_spec(lambda i: model(i, training=False), specs)
        arrays = _arrays_of(keras, specs) if x is None else x
        tensors = keras.tree.map_structure(keras.ops.convert_to_tensor, arrays)
        with (
            adapter.without_gradients(),
            keras.StatelessScope(),
            recorded_calls(keras, _into(keras, seen), failures.add),
        ):
            call(tensors)
    except Exception as error:  # the model is the user's; what it raises is a finding
        seen.error = error
        seen.error_in = failures.innermost(error)
    return seen


def view_tensor(keras: Any, tensor: Any) -> TensorView:
    """Returns the dtype and the shape of a tensor, traced or not."""
    shape = tuple(
        size if isinstance(size, int) else None for size in (tensor.shape or ())
    )
    return TensorView(dtype=dtype_of(keras, tensor) or "", shape=shape)


def dtype_of(keras: Any, value: Any) -> str | None:
    """Returns the dtype of a tensor as Keras spells it; `None` for anything else."""
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        return None
    try:
        return str(keras.backend.standardize_dtype(dtype))
    except (ValueError, TypeError):
        return None


def _into(keras: Any, seen: Observation) -> Callable[..., None]:
    def on_call(operation: Any, args: Any, kwargs: Any, outputs: Any) -> None:
        given = _tensors(
            keras, (args, {k: v for k, v in kwargs.items() if k != "mask"})
        )
        masks = [kwargs.get("mask"), *(getattr(t, "_keras_mask", None) for t in given)]
        returned = _tensors(keras, outputs)
        is_masked = any(_is_there(mask) for mask in masks)
        seen.calls.append(Call(operation, given, returned, is_masked))

    return on_call


def _is_there(mask: Any) -> bool:
    if isinstance(mask, list | tuple):
        return any(each is not None for each in mask)
    return mask is not None


def _tensors(keras: Any, tree: Any) -> list[Any]:
    return [
        leaf for leaf in keras.tree.flatten(tree) if dtype_of(keras, leaf) is not None
    ]


def _specs_of(keras: Any, x: Any) -> Any:
    def spec(array: Any) -> Any:
        dtype = "string" if array.dtype.kind in "OSU" else str(array.dtype)
        if dtype == "float64":
            dtype = keras.config.floatx()  # as `fit` converts it
        return keras.KerasTensor(array.shape, dtype)

    return keras.tree.map_structure(spec, x)


def _declared(keras: Any, model: Any) -> Any:
    """Returns the inputs that a model declares, or was built with; sizes filled in."""
    given = getattr(model, "_inputs_struct", None)
    functional = getattr(model, "_functional", None)
    if given is None and functional is not None:  # a Sequential that is built
        given = functional._inputs_struct
    if given is None:
        return None

    def spec(tensor: Any) -> Any:
        shape = [2 if at == 0 else _UNKNOWN_SIZE for at in range(len(tensor.shape))]
        known = [size or other for size, other in zip(tensor.shape, shape, strict=True)]
        return keras.KerasTensor(known, tensor.dtype)

    return keras.tree.map_structure(spec, given)


def _arrays_of(keras: Any, specs: Any) -> Any:
    def ones(spec: Any) -> Any:
        array = np.ones(spec.shape, "float32")
        return keras.ops.convert_to_tensor(array, spec.dtype)

    return keras.tree.map_structure(ones, specs)
