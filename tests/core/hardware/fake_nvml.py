"""Answers as NVML does through `pynvml`, for GPUs that a test describes.

Same function names, same answers of text and of structures, same classes of errors;
`test_fake_nvml.py` holds it against the real binding.
"""

from __future__ import annotations

import string
import sys
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import ClassVar


CODES = {
    "UNINITIALIZED": 1,
    "INVALID_ARGUMENT": 2,
    "NOT_SUPPORTED": 3,
    "NO_PERMISSION": 4,
    "NOT_FOUND": 6,
    "DRIVER_NOT_LOADED": 9,
    "LIBRARY_NOT_FOUND": 12,
    "FUNCTION_NOT_FOUND": 13,
    "GPU_IS_LOST": 15,
    "RESET_REQUIRED": 16,
    "UNKNOWN": 999,
}
TEXTS = {
    1: "Uninitialized",
    2: "Invalid Argument",
    3: "Not Supported",
    4: "Insufficient Permissions",
    6: "Not Found",
    9: "Driver Not Loaded",
    12: "NVML Shared Library Not Found",
    13: "Function Not Found",
    15: "GPU is lost",
    16: "GPU requires restart",
    999: "Unknown Error",
}


class NVMLError(Exception):
    """As in the binding: `NVMLError(15)` makes an `NVMLError_GpuIsLost`."""

    classes: ClassVar[dict] = {}

    def __new__(cls, value):
        special = NVMLError.classes.get(value, cls) if cls is NVMLError else cls
        made = Exception.__new__(special)
        made.value = value
        return made

    def __str__(self):
        return TEXTS[self.value]

    def __eq__(self, other):
        return self.value == other.value

    __hash__ = None


def class_name(error):
    return "NVMLError_" + string.capwords(error, "_").replace("_", "")


def _make_class(error, value):
    def new(cls, *arguments):
        return NVMLError.__new__(cls, value)

    return type(class_name(error), (NVMLError,), {"__new__": new})


NVMLError.classes = {value: _make_class(error, value) for error, value in CODES.items()}


@dataclass
class Instance:
    """A MIG instance."""

    uuid: str
    used: int = 1_000
    total: int = 10_000
    gi: int = 7
    ci: int = 0
    processes: list[int] = field(default_factory=list)


@dataclass
class Gpu:
    """A GPU; `errors` maps the name of a function to the error that it gives."""

    name: str = "NVIDIA A100-SXM4-40GB"
    uuid: str = "GPU-aaaa"
    used: int = 5_000
    reserved: int = 600
    total: int = 40_000
    utilisation: int = 90
    milliwatts: int = 250_500
    sm_clock: int = 1_410
    reasons: int = 0
    processes: list[int] = field(default_factory=list)
    instances: list[Instance] | None = None
    capability: tuple[int, int] = (8, 0)
    errors: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Handle:
    gpu: Gpu
    instance: Instance | None = None

    __hash__ = None


