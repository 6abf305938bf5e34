"""The most memory that one training held."""

from __future__ import annotations

from pathlib import Path

from betterhalf.backends import Backend
from betterhalf.records.training import Memory


_RESET = Path("/proc/self/clear_refs")
_STATUS = Path("/proc/self/status")


class PeakMemory:
    """Begins new high-water marks when it is made, and reads them at the end.

    Without an accelerator it is the resident memory of the process, on Linux alone: the
    kernel's mark is reset first, or loading the data would dominate it. Where it cannot
    be reset it is absent.

    Args:
        backend: adapter of the backend.
    """

    def __init__(self, backend: Backend):
        self._backend = backend
        self._has_devices = bool(backend.peak_memory_bytes())
        if self._has_devices:
            backend.reset_peak_memory()
        else:
            self._was_reset = _reset_resident_peak()

    def read(self) -> Memory | None:
        """Returns the marks; `None` where nothing can be told."""
        compiled = self._backend.compiled_step_bytes()
        device = self._backend.peak_memory_bytes()
        if device is not None:
            return Memory(peak_bytes=device, kind="device", compiled_bytes=compiled)
        resident = _resident_peak_bytes() if self._was_reset else None
        if resident is None and compiled is None:
            return None
        kind = None if resident is None else "resident"
        return Memory(peak_bytes=resident, kind=kind, compiled_bytes=compiled)


def _reset_resident_peak() -> bool:
    try:
        _RESET.write_text("5")  # proc(5): resets the peak resident set size
    except OSError:
        return False
    return True


def _resident_peak_bytes() -> int | None:
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return None
