"""Facts about `compile`: losses, metrics, optimizers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from betterhalf.auditing.from_keras.settings import read_config
from betterhalf.auditing.from_keras.user_code import UserCode
from betterhalf.auditing.view import CompileView, LossView, OptimizerView
from betterhalf.repairing.dtypes import is_from_keras


def view_compile(keras: Any, model: Any, code: UserCode) -> CompileView | None:
    """Returns what `compile` was told; `None` for a model that is not compiled."""
    if not getattr(model, "compiled", False):
        return None
    losses = getattr(getattr(model, "_compile_loss", None), "_user_loss", None)
    metrics = getattr(model, "_compile_metrics", None)
    return CompileView(
        losses=tuple(
            _loss(keras, name, loss, code) for name, loss in _by_output(losses)
        ),
        metrics=tuple(
            _metric(keras, name, metric, code)
            for held in ("_user_metrics", "_user_weighted_metrics")
            for name, metric in _metrics_by_output(getattr(metrics, held, None))
        ),
        jit_compile=getattr(model, "jit_compile", None),
        run_eagerly=bool(getattr(model, "run_eagerly", False)),
        steps_per_execution=int(getattr(model, "steps_per_execution", 1) or 1),
    )


def view_optimizers(
    keras: Any, model: Any, others: Mapping[str, Any]
) -> tuple[OptimizerView, ...]:
    """Returns the compiled optimizer, and those that are attributes of the model.

    Args:
        keras: the imported module.
        model: the model.
        others: optimizers of a loop, by name, native ones too.
    """
    compiled = getattr(model, "optimizer", None)
    found: dict[int, OptimizerView] = {}
    for name, value in [("optimizer", compiled), *list(vars(model).items())]:
        for attribute, optimizer in _optimizers_in(keras, name.lstrip("_"), value):
            view = _optimizer(keras, attribute, optimizer, optimizer is compiled)
            found.setdefault(id(optimizer), view)
    for name, optimizer in others.items():
        if isinstance(optimizer, keras.optimizers.Optimizer):
            view = _optimizer(keras, name, optimizer, compiled=False)
        else:
            view = _native(name, optimizer)
        found[id(optimizer)] = view
    return tuple(found.values())


def _native(name: str, optimizer: Any) -> OptimizerView:
    defaults = getattr(optimizer, "defaults", {})
    return OptimizerView(
        attribute=name,
        class_name=type(optimizer).__name__,
        compiled=False,
        native=True,
        config={k: v for k, v in defaults.items() if isinstance(v, bool | int | float)},
    )


def name_optimizers(keras: Any, model: Any) -> dict[int, str]:
    """Returns where the model keeps each of its optimizers, by id."""
    pairs = [("optimizer", getattr(model, "optimizer", None)), *vars(model).items()]
    names: dict[int, str] = {}
    for name, value in pairs:
        for attribute, optimizer in _optimizers_in(keras, name.lstrip("_"), value):
            names.setdefault(id(optimizer), attribute)
    return names


def _optimizers_in(keras: Any, name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, keras.optimizers.Optimizer):
        yield name, value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _optimizers_in(keras, f"{name}[{key!r}]", each)
    elif isinstance(value, list | tuple):
        for at, each in enumerate(value):
            if isinstance(each, keras.optimizers.Optimizer):
                yield f"{name}[{at}]", each


def _optimizer(
    keras: Any, attribute: str, optimizer: Any, compiled: bool
) -> OptimizerView:
    wrapped = isinstance(optimizer, keras.optimizers.LossScaleOptimizer)
    inner = optimizer.inner_optimizer if wrapped else optimizer
    scale = getattr(optimizer, "dynamic_scale", None) if wrapped else None
    config = read_config(inner)
    if wrapped:
        for name in ("initial_scale", "dynamic_growth_steps"):
            config[name] = getattr(optimizer, name, None)
    return OptimizerView(
        attribute=attribute,
        class_name=type(inner).__name__,
        wrapper=type(optimizer).__name__ if wrapped else "",
        from_betterhalf=type(optimizer).__module__.startswith("betterhalf."),
        compiled=compiled,
        scale=None if scale is None else _number(keras, scale),
        iterations=int(_number(keras, inner.iterations) or 0),
        config=config,
    )


def _number(keras: Any, variable: Any) -> float | None:
    try:
        return float(keras.ops.convert_to_numpy(variable))
    except Exception:  # inside a trace a variable has no value
        return None


def _by_output(given: Any) -> Iterator[tuple[str, Any]]:
    """Yields a name and a loss for each output that one was given for."""
    if isinstance(given, dict):
        for name, each in given.items():
            for _, loss in _by_output(each):
                yield str(name), loss
    elif isinstance(given, list | tuple):
        for position, each in enumerate(given):
            for _, loss in _by_output(each):
                yield str(position), loss
    elif given is not None:
        yield "", given


def _metrics_by_output(given: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(given, dict):
        for name, each in given.items():
            for metric in each if isinstance(each, list | tuple) else [each]:
                if metric is not None:
                    yield str(name), metric
    elif isinstance(given, list | tuple):
        nested = any(isinstance(each, list | tuple) for each in given)
        for position, each in enumerate(given):
            for metric in each if isinstance(each, list | tuple) else [each]:
                if metric is not None:
                    yield (str(position) if nested else ""), metric


def _loss(keras: Any, output: str, given: Any, code: UserCode) -> LossView:
    found = _resolve(keras.losses, given)
    config = read_config(found)
    own = not _is_keras(found)
    return LossView(
        output=output,
        kind=_name(found),
        from_keras=not own,
        from_logits=config.get(
            "from_logits", False if isinstance(given, str) else None
        ),
        dtype=str(getattr(found, "dtype", None) or keras.config.floatx()),
        code=_code(found, code) if own else None,
    )


def _metric(keras: Any, output: str, given: Any, code: UserCode) -> LossView:
    found = given if _is_accuracy(given) else _resolve(keras.metrics, given)
    wrapper = keras.metrics.MeanMetricWrapper
    own = not _is_keras(found)
    is_object = isinstance(found, keras.metrics.Metric)
    return LossView(
        output=output,
        kind=_name(found),
        from_keras=not own,
        is_function=isinstance(found, wrapper) or not is_object,
        from_logits=read_config(found).get("from_logits") if is_object else None,
        dtype=str(getattr(found, "dtype", None) or keras.config.floatx()),
        code=_code(found, code) if own else None,
    )


def _is_accuracy(given: Any) -> bool:
    return isinstance(given, str) and given.lower() in {
        "accuracy",
        "acc",
        "crossentropy",
        "ce",
    }


def _resolve(module: Any, given: Any) -> Any:
    if isinstance(given, str) and given.lower() not in {"crossentropy", "ce"}:
        try:
            return module.get(given)
        except ValueError:
            return given
    return given


def _is_keras(found: Any) -> bool:
    if isinstance(found, str):
        return True
    if isinstance(found, type) or not hasattr(found, "__name__"):
        return is_from_keras(type(found))
    return str(getattr(found, "__module__", "")).partition(".")[0] == "keras"


def _name(found: Any) -> str:
    return (
        str(found)
        if isinstance(found, str)
        else str(getattr(found, "__name__", type(found).__name__))
    )


def _code(found: Any, code: UserCode) -> Any:
    if hasattr(found, "__code__"):
        return code.of_function(found)
    return code.of_class(type(found))
