"""NVIDIA GPUs, as one would watch them in `nvidia-smi`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from betterhalf.hardware.nvml import (
    Gpu,
    NvmlAbsentError,
    list_visible_gpus,
    open_nvml,
)
from betterhalf.hardware.sources._base import Source


_HELD_BACK = 0x4 | 0x8 | 0x20 | 0x40 | 0x80
"""Clocks below what was asked for: software power cap, hardware slowdown, software and
hardware thermal slowdown, power brake (`nvmlClocksEventReason*` in `nvml.h`). Idleness,
user-chosen clocks and synchronised boosts are not among them."""
_PROCESSES_EVERY = 5
"""Readings from one look at the processes of a GPU to the next: it is the dearest one
and they rarely change."""


class NvidiaSource(Source):
    """Utilisation, memory, power and clock of every GPU that the trial can use.

    Names begin with `gpu<i>_`, where `i` is the number in `nvidia-smi`. For a MIG
    instance memory and processes are its own, power and clock are of the whole GPU, and
    NVML has no utilisation. A GPU that is lost is not asked again.

    Args:
        environ: environment of the trial.
        holds: tells whether a process belongs to the trial.
        is_here: tells whether a process can be seen from here at all.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        holds: Callable[[int], bool],
        is_here: Callable[[int], bool],
    ) -> None:
        super().__init__()
        self._nvml: Any = None
        self._watched: list[_WatchedGpu] = []
        self._holds = holds
        self._is_here = is_here
        self._reads = self._told = self._held_back = 0
        self._most_others: int | None = None
        try:
            self._nvml = open_nvml()
        except NvmlAbsentError as error:
            self._note(str(error))
            return
        gpus, notes = list_visible_gpus(self._nvml, environ)
        self.missing.extend(notes)
        self._watched = [_WatchedGpu(self._nvml, gpu, self._note) for gpu in gpus]
        self.names = tuple(name for gpu in self._watched for name in gpu.names)

    def read(self) -> dict[str, float]:
        """Returns the state of the GPUs now, and keeps count for the summary."""
        values: dict[str, float] = {}
        for gpu in self._watched:
            values |= gpu.read()
        reasons = [gpu.ask("clock_reasons") for gpu in self._watched]
        told = [int(reason) for reason in reasons if reason is not None]
        self._told += bool(told)
        self._held_back += any(reason & _HELD_BACK for reason in told)
        if self._reads % _PROCESSES_EVERY == 0:
            self._count_others()
        self._reads += 1
        return values

    def summarise(self) -> dict[str, Any]:
        """Returns `throttled` and `gpu_processes_other`."""
        return {
            "throttled": self._held_back / self._told if self._told else None,
            "gpu_processes_other": self._most_others,
        }

    def close(self) -> None:
        """Closes NVML."""
        if self._nvml is not None:
            try:
                self._nvml.nvmlShutdown()
            except self._nvml.NVMLError as error:
                self._note(f"NVML: {error}")

    def _count_others(self) -> None:
        for gpu in self._watched:
            processes = gpu.ask("processes")
            if processes is None:
                continue
            strangers = {p.pid for p in processes if not self._holds(p.pid)}
            others = {pid for pid in strangers if self._is_here(pid)}
            # in a container a number may be the host's name for the trial itself
            if strangers - others:
                self._note(f"{gpu.label} processes: some are not visible from here")
            self._most_others = max(self._most_others or 0, len(others))


class _WatchedGpu:
    """What one GPU can tell; each quantity by the first call that works."""

    def __init__(self, nvml: Any, gpu: Gpu, note: Callable[[str], None]) -> None:
        self.label = f"gpu{gpu.index}"
        self._nvml = nvml
        self._note = note
        self._lost = False
        self._calls: dict[str, Callable[[], Any]] = {}
        for quantity, calls in _list_calls(nvml, gpu).items():
            self._probe(quantity, calls)
        self._series = {
            quantity: f"{self.label}_{quantity}"
            for quantity in self._calls
            if quantity in _SERIES
        }
        self.names = tuple(self._series.values())

    def read(self) -> dict[str, float]:
        """Returns the series of this GPU."""
        return {name: self._number(quantity) for quantity, name in self._series.items()}

    def ask(self, quantity: str) -> Any:
        """Returns what NVML says, or `None` where it does not."""
        if self._lost or quantity not in self._calls:
            return None
        try:
            return self._calls[quantity]()
        except self._nvml.NVMLError as error:
            self._fail(quantity, error)
            return None

    def _number(self, quantity: str) -> float:
        answer = self.ask(quantity)
        return math.nan if answer is None else float(answer)

    def _probe(self, quantity: str, calls: tuple[Callable[[], Any], ...]) -> None:
        failure: Exception | None = None
        for call in calls:
            if self._lost:
                return
            # an attribute is missing where another binding goes by the same name
            try:
                call()
            except (self._nvml.NVMLError, AttributeError) as error:
                failure = error
            else:
                self._calls[quantity] = call
                return
        if failure is not None:
            self._fail(quantity, failure)

    def _fail(self, quantity: str, error: Exception) -> None:
        self._lost = isinstance(
            error, self._nvml.NVMLError_GpuIsLost | self._nvml.NVMLError_ResetRequired
        )
        what = self.label if self._lost else f"{self.label} {quantity}"
        self._note(f"{what}: {error}")


_SERIES = ("utilisation_percent", "memory_used_bytes", "power_watts", "sm_clock_mhz")


def _list_calls(nvml: Any, gpu: Gpu) -> dict[str, tuple[Callable[[], Any], ...]]:
    """Ways to ask for each quantity, the best one first; drivers differ in age."""
    whole, part = gpu.whole, gpu.part
    return {
        "utilisation_percent": (lambda: nvml.nvmlDeviceGetUtilizationRates(part).gpu,),
        "memory_used_bytes": (
            # without what the driver keeps for itself, as `nvidia-smi` shows it
            lambda: nvml.nvmlDeviceGetMemoryInfo(part, nvml.nvmlMemory_v2).used,
            lambda: nvml.nvmlDeviceGetMemoryInfo(part).used,
        ),
        "power_watts": (lambda: nvml.nvmlDeviceGetPowerUsage(whole) / 1000,),
        "sm_clock_mhz": (
            lambda: nvml.nvmlDeviceGetClockInfo(whole, nvml.NVML_CLOCK_SM),
        ),
        "clock_reasons": (
            lambda: nvml.nvmlDeviceGetCurrentClocksEventReasons(whole),
            lambda: nvml.nvmlDeviceGetCurrentClocksThrottleReasons(whole),
        ),
        "processes": (lambda: nvml.nvmlDeviceGetComputeRunningProcesses(part),),
    }
