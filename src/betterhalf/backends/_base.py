"""What every backend can be asked: the specification, with no-op defaults."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from betterhalf.records.environment import Device


class Backend:
    """One framework under Keras.

    A method whose question a framework or a device cannot answer returns `None`.
    """

    name = ""
    infers_dtypes = True
    """Whether a trace shows the dtypes that a real call has."""

    def synchronise(self, outputs: Any) -> None:
        """Waits until the device has computed `outputs`, a tree of tensors."""

    def reset_peak_memory(self) -> None:
        """Begins a new high-water mark of device memory, where that is possible."""

    def peak_memory_bytes(self) -> int | None:
        """Returns the high-water mark of all devices; `None` on a CPU."""
        return None

    def compiled_step_bytes(self) -> int | None:
        """Returns what the compiler says the train step needs; JAX alone tells."""
        return None

    def prepare(self) -> None:
        """Does what must be done before the script defines its compiled functions."""

    def watch_loops(self, stepped: Callable[[Any, bool], None]) -> Callable[[], None]:
        """Watches the functions in which a script of its own loop takes its steps.

        Args:
            stepped: called after each call of such a function with its outputs, and
                whether an optimizer step was traced or taken in it.

        Returns:
            A function that stops watching.
        """
        del stepped
        return lambda: None

    def note_step(self, outputs: Any) -> None:
        """An optimizer step of Keras has run its Python code (see `watch_loops`).

        Args:
            outputs: what the step returned; tensors of a trace, where it was traced.
        """

    def before_native_step(self, step: Callable[[Any], None]) -> Callable[[], None]:
        """Hears optimizers that are not Keras's, just before they take a step.

        Args:
            step: called with the optimizer.

        Returns:
            A function that stops hearing.
        """
        del step
        return lambda: None

    def compiles_step(self, model: Any) -> bool:
        """Whether a compiled model runs the Python of its train step in traces only."""
        del model
        return False

    def has_values(self, tensor: Any) -> bool:
        """Whether a tensor is a real one, or traced from real ones.

        False for what a backend infers shapes with, whose dtype may be another.
        """
        del tensor
        return True

    def without_gradients(self) -> AbstractContextManager[None]:
        """Returns a context in which nothing is kept for a backward pass."""
        return nullcontext()

    def trace_step(self, model: Any, data: Any) -> None:
        """Runs the Python of one training step, so that nothing is trained by it.

        JAX and TensorFlow trace it. torch takes the step, and puts every variable of
        the model, its optimizer and its metrics back.

        Args:
            model: compiled and built, its optimizer too.
            data: of the step, as tensors.
        """

    def devices(self) -> tuple[Device, ...]:
        """Returns the accelerators in use; none where the CPU computes."""
        return ()

    def versions(self) -> tuple[str, ...]:
        """Returns the distributions whose version can change a result."""
        return (self.name,)
