"""One step on scaled gradients, and how the state moves, by numbers or by tensors.

The rule is `LossScaleRule`. On the host it runs as it stands; inside a compiled
function the same is written with tensors here, and a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keras import ops

from betterhalf.backends.loss_scaling import LossScaling
from betterhalf.precision.loss_scale import LossScaleRule, LossScaleState


class Step:
    """A step of `LossScaleOptimizer`; see `ScaledStep` for what is not said here.

    Args:
        optimizer: whose step this is.
        gradients: of the scaled loss.
        variables: one for each gradient, or `None` for those it was built with.
    """

    def __init__(self, optimizer: Any, gradients: Sequence[Any], variables: Any):
        self._optimizer = optimizer
        self._given = variables
        self._rule: LossScaleRule = optimizer.rule
        self._adapter: LossScaling = optimizer.adapter
        self.gradients = gradients
        known = optimizer.inner_optimizer._trainable_variables
        self.variables = known if variables is None else variables
        self.kept = [
            getattr(variable, "overwrite_with_gradient", False)
            for variable in self.variables
        ]
        self.patience: int = optimizer.teller.patience

    @property
    def complaint(self) -> str | None:
        """What a compiled function says when it stops; `None` where it goes on."""
        return self._optimizer.complaint

    @property
    def deciding(self) -> list[Any]:
        """The tensors of the state."""
        optimizer = self._optimizer
        return [
            optimizer.dynamic_scale.value,
            optimizer.step_counter.value,
            optimizer.skips.value,
            optimizer.inner_optimizer._iterations.value,
        ]

    @property
    def touched(self) -> list[Any]:
        """Every variable that a step may write to."""
        inner = self._optimizer.inner_optimizer
        return [
            *self._optimizer.own_variables,
            *inner.variables,
            *inner._trainable_variables,
        ]

    def scale(self) -> Any:
        """Returns what the loss was multiplied by."""
        return self._optimizer.current_scale()

    def on(self, gradients: Sequence[Any]) -> Step:
        """Returns the same step on the gradients of another replica."""
        return Step(self._optimizer, gradients, self._given)

    def update(self, gradients: Sequence[Any]) -> None:
        """Lets the inner optimizer take the step."""
        self._optimizer.inner_optimizer.apply(
            gradients, trainable_variables=self._given
        )

    def decide(self, finite: bool, numbers: Sequence[float]) -> bool:
        """Moves the state by numbers of the host; returns whether to update."""
        scale, counter, skipped, iterations = numbers
        before = LossScaleState(scale, int(counter), int(skipped))
        if finite:
            after = self._rule.after_good_step(before)
        else:
            after = self._rule.after_bad_step(before, searching=iterations == 0)
        self._write(before, after)
        self._optimizer.teller.complain(max(-after.counter, 0))
        return finite

    def _write(self, before: LossScaleState, after: LossScaleState) -> None:
        optimizer = self._optimizer
        self._adapter.write(optimizer.step_counter, after.counter)
        if after.scale != before.scale:
            self._adapter.write(optimizer.dynamic_scale, after.scale)
        if after.skipped != before.skipped:
            self._adapter.write(optimizer.skips, after.skipped)

    def accept(self) -> None:
        """Moves the state by tensors: the step was good."""
        optimizer, rule = self._optimizer, self._rule
        scale = optimizer.current_scale()
        counter: Any = ops.maximum(optimizer.step_counter.value, 0)
        counter = counter + 1
        grown = counter >= rule.growth_interval
        raised = ops.minimum(scale * rule.growth_factor, rule.ceiling)
        optimizer.step_counter.assign(ops.where(grown, 0, counter))
        optimizer.dynamic_scale.assign(ops.where(grown, raised, scale))

    def reject(self) -> Any:
        """Moves the state by tensors: the step was bad; returns bad steps in a row."""
        optimizer, rule = self._optimizer, self._rule
        scale = optimizer.current_scale()
        searching = ops.equal(optimizer.inner_optimizer._iterations.value, 0)
        counter: Any = ops.minimum(optimizer.step_counter.value, 0)
        counter = counter - 1
        lowered = ops.where(
            searching, scale * rule.search_factor, scale * rule.backoff_factor
        )
        lowers = ops.logical_or(searching, -counter >= rule.hysteresis)
        lowered = ops.where(lowers, ops.maximum(lowered, rule.floor), scale)
        optimizer.step_counter.assign(counter)
        optimizer.dynamic_scale.assign(lowered)
        optimizer.skips.assign(optimizer.skips.value + 1)
        return -counter
