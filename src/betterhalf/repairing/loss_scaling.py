"""The repair `loss-scaling`: float16 gradients are scaled, and only where the loss is.

Keras wraps the optimizer if the policy of the model object is exactly `mixed_float16`,
whatever its layers compute in, and whether or not a train step of the user's own scales
the loss; and its wrapper can come to a scale of 0, and then turns every weight to NaN.
So what is wrapped here is wrapped in `betterhalf.LossScaleOptimizer`. Without scaling
small gradients become zero; with a wrapper and an unscaled loss every step is 32,768
times too small.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import FunctionType
from typing import Any

from betterhalf.keras_seams.layers import find_owner
from betterhalf.keras_seams.listening import ApplyCall
from betterhalf.records.trial import Note, Repair
from betterhalf.repairing.dtypes import is_from_keras, names_in, own_layers


CODE = "loss-scaling"
NOT_SCALED = "gradients-not-scaled"
_AND_WRAP = ", and wrap the optimizer in `betterhalf.LossScaleOptimizer`"


class LossScaling:
    """Wraps optimizers at compile, and steps aside where nobody scales the loss.

    Args:
        keras: the imported module.
        on_repair: called with each model whose optimizer was wrapped, and the record.
        on_note: called once for each optimizer whose loss nobody scales.
    """

    def __init__(
        self,
        keras: Any,
        on_repair: Callable[[Any, Repair], None],
        on_note: Callable[[Note], None],
    ):
        self._keras = keras
        self._on_repair = on_repair
        self._on_note = on_note
        self._scaled: set[int] = set()
        self._noted: set[int] = set()
        self._float16_models = False
        self._left: weakref.WeakSet[Any] = weakref.WeakSet()

    @property
    def is_needed(self) -> bool:
        """Whether something computes in float16, so that steps may be skipped."""
        policy = self._keras.config.dtype_policy()
        return self._float16_models or policy.compute_dtype == "float16"

    def wrap(self, model: Any, arguments: dict[str, Any]) -> None:
        """Wraps the optimizer in the arguments of `compile` where that is right.

        Args:
            model: about to be compiled.
            arguments: of `compile`, by name; `optimizer` is replaced.
        """
        self._left.discard(model)
        if not arguments.get("auto_scale_loss", True):
            self._left.add(model)  # the user said so
            return
        if not _computes_in_float16(model):
            if model.built and model.dtype_policy.name == "mixed_float16":
                arguments["auto_scale_loss"] = False  # Keras wraps a float32 model
            return
        self._float16_models = True
        given = arguments.get("optimizer", "rmsprop")
        if given is None:
            return
        optimizer = self._keras.optimizers.get(given)
        if self._is_wrapped(optimizer):
            if self._may_replace(model, optimizer):
                arguments["optimizer"] = self._replaced(model, optimizer)
            return
        if getattr(optimizer, "loss_scale_factor", None) is not None:
            arguments["auto_scale_loss"] = False  # scaled already, by a fixed factor
            return
        arguments["optimizer"] = self._wrapped(model, optimizer)

    def wrap_late(self, model: Any) -> None:
        """Wraps what `compile` could not: see `make_train_function`.

        The layers of a subclassed model may be new since, and optimizers of its own
        are attributes by now. Those are wrapped if the train step scales losses.

        Args:
            model: compiled, its train function not yet made.
        """
        if model in self._left or not _computes_in_float16(model):
            return
        self._float16_models = True
        optimizer = getattr(model, "optimizer", None)
        if self._may_wrap(optimizer) and not _has_own_step(model):
            model.optimizer = self._wrapped(model, optimizer)
        elif _has_own_step(model) and _scales_losses(type(model)):
            for name, value in list(vars(model).items()):
                if self._may_wrap(value):
                    setattr(model, name, self._wrapped(model, value))

    def _may_wrap(self, optimizer: Any) -> bool:
        return (
            isinstance(optimizer, self._keras.optimizers.Optimizer)
            and not self._is_wrapped(optimizer)
            and getattr(optimizer, "loss_scale_factor", None) is None
        )

    def _wrapped(self, model: Any, optimizer: Any) -> Any:
        wrapped = _make_scaling(optimizer)
        if optimizer.built:
            wrapped.build(optimizer._trainable_variables)
        self._tell(model, optimizer, "a layer computes in float16")
        return wrapped

    def _may_replace(self, model: Any, optimizer: Any) -> bool:
        """Whether the script's own wrapper is Keras's, new, and used by Keras alone."""
        return (
            type(optimizer) is self._keras.optimizers.LossScaleOptimizer
            and not optimizer.built
            and not _has_own_step(model)
        )

    def _replaced(self, model: Any, optimizer: Any) -> Any:
        self._tell(model, optimizer, "the scale of Keras's can become 0 or infinite")
        return _make_scaling(
            optimizer.inner_optimizer,
            initial_scale=optimizer.initial_scale,
            dynamic_growth_steps=optimizer.dynamic_growth_steps,
            name=optimizer.name,
        )

    def _tell(self, model: Any, optimizer: Any, reason: str) -> None:
        repair = Repair(
            code=CODE,
            where=str(optimizer.name),
            before=type(optimizer).__name__,
            after="betterhalf.LossScaleOptimizer",
            reason=reason,
        )
        self._on_repair(model, repair)

    def saw_scaled_loss(self, optimizer: Any) -> None:
        """Remembers that a loss was scaled for this optimizer."""
        if scales_loss(self._keras, optimizer):
            self._scaled.add(id(optimizer))

    def apply(self, step: ApplyCall, proceed: Callable[[], Any]) -> Any:
        """Goes on with a step, past the wrapper if the loss was never scaled for it.

        Whether it was is known from the trace: `scale_loss` runs before `apply` does.
        """
        optimizer = step.optimizer
        if id(optimizer) in self._scaled or not self.is_needed:
            return proceed()
        self._note(optimizer)
        if not self._is_wrapped(optimizer):
            return proceed()
        if step.stateless:
            return _apply_inner_stateless(optimizer, *step.arguments)
        return _apply_inner(optimizer, *step.arguments)

    def _note(self, optimizer: Any) -> None:
        if id(optimizer) in self._noted:
            return
        self._noted.add(id(optimizer))
        self._on_note(
            Note(
                code=NOT_SCALED,
                text=(
                    f"the training loop never scales the loss for `{optimizer.name}`: "
                    "float16 gradients below 6e-8 become zero"
                ),
                todo="add `loss = optimizer.scale_loss(loss)` before the gradients are "
                "taken" + ("" if self._is_wrapped(optimizer) else _AND_WRAP),
            )
        )

    def _is_wrapped(self, optimizer: Any) -> bool:
        return isinstance(optimizer, self._keras.optimizers.LossScaleOptimizer)


def _make_scaling(optimizer: Any, **options: Any) -> Any:
    from betterhalf.scaling.optimizer import (  # noqa: PLC0415 (it imports keras)
        LossScaleOptimizer,
    )

    return LossScaleOptimizer(optimizer, **options)


def _computes_in_float16(model: Any) -> bool:
    return any(layer.compute_dtype == "float16" for layer in own_layers(model))


def _has_own_step(model: Any) -> bool:
    return not is_from_keras(find_owner(type(model), "train_step")) or not (
        is_from_keras(find_owner(type(model), "make_train_function"))
    )


def _scales_losses(kind: type) -> bool:
    """Whether a method of the user's calls `scale_loss`."""
    return any(
        "scale_loss" in names_in(method.__code__)
        for owner in kind.__mro__
        if not is_from_keras(owner)
        for method in vars(owner).values()
        if isinstance(method, FunctionType)
    )


def scales_loss(keras: Any, optimizer: Any) -> bool:
    """Whether `optimizer.scale_loss` multiplies at all: Keras's plain one does not."""
    return (
        isinstance(optimizer, keras.optimizers.LossScaleOptimizer)
        or getattr(optimizer, "loss_scale_factor", None) is not None
    )


def _apply_inner(
    optimizer: Any, grads: Any, trainable_variables: Any | None = None
) -> None:
    if not optimizer.built:
        optimizer.build(trainable_variables)
    optimizer.inner_optimizer.apply(grads, trainable_variables)


def _apply_inner_stateless(
    optimizer: Any, optimizer_variables: Any, grads: Any, trainable_variables: Any
) -> tuple[Any, Any]:
    inner = optimizer.inner_optimizer
    own = len(optimizer.variables) - len(inner.variables)
    trainable_variables, inner_variables = inner.stateless_apply(
        list(optimizer_variables[own:]), grads, trainable_variables
    )
    return trainable_variables, [*optimizer_variables[:own], *inner_variables]
