"""Puts together what is known of a model, a batch, and the script around them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from betterhalf.auditing.from_keras.arrays import Batch, read_batch, view_arrays
from betterhalf.auditing.from_keras.compiling import view_compile, view_optimizers
from betterhalf.auditing.from_keras.environment import view_environment
from betterhalf.auditing.from_keras.graph import name_layers
from betterhalf.auditing.from_keras.layers import Made, view_layers
from betterhalf.auditing.from_keras.observing import Observation, observe_call
from betterhalf.auditing.from_keras.outputs import view_outputs
from betterhalf.auditing.from_keras.steps import first_line, trace_step, view_train_step
from betterhalf.auditing.from_keras.user_code import UserCode
from betterhalf.auditing.view import (
    EventView,
    ModelView,
    StepView,
    TensorView,
)


@dataclass(frozen=True, kw_only=True)
class Watched:
    """What is known beyond the model, where a script was watched.

    Attributes:
        script: path of the script; absent without one.
        events: what it did.
        made: tells how a layer was made.
        step: what was heard of a step that the script took itself.
        optimizers: of a loop of the script's own, by name.
        loaded_from: file that the model was read from.
    """

    script: str | None = None
    events: Sequence[EventView] = ()
    made: Callable[[Any], Made | None] = lambda layer: None
    step: StepView | None = None
    optimizers: Mapping[str, Any] = field(default_factory=dict)
    loaded_from: str | None = None


def read_model(
    keras: Any,
    model: Any,
    batch: Any = None,
    *,
    watched: Watched | None = None,
    traces_step: bool = True,
    folder: Path | None = None,
) -> ModelView:
    """Returns everything that a rule may know of a model.

    Weights, seeds and the state of an optimizer are as before. What is not built yet is
    built, as a first call or a first `fit` would.

    Args:
        keras: the imported module.
        model: a Keras model, compiled or not.
        batch: `x`, or a tuple as `fit` takes it apart; absent to make do without.
        watched: what was seen of the script around it.
        traces_step: whether a training step is traced too.
        folder: places in the source are told relative to it; the working directory if
            absent.
    """
    watched = watched or Watched()
    code = UserCode(folder)
    given = None if batch is None else read_batch(keras, batch)
    seen = observe_call(keras, model, None if given is None else given.x, code)
    paths = name_layers(model)  # after the call, which may have built layers
    step = watched.step
    if step is None and traces_step and given is not None:
        step = trace_step(keras, model, given, paths, code)
    compiled = view_compile(keras, model, code)
    layers = view_layers(keras, model, paths, seen, code, watched.made)
    return ModelView(
        name=str(model.name),
        kind=_kind(keras, model),
        layers=layers,
        inputs_expected=_declared(model),
        outputs=view_outputs(
            keras, model, paths, seen, compiled.losses if compiled else (), layers
        ),
        compiled=compiled,
        optimizers=view_optimizers(keras, model, watched.optimizers),
        train_step=view_train_step(model, code),
        step=step,
        environment=view_environment(keras),
        script=None if watched.script is None else code.of_script(watched.script),
        events=tuple(watched.events),
        loaded_from=watched.loaded_from,
        **_of_batch(keras, given),
        **_of_call(seen, paths),
    )


def _of_batch(keras: Any, batch: Batch | None) -> dict[str, Any]:
    if batch is None:
        return {}
    return {
        "inputs": view_arrays(keras, batch.x),
        "targets": view_arrays(keras, batch.y),
    }


def _of_call(seen: Observation | None, paths: dict[int, str]) -> dict[str, Any]:
    if seen is None:
        return {}
    if seen.error is None:
        return {"observed": True}
    return {
        "call_error": first_line(seen.error),
        "call_error_at": seen.error_at,
        "call_error_layer": paths.get(id(seen.error_in)),
        "call_fails_in_float32": seen.fails_in_float32,
    }


def _kind(keras: Any, model: Any) -> Literal["functional", "sequential", "subclass"]:
    if isinstance(model, keras.Sequential):
        return "sequential"
    return "functional" if hasattr(model, "_inputs_struct") else "subclass"


def _declared(model: Any) -> tuple[TensorView, ...]:
    try:
        tensors = model.inputs or ()
    except (AttributeError, ValueError):  # a Sequential that is not built
        return ()
    return tuple(
        TensorView(dtype=str(tensor.dtype), shape=tuple(tensor.shape))
        for tensor in tensors
    )
