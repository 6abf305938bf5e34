"""The repair `loss-scaling`: float16 gradients are scaled, and only where the loss is.

Keras wraps the optimizer if the policy of the model object is exactly `mixed_float16`,
whatever its layers compute in, and whether or not a train step of the user's own scales
the loss. Without scaling small gradients become zero; with a wrapper and an unscaled
loss every step is 32,768 times too small.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from betterhalf.keras_seams.listening import ApplyCall
from betterhalf.records.trial import Note, Repair
from betterhalf.repairing.dtypes import own_layers


CODE = "loss-scaling"
NOT_SCALED = "gradients-not-scaled"
_AND_WRAP = ", and wrap the optimizer in `keras.optimizers.LossScaleOptimizer`"


class LossScaling:
    """Wraps optimizers at compile, and steps aside where nobody scales the loss.

    Args:
        keras: the imported module.
        on_repair: called for each optimizer that was wrapped.
        on_note: called once for each optimizer whose loss nobody scales.
    """

    def __init__(
        self,
        keras: Any,
        on_repair: Callable[[Repair], None],
        on_note: Callable[[Note], None],
    ):
        self._keras = keras
        self._on_repair = on_repair
        self._on_note = on_note
        self._scaled: set[int] = set()
        self._noted: set[int] = set()
        self._float16_models = False

    def wrap(self, model: Any, arguments: dict[str, Any]) -> None:
        """Wraps the optimizer in the arguments of `compile` where Keras would not.

        Args:
            model: about to be compiled.
            arguments: of `compile`, by name; `optimizer` is replaced.
        """
        if not any(layer.compute_dtype == "float16" for layer in own_layers(model)):
            return
        self._float16_models = True
        if not arguments.get("auto_scale_loss", True):
            return  # the user said so
        keras_wraps = model.dtype_policy.name == "mixed_float16"
        given = arguments.get("optimizer", "rmsprop")
        if keras_wraps or given is None:
            return
        optimizer = self._keras.optimizers.get(given)
        wrapper = self._keras.optimizers.LossScaleOptimizer
        if isinstance(optimizer, wrapper):
            return
        arguments["optimizer"] = wrapper(optimizer)
        self._on_repair(
            Repair(
                code=CODE,
                where=str(optimizer.name),
                before=type(optimizer).__name__,
                after=wrapper.__name__,
                reason="a layer computes in float16 and Keras does not scale the loss",
            )
        )

    def saw_scaled_loss(self, optimizer: Any) -> None:
        """Remembers that a loss was scaled for this optimizer."""
        if scales_loss(self._keras, optimizer):
            self._scaled.add(id(optimizer))

    def apply(self, step: ApplyCall, proceed: Callable[[], Any]) -> Any:
        """Goes on with a step, past the wrapper if the loss was never scaled for it.

        Whether it was is known from the trace: `scale_loss` runs before `apply` does.
        """
        optimizer = step.optimizer
        if id(optimizer) in self._scaled or not self._computes_in_float16():
            return proceed()
        self._note(optimizer)
        if not self._is_wrapped(optimizer):
            return proceed()
        if step.stateless:
            return _apply_inner_stateless(optimizer, *step.arguments)
        return _apply_inner(optimizer, *step.arguments)

    def _computes_in_float16(self) -> bool:
        policy = self._keras.config.dtype_policy()
        return self._float16_models or policy.compute_dtype == "float16"

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
