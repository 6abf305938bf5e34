"""The three classic checks, read from the model that was trained."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from betterhalf.records.training import Checks, LayerDtypes
from betterhalf.repairing.dtypes import computes_in_16bit, path_of
from betterhalf.worker.sightings import Sightings


def read_checks(
    keras: Any,
    model: Any,
    sightings: Sightings,
    *,
    steps: int,
    applied_before: int,
) -> Checks:
    """Reads policy, layers, outputs, optimizer and state as a training leaves them.

    Args:
        keras: the imported module.
        model: the one that was trained; `None` if a loop never called one.
        sightings: what was seen while steps were traced.
        steps: training steps that were seen.
        applied_before: steps that the optimizer had applied when it began.
    """
    optimizer = _optimizer_of(keras, model) or sightings.optimizer
    layers = list(_leaf_layers(keras, model))
    sixteen = [layer for layer in layers if computes_in_16bit(layer)]
    return Checks(
        global_policy=str(keras.config.dtype_policy().name),
        model_policy=None if model is None else str(model.dtype_policy.name),
        layers=len(layers),
        layers_computing_16bit=len(sixteen),
        middle_layer=_describe(sixteen[len(sixteen) // 2]) if sixteen else None,
        output_dtypes=sightings.output_dtypes(model),
        non_finite_state=_non_finite(keras, model),
        jit_compile=getattr(model, "jit_compile", None),
        run_eagerly=getattr(model, "run_eagerly", None),
        steps_per_execution=getattr(model, "steps_per_execution", None) or 1,
        **_optimizer_checks(keras, optimizer, sightings, steps, applied_before),
    )


def read_applied_steps(keras: Any, optimizer: Any) -> int | None:
    """Returns the steps that an optimizer has applied; `None` if it is not Keras's."""
    if not isinstance(optimizer, keras.optimizers.Optimizer):
        return None
    return int(keras.ops.convert_to_numpy(optimizer.iterations))


def _optimizer_checks(
    keras: Any, optimizer: Any, sightings: Sightings, steps: int, applied_before: int
) -> dict[str, Any]:
    if optimizer is None:
        return {}
    wrapped = isinstance(optimizer, keras.optimizers.LossScaleOptimizer)
    inner = optimizer.inner_optimizer if wrapped else optimizer
    applied = read_applied_steps(keras, optimizer)
    if applied is not None:
        applied -= applied_before
    if not applied and steps:
        applied = None  # a stateless loop keeps its counters to itself
    return {
        "optimizer": type(inner).__name__,
        "wrapped": wrapped,
        "loss_scaled": id(optimizer) in sightings.scaled,
        "end_scale": _end_scale(keras, optimizer) if wrapped else None,
        "applied_steps": applied,
        "skipped_steps": steps - applied if wrapped and applied is not None else None,
    }


def _end_scale(keras: Any, optimizer: Any) -> float | None:
    scale = getattr(optimizer, "dynamic_scale", None)  # exists once it is built
    return None if scale is None else float(keras.ops.convert_to_numpy(scale))


def _optimizer_of(keras: Any, model: Any) -> Any:
    if model is None:
        return None
    given = getattr(model, "optimizer", None)
    if given is not None:
        return given
    kinds = keras.optimizers.Optimizer
    return next(
        (each for each in vars(model).values() if isinstance(each, kinds)), None
    )


def _leaf_layers(keras: Any, model: Any) -> Iterator[Any]:
    if model is None:
        return
    for layer in model._flatten_layers(include_self=False):
        parts = layer._flatten_layers(include_self=False, recursive=False)
        if not list(parts) and not isinstance(layer, keras.layers.InputLayer):
            yield layer


def _describe(layer: Any) -> LayerDtypes:
    return LayerDtypes(
        path=path_of(layer),
        compute=str(layer.compute_dtype),
        variable=str(layer.variable_dtype),
    )


def _non_finite(keras: Any, model: Any) -> tuple[str, ...]:
    if model is None:
        return ()
    return tuple(
        str(variable.path)
        for variable in model.weights
        if keras.backend.is_float_dtype(variable.dtype)
        and not bool(_all_finite(keras, variable))
    )


def _all_finite(keras: Any, variable: Any) -> Any:
    return keras.ops.convert_to_numpy(keras.ops.all(keras.ops.isfinite(variable)))
