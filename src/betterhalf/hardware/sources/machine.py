"""The whole machine, as `top` shows it in its first lines."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

import psutil

from betterhalf.hardware.sources._base import Source


class MachineSource(Source):
    """CPU, memory and load of the machine, whoever causes them.

    `machine_cpu_percent` is the busy share of all logical processors since the reading
    before, 0 to 100; the first reading counts from the making of the source.
    """

    def __init__(self) -> None:
        super().__init__()
        self._readings: dict[str, Callable[[], float]] = {}
        self._probe("machine_cpu_percent", psutil.cpu_percent)
        self._probe("memory_used_bytes", lambda: psutil.virtual_memory().used)
        self._probe("swap_used_bytes", lambda: psutil.swap_memory().used)
        if hasattr(os, "getloadavg"):
            self._probe("load_1min", lambda: os.getloadavg()[0])
        else:
            self._note("load_1min: this platform keeps none")
        self.names = tuple(self._readings)

    def read(self) -> dict[str, float]:
        """Returns the state of the machine now."""
        return {name: self._try(name, read) for name, read in self._readings.items()}

    def summarise(self) -> dict[str, Any]:
        """Returns `logical_processors`."""
        return {"logical_processors": psutil.cpu_count()}

    def _probe(self, name: str, read: Callable[[], float]) -> None:
        if math.isfinite(self._try(name, read)):
            self._readings[name] = read

    def _try(self, name: str, read: Callable[[], float]) -> float:
        # psutil parses what the kernel offers: OSError and psutil.Error where a file
        # is closed to us (containers), ValueError and RuntimeError where it is odd
        try:
            return float(read())
        except (psutil.Error, OSError, ValueError, RuntimeError) as error:
            self._note(f"{name}: {type(error).__name__}")
            return math.nan
