"""NVML, opened, and the GPUs in it that a process may use.

Numbers of GPUs are NVML's, the same as in `nvidia-smi`. The binding is imported when it
is used, for most machines without an NVIDIA GPU never need it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from betterhalf.hardware.visibility import (
    numbers_follow_the_bus,
    parse_visible_devices,
)


class NvmlAbsentError(Exception):
    """This machine has no NVML that answers; the message says why."""


class Gpu(NamedTuple):
    """A GPU, or the MIG instance of one.

    Attributes:
        index: number of the whole GPU in `nvidia-smi`.
        whole: handle of the whole GPU.
        part: handle of the MIG instance; the same as `whole` where there is none.
        is_instance: whether `part` is a MIG instance.
    """

    index: int
    whole: Any
    part: Any
    is_instance: bool = False


def open_nvml() -> Any:
    """Returns the `pynvml` module, initialised; call its `nvmlShutdown` at the end.

    Raises:
        NvmlAbsentError: no binding, no library, no driver or no permission.
    """
    try:
        import pynvml  # noqa: PLC0415 -- only where GPUs are looked for
    except ImportError as error:
        raise NvmlAbsentError("NVML: package nvidia-ml-py is not installed") from error
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        reasons = {
            pynvml.NVML_ERROR_LIBRARY_NOT_FOUND: "no library",
            pynvml.NVML_ERROR_DRIVER_NOT_LOADED: "no driver",
            pynvml.NVML_ERROR_NO_PERMISSION: "no permission",
        }
        # set as an error of NVML is made, and not declared in its class
        code: Any = getattr(error, "value", None)
        reason = reasons.get(code, str(error))
        raise NvmlAbsentError(f"NVML: {reason}") from error
    return pynvml


def list_visible_gpus(
    nvml: Any, environ: Mapping[str, str]
) -> tuple[tuple[Gpu, ...], tuple[str, ...]]:
    """Returns the GPUs that a process with `environ` can use, and what is in doubt.

    CUDA uses one MIG instance a process and no other GPU beside it (NVIDIA MIG User
    Guide, "CUDA Device Enumeration").

    Args:
        nvml: from `open_nvml`.
        environ: environment of the process.
    """
    gpus, notes = _list_all(nvml)
    entries = parse_visible_devices(environ.get("CUDA_VISIBLE_DEVICES"))
    if entries is None:
        chosen = gpus
    elif _numbers_are_unsure(nvml, gpus, entries, environ):
        chosen = gpus
        notes.append(
            "GPU numbers: CUDA counts different GPUs by speed unless "
            "CUDA_DEVICE_ORDER=PCI_BUS_ID is set; all of them are watched"
        )
    else:
        chosen = list(_select(nvml, gpus, entries))
    return _prefer_instance(nvml, chosen, notes), tuple(notes)


def read_text(value: bytes | str) -> str:
    """Returns what NVML calls something; older bindings give bytes."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _list_all(nvml: Any) -> tuple[list[Gpu], list[str]]:
    gpus: list[Gpu] = []
    notes: list[str] = []
    try:
        count = nvml.nvmlDeviceGetCount()
    except nvml.NVMLError as error:
        return [], [f"NVML: {error}"]
    for index in range(count):
        # CUDA does not count a GPU that it may not touch
        try:
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
        except nvml.NVMLError as error:
            notes.append(f"gpu{index}: {error}")
        else:
            gpus.append(Gpu(index=index, whole=handle, part=handle))
    return gpus, notes


def _numbers_are_unsure(
    nvml: Any,
    gpus: Sequence[Gpu],
    entries: Sequence[int | str],
    environ: Mapping[str, str],
) -> bool:
    if numbers_follow_the_bus(environ) or all(isinstance(e, str) for e in entries):
        return False
    return len({_ask(nvml, nvml.nvmlDeviceGetName, gpu.whole) for gpu in gpus}) > 1


def _select(
    nvml: Any, gpus: Sequence[Gpu], entries: Sequence[int | str]
) -> Iterator[Gpu]:
    for entry in entries:
        if isinstance(entry, int):
            found = [gpus[entry]] if entry < len(gpus) else []
        elif entry.startswith("MIG-"):
            found = [
                instance
                for gpu in gpus
                for instance in _list_instances(nvml, gpu)
                if _is_called(nvml, instance, entry)
            ]
        else:
            found = [gpu for gpu in gpus if _uuid(nvml, gpu.whole).startswith(entry)]
        # none, or a beginning that fits several: CUDA stops here
        if len(found) != 1:
            return
        yield found[0]


def _prefer_instance(
    nvml: Any, gpus: Sequence[Gpu], notes: list[str]
) -> tuple[Gpu, ...]:
    usable: list[Gpu] = []
    for gpu in gpus:
        if gpu.is_instance or not _is_divided(nvml, gpu):
            usable.append(gpu)
            continue
        instances = _list_instances(nvml, gpu)
        usable.extend(instances)
        if not instances:
            notes.append(f"gpu{gpu.index}: divided by MIG, without an instance")
    instances = [gpu for gpu in usable if gpu.is_instance]
    return tuple(instances[:1] or usable)


def _is_divided(nvml: Any, gpu: Gpu) -> bool:
    mode = _ask(nvml, nvml.nvmlDeviceGetMigMode, gpu.whole)
    return mode is not None and mode[0] == nvml.NVML_DEVICE_MIG_ENABLE


def _list_instances(nvml: Any, gpu: Gpu) -> list[Gpu]:
    if not _is_divided(nvml, gpu):
        return []
    count = _ask(nvml, nvml.nvmlDeviceGetMaxMigDeviceCount, gpu.whole) or 0
    handles = [
        _ask(nvml, nvml.nvmlDeviceGetMigDeviceHandleByIndex, gpu.whole, number)
        for number in range(count)
    ]
    return [
        Gpu(index=gpu.index, whole=gpu.whole, part=handle, is_instance=True)
        for handle in handles
        if handle is not None
    ]


def _is_called(nvml: Any, instance: Gpu, entry: str) -> bool:
    """Compares with both forms: `MIG-<uuid>`, and `MIG-<uuid of the GPU>/<gi>/<ci>`."""
    if "/" not in entry:
        return _uuid(nvml, instance.part).startswith(entry)
    places = (nvml.nvmlDeviceGetGpuInstanceId, nvml.nvmlDeviceGetComputeInstanceId)
    numbers = [_ask(nvml, place, instance.part) for place in places]
    return entry == "/".join([f"MIG-{_uuid(nvml, instance.whole)}", *map(str, numbers)])


def _uuid(nvml: Any, handle: Any) -> str:
    return read_text(_ask(nvml, nvml.nvmlDeviceGetUUID, handle) or "")


def _ask(nvml: Any, function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except nvml.NVMLError:
        return None
