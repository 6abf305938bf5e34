"""TensorFlow: graph functions, GPUs that keep a high-water mark of their own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from betterhalf.backends._base import Backend
from betterhalf.backends._calls import StepCalls
from betterhalf.records.environment import Device


class TensorflowBackend(Backend):
    """See `Backend`."""

    name = "tensorflow"

    def __init__(self):
        self._calls = StepCalls()

    def synchronise(self, outputs: Any) -> None:
        """Fetches one tensor of `outputs`: a graph function ends as a whole."""
        for tensor in tf.nest.flatten(outputs):
            if isinstance(tensor, tf.Tensor):
                tensor.numpy()
                return

    def reset_peak_memory(self) -> None:
        """See `Backend.reset_peak_memory`."""
        for gpu in tf.config.list_logical_devices("GPU"):
            tf.config.experimental.reset_memory_stats(gpu.name)

    def peak_memory_bytes(self) -> int | None:
        """See `Backend.peak_memory_bytes`."""
        peaks = [
            tf.config.experimental.get_memory_info(gpu.name)["peak"]
            for gpu in tf.config.list_logical_devices("GPU")
        ]
        return sum(peaks) if peaks else None

    def watch_loops(self, stepped: Callable[[Any, bool], None]) -> Callable[[], None]:
        """Watches the calls of every `tf.function`."""
        calls = self._calls
        calls.stepped = stepped
        owner = type(tf.function(lambda: None))
        original = owner.__call__

        @functools.wraps(original)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            bound = functools.partial(original, self, *args, **kwargs)
            if not tf.executing_eagerly():
                return bound()  # being traced into another function
            return calls.call(id(self), bound)

        owner.__call__ = call

        def stop() -> None:
            owner.__call__ = original

        return stop

    def note_step(self, outputs: Any) -> None:
        """See `Backend.note_step`."""
        self._calls.note(outputs)

    def compiles_step(self, model: Any) -> bool:
        """See `Backend.compiles_step`."""
        return not model.run_eagerly

    def trace_step(self, model: Any, data: Any) -> None:
        """See `Backend.trace_step`."""

        def spec(array: Any) -> Any:
            return tf.TensorSpec(array.shape, tf.as_dtype(array.dtype))

        with tf.init_scope():
            step = tf.function(model.train_step, reduce_retracing=False)
            step.get_concrete_function(tf.nest.map_structure(spec, data))

    def devices(self) -> tuple[Device, ...]:
        """See `Backend.devices`."""
        return tuple(
            Device(kind=device.device_type.lower(), name=_name(device))
            for device in tf.config.list_physical_devices()
            if device.device_type != "CPU"
        )

    def versions(self) -> tuple[str, ...]:
        """See `Backend.versions`."""
        return ("tensorflow", "tensorflow-cpu")


def _name(device: Any) -> str:
    details = tf.config.experimental.get_device_details(device)
    return str(details.get("device_name", device.name))


ADAPTER = TensorflowBackend
