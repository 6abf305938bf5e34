"""torch: eager steps, native optimizers that Keras does not see."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from betterhalf.backends._base import Backend
from betterhalf.records.environment import Device


class TorchBackend(Backend):
    """See `Backend`."""

    name = "torch"
    infers_dtypes = False

    def __init__(self):
        self._stepped: Callable[[Any, bool], None] | None = None

    def synchronise(self, outputs: Any) -> None:
        """Waits for every accelerator in use; a CPU has nothing to wait for."""
        del outputs
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        elif torch.backends.mps.is_available():
            torch.mps.synchronize()

    def reset_peak_memory(self) -> None:
        """See `Backend.reset_peak_memory`."""
        if torch.cuda.is_available():
            for index in range(torch.cuda.device_count()):
                torch.cuda.reset_peak_memory_stats(index)

    def peak_memory_bytes(self) -> int | None:
        """Returns the peak of allocated memory, without the allocator's reserve."""
        if not torch.cuda.is_available():
            return None
        count = torch.cuda.device_count()
        return sum(torch.cuda.max_memory_allocated(index) for index in range(count))

    def watch_loops(self, stepped: Callable[[Any, bool], None]) -> Callable[[], None]:
        """Watches native `torch.optim` optimizers; Keras's own come by `note_step`."""
        self._stepped = stepped
        handle = register_optimizer_step_post_hook(lambda *_: stepped(None, False))

        def stop() -> None:
            handle.remove()
            self._stepped = None

        return stop

    def note_step(self, outputs: Any) -> None:
        """See `Backend.note_step`."""
        if self._stepped is not None:
            self._stepped(outputs, False)

    def before_native_step(self, step: Callable[[Any], None]) -> Callable[[], None]:
        """See `Backend.before_native_step`."""
        handle = register_optimizer_step_pre_hook(lambda optimizer, *_: step(optimizer))
        return handle.remove

    def has_values(self, tensor: Any) -> bool:
        """On `meta`, where Keras infers shapes, a 16-bit layer returns float32."""
        return not getattr(tensor, "is_meta", False)

    def without_gradients(self) -> AbstractContextManager[None]:
        """See `Backend.without_gradients`."""
        return torch.no_grad()

    def trace_step(self, model: Any, data: Any) -> None:
        """See `Backend.trace_step`."""
        optimizer = getattr(model, "optimizer", None)
        held = [*model.variables, *getattr(optimizer, "variables", ())]
        held += model.metrics_variables
        variables = {id(each): each for each in held}.values()
        before = [variable.value.detach().clone() for variable in variables]
        try:
            with torch.random.fork_rng():  # of every device
                model.train_step(data)
        finally:
            for variable, value in zip(variables, before, strict=True):
                variable.value.data.copy_(value)
            model.zero_grad()

    def devices(self) -> tuple[Device, ...]:
        """See `Backend.devices`."""
        if not torch.cuda.is_available():
            return ()
        return tuple(
            Device(kind="gpu", name=torch.cuda.get_device_name(index))
            for index in range(torch.cuda.device_count())
        )


ADAPTER = TorchBackend
