"""The dtype table and the three classic checks, out of a view."""

from __future__ import annotations

from betterhalf.auditing.view import LayerView, ModelView
from betterhalf.precision.facts import SIXTEEN_BIT
from betterhalf.records.audit import LayerRow
from betterhalf.records.training import Checks, LayerDtypes


def read_rows(view: ModelView) -> tuple[LayerRow, ...]:
    """Returns a row for each layer inside the model, in its order."""
    outputs = {path for output in view.outputs for path in output.layers}
    return tuple(
        LayerRow(
            path=layer.path,
            class_name=layer.class_name,
            policy=layer.policy,
            compute_dtype=layer.compute_dtype,
            variable_dtype=layer.variable_dtype,
            output_dtypes=tuple(dict.fromkeys(each.dtype for each in layer.outputs)),
            parameters=layer.parameters,
            flags=tuple(_flags(layer, layer.path in outputs)),
        )
        for layer in view.layers[1:]
    )


def _flags(layer: LayerView, makes_output: bool) -> list[str]:
    flags = {
        "output": makes_output,
        "frozen": not layer.trainable and layer.parameters > 0,
        "not built": not layer.built,
        "16-bit weights": any(weight.dtype in SIXTEEN_BIT for weight in layer.weights),
        "yours": not layer.from_keras,
    }
    return [flag for flag, holds in flags.items() if holds]


def read_checks(view: ModelView) -> Checks:
    """Returns global policy, layers in 16 bit, outputs and optimizer."""
    leaves = [
        layer
        for layer in view.layers[1:]
        if layer.is_leaf and layer.class_name != "InputLayer"
    ]
    mixed = [layer for layer in leaves if layer.is_mixed]
    middle = mixed[len(mixed) // 2] if mixed else None
    optimizer = next(iter(view.optimizers), None)
    compiled = view.compiled
    return Checks(
        global_policy=view.environment.global_policy,
        model_policy=view.model.policy if view.layers else None,
        layers=len(leaves),
        layers_computing_16bit=len(mixed),
        middle_layer=None
        if middle is None
        else LayerDtypes(
            path=middle.path,
            compute=middle.compute_dtype,
            variable=middle.variable_dtype,
        ),
        output_dtypes=tuple(output.dtype for output in view.outputs),
        optimizer=None if optimizer is None else optimizer.class_name,
        wrapped=optimizer is not None and bool(optimizer.wrapper),
        jit_compile=None if compiled is None else compiled.jit_compile,
        run_eagerly=None if compiled is None else compiled.run_eagerly,
        steps_per_execution=1 if compiled is None else compiled.steps_per_execution,
    )
