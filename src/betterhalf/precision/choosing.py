"""Which policy a machine is likely to gain from: the table behind `policy="auto"`.

A guess from hardware, made in no time. `betterhalf compare` measures instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from betterhalf.records.environment import Device


class Guess(NamedTuple):
    """A policy and the clause that says why."""

    policy: str
    reason: str


_BF16_FLAGS: Final = ("amx_bf16", "avx512_bf16", "bf16", "svebf16")
_GPU: Final = (
    # least compute capability, policy, reason; NVIDIA, "Tensor Cores" per architecture
    (8.0, "mixed_bfloat16", "its tensor cores take bfloat16, which needs no scaling"),
    (7.0, "mixed_float16", "its tensor cores take float16 and no bfloat16"),
    (0.0, "float32", "it has no tensor cores"),
)
_CPU: Final = {
    # a CNN took 1.55, 1.9 and 0.81 times as many steps a second as in float32 on a CPU
    # with avx512_bf16 (`docs/measurements.md`)
    "tensorflow": "mixed_bfloat16",
    "torch": "mixed_bfloat16",
    "jax": "float32",
}


def guess_policy(backend: str, devices: Sequence[Device]) -> Guess:
    """Returns the policy that is likely to be fastest, from hardware and backend.

    Args:
        backend: `tensorflow`, `jax` or `torch`.
        devices: those that the backend computes on, the first one first.
    """
    device = devices[0]
    if device.kind == "tpu":
        return Guess("mixed_bfloat16", f"{device.name} multiplies in bfloat16")
    if device.kind == "gpu":
        return _guess_for_gpu(device)
    if not any(flag in _BF16_FLAGS for flag in device.flags):
        return Guess("float32", f"{device.name} has no bfloat16 arithmetic")
    policy = _CPU.get(backend, "float32")
    verb = "uses" if policy != "float32" else "gains nothing from"
    return Guess(policy, f"{backend} {verb} the bfloat16 arithmetic of {device.name}")


def _guess_for_gpu(device: Device) -> Guess:
    if device.compute_capability is None:
        return Guess("float32", f"what {device.name} can do is not known")
    capability = float(device.compute_capability)
    policy, reason = next(
        (policy, reason) for least, policy, reason in _GPU if capability >= least
    )
    return Guess(policy, f"{device.name}: {reason}")
