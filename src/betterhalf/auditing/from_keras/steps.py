"""Facts about training steps: the user's own source, and one step that is traced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from betterhalf import backends
from betterhalf.auditing.from_keras.arrays import Batch
from betterhalf.auditing.from_keras.compiling import name_optimizers
from betterhalf.auditing.from_keras.observing import (
    Failures,
    dtype_of,
    layers_in_16bit,
)
from betterhalf.auditing.from_keras.user_code import UserCode, is_users
from betterhalf.auditing.sources import Code, CodeView
from betterhalf.auditing.view import StepView, TrainStepView
from betterhalf.keras_seams import Listener, install, recorded_calls
from betterhalf.keras_seams.layers import find_owner
from betterhalf.keras_seams.listening import ApplyCall
from betterhalf.repairing.dtypes import computing_in_float32, is_from_keras


_APPLIES = ("apply_gradients", "stateless_apply", "minimize")
_GRADIENTS = (
    *("GradientTape", "gradient", "grad", "value_and_grad", "vjp"),
    *("backward", "jacobian", "minimize"),
)
_KERAS_SCALES = "compute_loss_and_updates"
"""On JAX this method of Keras's scales the loss by itself."""


def view_train_step(model: Any, code: UserCode) -> TrainStepView | None:
    """Returns facts about a `train_step` of the user's; `None` for Keras's own."""
    owner = find_owner(type(model), "train_step")
    if is_from_keras(owner) or not is_users(owner.__module__):
        return None
    whole = code.of_class(type(model)) or CodeView()
    step = whole.method("train_step")
    reached = _follow(step, whole, _rest_of_file(owner, code))
    scaled = {call.receiver for call in reached.calls_named("scale_loss")}
    if _mentions(reached, _KERAS_SCALES) and not _defines(whole, _KERAS_SCALES):
        scaled.add("self.optimizer")
    applied = {
        call.receiver
        for call in reached.calls
        if call.name in _APPLIES
        or (call.name == "apply" and "opt" in call.receiver.rpartition(".")[2].lower())
    }
    return TrainStepView(
        owner=owner.__name__,
        code=reached,
        scaled=tuple(sorted(scaled)),
        applied=tuple(sorted(applied)),
        takes_gradients=any(call.name in _GRADIENTS for call in reached.calls),
        calls_super=any(call.target == "super().train_step" for call in step.calls),
    )


def _rest_of_file(owner: type, code: UserCode) -> CodeView:
    function: Any = vars(owner)["train_step"]
    path = getattr(getattr(function, "__code__", None), "co_filename", None)
    return (path and code.of_file(path, owner.__module__)) or CodeView()


def _follow(start: CodeView, own: CodeView, file: CodeView) -> CodeView:
    """Returns code with that of the methods and functions that it calls or hands on."""
    reached, done, waiting = start, {"train_step"}, _called(start)
    while waiting:
        name = waiting.pop()
        if name in done:
            continue
        done.add(name)
        plain = name.removeprefix("self.").removeprefix("super().")
        part = own.method(plain) if plain != name else file.inside(name)
        reached = reached + part
        waiting |= _called(part) - done
    return reached


def _called(code: CodeView) -> set[str]:
    """Returns methods as `self.name` and functions by name, called or handed on."""
    named = {call.target for call in code.calls}
    for call in code.calls:
        for value in (*call.arguments, *call.keywords.values()):
            if isinstance(value, Code):
                named.add(str(value))
    return {name for name in named if name.startswith("self.") or name.isidentifier()}


def _mentions(code: CodeView, method: str) -> bool:
    return any(name.rpartition(".")[2] == method for name in _called(code))


def _defines(code: CodeView, method: str) -> bool:
    return any(each.function.endswith(f".{method}") for each in code.functions)


def trace_step(
    keras: Any, model: Any, batch: Batch, paths: Mapping[int, str], code: UserCode
) -> StepView | None:
    """Traces one training step, and returns what was seen.

    What a first `fit` would build is built: weights, optimizer, metrics.

    Args:
        keras: the imported module.
        model: the model.
        batch: with targets, unless the model has a step of its own.
        paths: path of each layer by its id.
        code: tells lines of the user's.

    Returns:
        `None` where the model cannot be trained on this batch.
    """
    own_step = not is_from_keras(find_owner(type(model), "train_step"))
    optimizer = getattr(model, "optimizer", None)
    if not getattr(model, "compiled", False) or (batch.y is None and not own_step):
        return None
    if optimizer is None:
        return None
    heard = _StepListener(keras)
    error: Exception | None = None
    failures = Failures()
    data = keras.tree.map_structure(lambda a: _to_tensor(keras, a), batch.data)
    installation = install(keras, [heard], aside=True)
    try:
        with recorded_calls(keras, lambda *_: None, failures.add):
            model._symbolic_build(data_batch=data)
            backends.load(keras.backend.backend()).trace_step(model, data)
    except Exception as raised:  # the step is the user's; what it raises is a finding
        error = raised
    finally:
        installation.remove()
    names = name_optimizers(keras, model)
    return StepView(
        error=None if error is None else first_line(error),
        error_at=None if error is None else code.place_of_error(error),
        error_layer=paths.get(id(failures.innermost(error))),
        fails_in_float32=None if error is None else _fails(keras, model, data),
        scaled=tuple(sorted({names.get(each, "") for each in heard.scaled})),
        applied=tuple(sorted({names.get(each, "") for each in heard.applied})),
        gradient_dtypes=tuple(sorted(heard.gradients)),
    )


def _fails(keras: Any, model: Any, data: Any) -> bool:
    """Whether the step raises in float32 too."""
    adapter = backends.load(keras.backend.backend())
    with computing_in_float32(keras, layers_in_16bit(model)):
        try:
            model._symbolic_build(data_batch=data)
            adapter.trace_step(model, data)
        except Exception:
            return True
    return False


def first_line(error: Exception) -> str:
    """Returns the class of an error and the first line of what it says."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _to_tensor(keras: Any, array: Any) -> Any:
    floatx = keras.config.floatx() if str(array.dtype) == "float64" else None
    return keras.ops.convert_to_tensor(array, dtype=floatx)


class _StepListener(Listener):
    """Hears whose loss is scaled and who takes a step."""

    def __init__(self, keras: Any):
        self._keras = keras
        self.scaled: set[int] = set()
        self.applied: set[int] = set()
        self.gradients: set[str] = set()

    def on_scale_loss(self, optimizer: Any) -> None:
        """Remembers whose loss is scaled."""
        self.scaled.add(id(optimizer))

    def around_apply(self, step: ApplyCall, proceed: Any) -> Any:
        """Remembers who takes a step, and in which dtypes it gets its gradients."""
        self.applied.add(id(step.optimizer))
        gradients = step.arguments[1 if step.stateless else 0] if step.arguments else ()
        for gradient in self._keras.tree.flatten(gradients):
            dtype = dtype_of(self._keras, gradient)
            if dtype is not None:
                self.gradients.add(dtype)
        return proceed()
