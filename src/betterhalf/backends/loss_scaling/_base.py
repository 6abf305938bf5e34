"""The specification of the adapters, and the way they share: deciding on the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class ScaledStep(Protocol):
    """One optimizer step on gradients of a scaled loss.

    Attributes:
        gradients: one for each variable, or `None`.
        variables: of the model, in the order of the gradients.
        kept: for each gradient, whether it must not be divided: Keras writes some
            gradients into their variable as they are (`overwrite_with_gradient`).
        deciding: the tensors that `decide` wants to know, besides the verdict.
        touched: every variable that the step may write to.
        patience: bad steps in a row that are too many.
        complaint: what to stop with then; `None` to go on.
    """

    patience: int

    @property
    def gradients(self) -> Sequence[Any]: ...

    @property
    def variables(self) -> Sequence[Any]: ...

    @property
    def kept(self) -> Sequence[bool]: ...

    @property
    def complaint(self) -> str | None: ...

    @property
    def deciding(self) -> Sequence[Any]: ...

    @property
    def touched(self) -> Sequence[Any]: ...

    def scale(self) -> Any:
        """Returns what the loss was multiplied by, a float32 tensor."""
        ...

    def decide(self, finite: bool, numbers: Sequence[float]) -> bool:
        """Moves the state by numbers of the host; returns whether to update."""
        ...

    def on(self, gradients: Sequence[Any]) -> ScaledStep:
        """Returns the same step on the gradients of another replica."""
        ...

    def update(self, gradients: Sequence[Any]) -> None:
        """Lets the inner optimizer take the step."""
        ...

    def accept(self) -> None:
        """Moves the state by tensors: the step was good."""
        ...

    def reject(self) -> Any:
        """Moves the state by tensors: the step was bad; returns bad steps in a row."""
        ...


class LossScaling:
    """Loss scaling in one framework."""

    def adopt(self, optimizer: Any) -> Any:
        """Returns a Keras optimizer; one of the framework itself is put into one."""
        return optimizer

    def unscale(self, step: ScaledStep) -> tuple[list[Any], Any]:
        """Divides the gradients by the scale and tells whether all were finite.

        Returns:
            The gradients in float32 or wider, `None` where there was none; and a
            boolean tensor.
        """
        raise NotImplementedError

    def take(self, step: ScaledStep) -> None:
        """Takes the step, or skips it and leaves every variable as it was."""
        gradients, finite = self.unscale(step)
        if not self.is_known(finite):
            self.choose(finite, gradients, step)
        elif self._decide(finite, step):
            step.update(gradients)

    def _decide(self, finite: Any, step: ScaledStep) -> bool:
        finite, *numbers = self.read(finite, *step.deciding)
        return step.decide(bool(finite), numbers)

    def is_known(self, tensor: Any) -> bool:
        """Whether the host can read a tensor now, for no function is being traced."""
        del tensor
        return True

    def read(self, *tensors: Any) -> list[float]:
        """Returns the values of scalars."""
        return [float(tensor) for tensor in tensors]

    def read_now(self, variable: Any) -> float | None:
        """Returns the value of a scalar variable; `None` where none can be read now."""
        return float(variable.value) if self.is_known(variable.value) else None

    def write(self, variable: Any, number: float) -> None:
        """Sets a scalar variable from the host."""
        variable.assign(number)

    def choose(self, finite: Any, gradients: list[Any], step: ScaledStep) -> None:
        """Takes or skips a step inside a function that is being traced."""
        raise NotImplementedError
