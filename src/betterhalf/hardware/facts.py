"""What this machine is: versions, processor, GPUs, and what changes numerics.

Read without importing a framework. Nothing here tells whose machine it is: no name of a
host or a user, and paths in the values of variables are left out.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

from betterhalf.hardware.nvml import (
    Gpu,
    NvmlAbsentError,
    list_visible_gpus,
    open_nvml,
    read_text,
)
from betterhalf.records.environment import NUMERIC_VARIABLES, Device, Environment


_CPUINFO = Path("/proc/cpuinfo")
_FLAGS = (
    "avx2",
    "avx512f",
    "avx512_bf16",
    "avx512_fp16",
    "amx_bf16",
    "amx_fp16",
    "amx_tile",
    # on 64-bit Arm
    "asimdhp",
    "bf16",
    "svebf16",
)
"""CPU features that decide how fast 16-bit arithmetic is, as the Linux kernel spells
them (`arch/x86/include/asm/cpufeatures.h`, `Documentation/arch/arm64/elf_hwcaps.rst`).
"""
_PATH_BEGINS = r"(?:file://|~|[A-Za-z]:[\\/]|\.{0,2}[\\/])"
_PATH = re.compile(
    rf"""(?<="){_PATH_BEGINS}[^"]*"""
    rf"""|(?<='){_PATH_BEGINS}[^']*"""
    rf"""|(?<![\w./\\]){_PATH_BEGINS}[^\s"',;]*"""
)


def read_environment(packages: Sequence[str]) -> Environment:
    """Returns versions, machine and the named variables of this process.

    Args:
        packages: names of distributions, such as `tensorflow-cpu`; those that are not
            installed are left out.
    """
    return Environment(
        python=platform.python_version(),
        platform=f"{platform.system()}-{platform.machine()}",
        cores=_count_cores(),
        memory_bytes=psutil.virtual_memory().total,
        packages=_read_versions(packages),
        devices=read_devices(),
        variables=_read_variables(os.environ),
    )


def read_devices() -> tuple[Device, ...]:
    """Returns the NVIDIA GPUs that this process can use, then the CPU."""
    return (*_read_gpus(os.environ), _read_cpu())


def _count_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _read_versions(packages: Sequence[str]) -> dict[str, str]:
    versions: dict[str, str] = {}
    for package in packages:
        try:
            version = importlib.metadata.version(package)
        except (importlib.metadata.PackageNotFoundError, KeyError):
            continue
        # an installation that broke off has metadata without a version
        if version:
            versions[package] = version
    return versions


def _read_variables(environ: Mapping[str, str]) -> dict[str, str]:
    return {
        name: _PATH.sub("<path>", environ[name])
        for name in NUMERIC_VARIABLES
        if name in environ
    }


def _read_cpu() -> Device:
    try:
        text = _CPUINFO.read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    fields = _parse_cpuinfo(text)
    spelled = fields.get("model name") or platform.processor() or platform.machine()
    present = (fields.get("flags") or fields.get("Features") or "").split()
    return Device(
        kind="cpu",
        name=spelled,
        flags=tuple(flag for flag in _FLAGS if flag in present),
    )


def _parse_cpuinfo(text: str) -> dict[str, str]:
    """Fields of the first processor; the others are like it for our purposes."""
    first = text.split("\n\n", maxsplit=1)[0]
    pairs = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def _read_gpus(environ: Mapping[str, str]) -> tuple[Device, ...]:
    try:
        nvml = open_nvml()
    except NvmlAbsentError:
        return ()
    try:
        gpus, _ = list_visible_gpus(nvml, environ)
        return tuple(_describe(nvml, gpu) for gpu in gpus)
    finally:
        with contextlib.suppress(nvml.NVMLError):
            nvml.nvmlShutdown()


def _describe(nvml: Any, gpu: Gpu) -> Device:
    def ask(name: str, *arguments: Any) -> Any:
        try:
            return getattr(nvml, name)(*arguments)
        except nvml.NVMLError:
            return None

    memory = ask("nvmlDeviceGetMemoryInfo", gpu.part)
    capability = ask("nvmlDeviceGetCudaComputeCapability", gpu.whole)
    driver = ask("nvmlSystemGetDriverVersion")
    return Device(
        kind="gpu",
        name=read_text(ask("nvmlDeviceGetName", gpu.part) or "NVIDIA GPU"),
        memory_bytes=None if memory is None else memory.total,
        compute_capability=capability and ".".join(map(str, capability)),
        driver=driver and read_text(driver),
    )
