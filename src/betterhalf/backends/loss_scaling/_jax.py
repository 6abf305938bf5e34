"""JAX: both outcomes of a step are computed and one is selected, element by element.

XLA fuses the selection with the inner optimizer's arithmetic and goes on writing in
place. A conditional does neither: it copies every variable and every slot at each step,
whichever way it goes.
"""

from __future__ import annotations

from collections import defaultdict
from functools import reduce
from typing import Any

import jax.numpy as jnp
import keras
from jax import lax
from jax.core import Tracer

from betterhalf.backends.loss_scaling._base import LossScaling, ScaledStep


class JaxLossScaling(LossScaling):
    """See `LossScaling`."""

    def unscale(self, step: ScaledStep) -> tuple[list[Any], Any]:
        """See `LossScaling.unscale`."""
        inverse = 1.0 / step.scale()
        gradients = [
            gradient if gradient is None or kept else gradient * inverse
            for gradient, kept in zip(step.gradients, step.kept, strict=True)
        ]
        return gradients, all_finite([g for g in step.gradients if g is not None])

    def is_known(self, tensor: Any) -> bool:
        """See `LossScaling.is_known`."""
        return not isinstance(tensor, Tracer)

    def read_now(self, variable: Any) -> float | None:
        """Returns the value, unless the trainer holds it or has given it away."""
        value = variable._value
        if value is None or not self.is_known(value) or value.is_deleted():
            return None
        return float(value)

    def choose(self, finite: Any, gradients: list[Any], step: ScaledStep) -> None:
        """Takes the step and skips it; what is written counts in one of the two."""
        with _Guard(finite):
            step.update(gradients)
            step.accept()
        with _Guard(jnp.logical_not(finite)):
            step.reject()


class _Guard(keras.StatelessScope):
    """A scope in which an assignment takes effect only if a condition holds.

    Each one selects between the new value and the one before it. What is computed from
    a variable then reads the selected value, so that XLA can overwrite the old one;
    with one selection at the end it would have to keep a copy of both.
    """

    def __init__(self, condition: Any):
        super().__init__()
        self._condition = condition
        self._written: dict[int, Any] = {}

    def __enter__(self) -> Any:
        super().__enter__()
        if self.original_scope is not None:
            self.state_mapping = dict(self.original_scope.state_mapping)
        return self

    def add_update(self, update: tuple[Any, Any]) -> None:
        variable, value = update
        self._written[id(variable)] = variable
        value = jnp.where(self._condition, value, variable.value)
        super().add_update((variable, value))

    def __exit__(self, *exception: Any) -> None:
        super().__exit__(*exception)
        if exception[0] is None:
            for variable in self._written.values():
                variable.assign(self.get_current_value(variable))


def all_finite(gradients: list[Any]) -> Any:
    """Whether there is no infinity and no NaN.

    The sum of squares tells, at the speed of memory: it is a dot product, where XLA on
    a CPU writes a reduction of any other kind out in several passes. Gradients of one
    shape are added up before, in one kernel. Both may overflow where every element is
    finite, so if the sum is not finite each element is looked at.
    """
    groups: dict[Any, list[Any]] = defaultdict(list)
    for gradient in gradients:
        groups[gradient.shape, gradient.dtype].append(gradient)
    squares = [_sum_squares(reduce(jnp.add, group)) for group in groups.values()]
    return lax.cond(
        jnp.isfinite(reduce(jnp.add, squares)),
        lambda: jnp.array(True),
        lambda: jnp.all(jnp.stack([jnp.all(jnp.isfinite(each)) for each in gradients])),
    )


def _sum_squares(array: Any) -> Any:
    flat = array.reshape(-1)
    return jnp.dot(flat, flat, preferred_element_type=jnp.float32)


ADAPTER = JaxLossScaling
