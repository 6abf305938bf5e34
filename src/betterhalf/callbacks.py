"""Callbacks for a script's own `fit`; importing this module imports keras.

They have no method at the ends of batches, so Keras's asynchronous dispatch stays on.
"""

from __future__ import annotations

import time
from typing import Any

import keras


class EpochTimer(keras.callbacks.Callback):
    """Puts the wall time of each epoch into its logs, as `compare` measures it.

    Metrics in the logs reach every logger for free: `History`, `CSVLogger`,
    `TensorBoard`. Put it first in the list, so that the callbacks behind it see them.

    The logs get:

    - `epoch_seconds`: from the beginning of the epoch to its end, validation included.
      The first epoch also holds compilation.
    - `train_seconds`: its part up to the end of the last training step.

    Attributes:
        epoch_seconds: the first of the two, one float an epoch.
        train_seconds: the second, one float an epoch.

    Example:

    >>> timer = betterhalf.callbacks.EpochTimer()
    >>> history = model.fit(x, y, epochs=3, callbacks=[timer])
    >>> history.history["epoch_seconds"]
    [1.63, 0.58, 0.57]
    """

    def __init__(self):
        super().__init__()
        self.epoch_seconds: list[float] = []
        self.train_seconds: list[float] = []
        self._began = 0.0
        self._train_ended: float | None = None

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Forgets an earlier training."""
        self.epoch_seconds = []
        self.train_seconds = []

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Starts the clock."""
        self._train_ended = None
        self._began = time.perf_counter()

    def on_test_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Marks where training ends and validation begins."""
        self._end_train_part()

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Adds both times to the logs."""
        train_ended = self._end_train_part()
        self.epoch_seconds.append(time.perf_counter() - self._began)
        self.train_seconds.append(train_ended - self._began)
        if logs is not None:
            logs["epoch_seconds"] = self.epoch_seconds[-1]
            logs["train_seconds"] = self.train_seconds[-1]

    def _end_train_part(self) -> float:
        if self._train_ended is None:
            # a metric of the last step is there when the device has computed it
            model: Any = self.model
            for value in model.get_metrics_result().values():
                keras.ops.convert_to_numpy(value)
                break
            self._train_ended = time.perf_counter()
        return self._train_ended
