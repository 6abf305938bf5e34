"""What a number depends on beside the code: versions, machine, device."""

from __future__ import annotations

from betterhalf.records._base import Record


class Device(Record, frozen=True, kw_only=True):
    """One accelerator, or the CPU where there is none.

    Attributes:
        kind: `cpu`, `gpu` or `tpu`.
        name: as the driver or the kernel spells it.
        memory_bytes: of the device; absent for a CPU.
        compute_capability: NVIDIA's, such as `9.0`.
        driver: version of the driver.
        flags: CPU features that matter to 16-bit arithmetic, such as `avx512_bf16`.
    """

    kind: str
    name: str
    memory_bytes: int | None = None
    compute_capability: str | None = None
    driver: str | None = None
    flags: tuple[str, ...] = ()


class Environment(Record, frozen=True, kw_only=True):
    """Versions, machine and the named variables that change numerics.

    Attributes:
        python: version, such as `3.11.7`.
        packages: version of each package that can change a result.
        platform: such as `Linux-x86_64`.
        cores: logical processors that this process may use.
        memory_bytes: of the machine.
        devices: accelerators, then the CPU.
        variables: the environment variables of `NUMERIC_VARIABLES` that are set.
    """

    python: str
    platform: str
    cores: int
    memory_bytes: int | None = None
    packages: dict[str, str] = {}
    devices: tuple[Device, ...] = ()
    variables: dict[str, str] = {}


NUMERIC_VARIABLES = (
    "CUDA_VISIBLE_DEVICES",
    "JAX_DEFAULT_MATMUL_PRECISION",
    "JAX_ENABLE_X64",
    "JAX_PLATFORMS",
    "KERAS_BACKEND",
    "MKL_NUM_THREADS",
    "NVIDIA_TF32_OVERRIDE",
    "OMP_NUM_THREADS",
    "ONEDNN_DEFAULT_FPMATH_MODE",
    "OPENBLAS_NUM_THREADS",
    "PYTHONHASHSEED",
    "TF_DETERMINISTIC_OPS",
    "TF_ENABLE_ONEDNN_OPTS",
    "TF_NUM_INTEROP_THREADS",
    "TF_NUM_INTRAOP_THREADS",
    "TF_XLA_FLAGS",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
    "XLA_FLAGS",
)
"""The only variables whose values are recorded: each of them can change a result."""
