"""An optimizer of `torch.optim` in the shape of Keras's, for loops that use one."""

from __future__ import annotations

from typing import Any

import keras
import torch

from betterhalf.errors import UsageError


class NativeOptimizer(keras.optimizers.Optimizer):
    """Takes the steps of a `torch.optim` optimizer; its slots stay there.

    Args:
        native: the optimizer.
    """

    def __init__(self, native: torch.optim.Optimizer):
        super().__init__(learning_rate=0.0)
        self.native = native

    @property
    def parameters(self) -> list[Any]:
        """All parameters of all groups."""
        return [each for group in self.native.param_groups for each in group["params"]]

    @property
    def learning_rate(self) -> float:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The rate of the first group."""
        return self.native.param_groups[0]["lr"]

    def apply(self, grads: Any, trainable_variables: Any = None) -> None:
        """Takes a step on gradients, one for each parameter."""
        del trainable_variables
        for parameter, gradient in zip(self.parameters, grads, strict=True):
            parameter.grad = gradient
        self.native.step()
        self._iterations.assign_add(1)

    def get_config(self) -> dict[str, Any]:
        """Refuses: torch saves its optimizers itself.

        Raises:
            UsageError: always.
        """
        raise UsageError(
            "expected a Keras optimizer to make a config of. Received: "
            f"{type(self.native).__name__} of torch.optim. Save its `state_dict()` and "
            "the values of `optimizer.variables`."
        )
