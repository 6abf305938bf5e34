"""JAX: asynchronous dispatch, stateless steps, a compiler that tells what it needs."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import jax
from jax.extend.backend import get_backend

from betterhalf.backends._base import Backend
from betterhalf.backends._calls import StepCalls
from betterhalf.records.environment import Device


class JaxBackend(Backend):
    """See `Backend`."""

    name = "jax"

    def __init__(self):
        self._calls = StepCalls()
        self._plain_jit: Any = None

    def synchronise(self, outputs: Any) -> None:
        """Waits for every array in `outputs`."""
        jax.block_until_ready(outputs)

    def peak_memory_bytes(self) -> int | None:
        """Returns the peak since the process began: JAX cannot reset it."""
        peaks = [
            stats["peak_bytes_in_use"]
            for device in jax.local_devices()
            if (stats := device.memory_stats()) and "peak_bytes_in_use" in stats
        ]
        return sum(peaks) if peaks else None

    def compiled_step_bytes(self) -> int | None:
        """Returns the largest need of any compiled function named `train_step`."""
        sizes: list[int] = []
        for executable in get_backend().live_executables():
            names = [module.name for module in executable.hlo_modules()]
            if any("train_step" in name for name in names):
                stats = executable.get_compiled_memory_stats()
                sizes.append(
                    stats.argument_size_in_bytes
                    + stats.output_size_in_bytes
                    + stats.temp_size_in_bytes
                    - stats.alias_size_in_bytes
                )
        return max(sizes, default=None)

    def prepare(self) -> None:
        """Wraps what `jax.jit` returns to the script's own modules.

        A jitted function is an object of C++ whose calls cannot be seen from outside,
        and a stateless step leaves no trace in a variable. Callers inside installed
        packages, Keras among them, get the plain function.
        """
        if self._plain_jit is not None:
            return
        plain = self._plain_jit = jax.jit
        calls = self._calls

        @functools.wraps(plain)
        def jit(*args: Any, **kwargs: Any) -> Any:
            result = plain(*args, **kwargs)
            if _is_installed(sys._getframe(1).f_globals):
                return result
            return _Jitted(result, calls)

        jax.jit = jit

    def watch_loops(self, stepped: Callable[[Any, bool], None]) -> Callable[[], None]:
        """Watches the calls of every function that the script jitted."""
        self.prepare()
        self._calls.stepped = stepped

        def stop() -> None:
            jax.jit = self._plain_jit
            self._plain_jit = None

        return stop

    def note_step(self, outputs: Any) -> None:
        """See `Backend.note_step`."""
        self._calls.note(outputs)

    def compiles_step(self, model: Any) -> bool:
        """See `Backend.compiles_step`."""
        return bool(model.jit_compile) and not model.run_eagerly

    def trace_step(self, model: Any, data: Any) -> None:
        """See `Backend.trace_step`."""
        state = tuple(
            [variable.value for variable in variables]
            for variables in (
                model.trainable_variables,
                model.non_trainable_variables,
                model.optimizer.variables,
                model.metrics_variables,
            )
        )
        jax.eval_shape(model.train_step, state, data)

    def devices(self) -> tuple[Device, ...]:
        """See `Backend.devices`."""
        return tuple(
            Device(kind=device.platform, name=device.device_kind)
            for device in jax.local_devices()
            if device.platform != "cpu"
        )

    def versions(self) -> tuple[str, ...]:
        """See `Backend.versions`."""
        return ("jax", "jaxlib")


def _is_installed(caller: dict[str, Any]) -> bool:
    file = str(caller.get("__file__", ""))
    return "site-packages" in file or "dist-packages" in file


class _Jitted:
    """A jitted function whose calls are seen; everything else is passed on."""

    def __init__(self, function: Any, calls: StepCalls):
        functools.update_wrapper(self, function)
        self._function = function
        self._calls = calls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        call = functools.partial(self._function, *args, **kwargs)
        return self._calls.call(id(self._function), call)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)


ADAPTER = JaxBackend