class FakeNvml:
    """Takes the place of the module `pynvml`."""

    NVML_CLOCK_SM = 1
    NVML_DEVICE_MIG_DISABLE = 0
    NVML_DEVICE_MIG_ENABLE = 1
    nvmlMemory_v2 = 0x02000028  # noqa: N815
    NVMLError = NVMLError

    def __init__(self, *gpus, init_error=None, bytes_for_text=False):
        self.gpus = list(gpus)
        self.init_error = init_error
        self.bytes_for_text = bytes_for_text
        self.opened = 0
        self.calls: list[str] = []
        for error, value in CODES.items():
            setattr(self, f"NVML_ERROR_{error}", value)
            setattr(self, class_name(error), NVMLError.classes[value])

    def install(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "pynvml", self)
        return self

    def nvmlInit(self):
        if self.init_error:
            raise NVMLError(CODES[self.init_error])
        self.opened += 1

    def nvmlShutdown(self):
        self._need_open()
        self.opened -= 1

    def nvmlSystemGetDriverVersion(self):
        self._need_open()
        return self._text("570.86.15")

    def nvmlDeviceGetCount(self):
        self._need_open()
        return len(self.gpus)

    def nvmlDeviceGetHandleByIndex(self, index):
        self._need_open()
        if index >= len(self.gpus):
            raise NVMLError(CODES["INVALID_ARGUMENT"])
        return self._answer("nvmlDeviceGetHandleByIndex", Handle(self.gpus[index]))

    def nvmlDeviceGetName(self, handle):
        self._answer("nvmlDeviceGetName", handle)
        suffix = " MIG 1g.5gb" if handle.instance else ""
        return self._text(handle.gpu.name + suffix)

    def nvmlDeviceGetUUID(self, handle):
        self._answer("nvmlDeviceGetUUID", handle)
        return self._text((handle.instance or handle.gpu).uuid)

    def nvmlDeviceGetCudaComputeCapability(self, handle):
        self._answer("nvmlDeviceGetCudaComputeCapability", handle, whole=True)
        return handle.gpu.capability

    def nvmlDeviceGetUtilizationRates(self, handle):
        self._answer("nvmlDeviceGetUtilizationRates", handle, whole=True)
        if handle.gpu.instances is not None:
            raise NVMLError(CODES["NOT_SUPPORTED"])
        return SimpleNamespace(gpu=handle.gpu.utilisation, memory=3)

    def nvmlDeviceGetMemoryInfo(self, handle, version=None):
        name = "nvmlDeviceGetMemoryInfo"
        self._answer(name + "_v2" if version else name, handle)
        place = handle.instance or handle.gpu
        reserved = 0 if version else getattr(place, "reserved", 0)
        used = place.used + reserved
        return SimpleNamespace(total=place.total, used=used, free=place.total - used)

    def nvmlDeviceGetPowerUsage(self, handle):
        self._answer("nvmlDeviceGetPowerUsage", handle, whole=True)
        return handle.gpu.milliwatts

    def nvmlDeviceGetClockInfo(self, handle, type):  # noqa: A002
        assert type == self.NVML_CLOCK_SM
        self._answer("nvmlDeviceGetClockInfo", handle, whole=True)
        return handle.gpu.sm_clock

    def nvmlDeviceGetCurrentClocksEventReasons(self, handle):
        self._answer("nvmlDeviceGetCurrentClocksEventReasons", handle, whole=True)
        return handle.gpu.reasons

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle):
        self._answer("nvmlDeviceGetCurrentClocksThrottleReasons", handle, whole=True)
        return handle.gpu.reasons

    def nvmlDeviceGetComputeRunningProcesses(self, handle):
        self._answer("nvmlDeviceGetComputeRunningProcesses", handle)
        place = handle.instance or handle.gpu
        return [SimpleNamespace(pid=pid, usedGpuMemory=None) for pid in place.processes]

    def nvmlDeviceGetMigMode(self, device):
        self._answer("nvmlDeviceGetMigMode", device, whole=True)
        if device.gpu.instances is None:
            raise NVMLError(CODES["NOT_SUPPORTED"])
        return [self.NVML_DEVICE_MIG_ENABLE, self.NVML_DEVICE_MIG_ENABLE]

    def nvmlDeviceGetMaxMigDeviceCount(self, device):
        self._answer("nvmlDeviceGetMaxMigDeviceCount", device, whole=True)
        return 7

    def nvmlDeviceGetMigDeviceHandleByIndex(self, device, index):
        self._answer("nvmlDeviceGetMigDeviceHandleByIndex", device, whole=True)
        instances = device.gpu.instances or []
        if index >= len(instances):
            raise NVMLError(CODES["NOT_FOUND"])
        return Handle(device.gpu, instances[index])

    def nvmlDeviceGetGpuInstanceId(self, device):
        self._answer("nvmlDeviceGetGpuInstanceId", device)
        return device.instance.gi

    def nvmlDeviceGetComputeInstanceId(self, device):
        self._answer("nvmlDeviceGetComputeInstanceId", device)
        return device.instance.ci

    def _answer(self, function, handle, *, whole=False):
        self._need_open()
        self.calls.append(function)
        error = handle.gpu.errors.get(function) or handle.gpu.errors.get("*")
        if error:
            raise NVMLError(CODES[error])
        if whole and handle.instance:
            raise NVMLError(CODES["NOT_SUPPORTED"])
        return handle

    def _need_open(self):
        if self.opened < 1:
            raise NVMLError(CODES["UNINITIALIZED"])

    def _text(self, text):
        return text.encode() if self.bytes_for_text else text
