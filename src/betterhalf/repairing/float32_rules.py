"""Which of Keras's layers are wrong in 16 bit, where, and why: a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from betterhalf import backends
from betterhalf.repairing.dtypes import SIXTEEN_BIT


def _always(layer: Any, arguments: dict[str, Any]) -> bool:
    del layer, arguments
    return True


def _is_masked(layer: Any, arguments: dict[str, Any]) -> bool:
    del layer
    mask = arguments.get("mask")
    if isinstance(mask, list | tuple):
        return any(each is not None for each in mask)
    return mask is not None


def _normalizes(layer: Any, arguments: dict[str, Any]) -> bool:
    del arguments
    return bool(layer.normalize)


def _interpolates(layer: Any, arguments: dict[str, Any]) -> bool:
    del arguments
    return layer.interpolation != "nearest"


def _on_cpu(layer: Any, arguments: dict[str, Any]) -> bool:
    del layer, arguments
    return not backends.load("jax").devices()


class Rule(NamedTuple):
    """Where one class of Keras's layers is wrong in 16 bit.

    Attributes:
        reason: one clause.
        backends: those that it is wrong on.
        dtypes: compute dtypes that it is wrong in.
        raw: whether its inputs must not be cast before it sees them.
        when: looks at a call, given the layer and the arguments by name.
    """

    reason: str
    backends: tuple[str, ...] = ("tensorflow", "jax", "torch")
    dtypes: tuple[str, ...] = SIXTEEN_BIT
    raw: bool = False
    when: Callable[[Any, dict[str, Any]], bool] = _always


FEATURES = Rule("16 bit rounds features before they are looked at", raw=True)
_MASKED = Rule(
    "a fully masked row is -inf everywhere, and its softmax not a number",
    dtypes=("float16",),
    when=_is_masked,
)
_SQUARES = Rule("squares over- and underflow in float16, and 1e-12 is zero in it")
_NO_GRADIENT = Rule(
    "the transformation has no bfloat16 gradient", ("tensorflow",), ("bfloat16",)
)
_NO_KERNEL = Rule("TensorFlow has no float16 kernel on CPU", ("tensorflow",))
_RESIZED = Rule(
    "the gradient of the interpolation has no 16-bit kernel",
    ("tensorflow", "torch"),
    when=_interpolates,
)

_ON_CPU = Rule(
    "JAX has no float16 product with a float32 sum on CPU",
    ("jax",),
    ("float16",),
    when=_on_cpu,
)

RULES: dict[str, Rule] = {
    "Normalization": FEATURES,
    "Rescaling": FEATURES,
    "MelSpectrogram": FEATURES,
    "STFTSpectrogram": FEATURES,
    "Masking": FEATURES._replace(reason="16 bit changes the value that is masked"),
    "RMSNormalization": _SQUARES._replace(raw=True),
    "UnitNormalization": _SQUARES,
    "Dot": _SQUARES._replace(when=_normalizes),
    "Attention": _MASKED,
    "AdditiveAttention": _MASKED,
    "MultiHeadAttention": _ON_CPU,
    "GroupQueryAttention": _ON_CPU,
    "GlobalAveragePooling1D": Rule(
        "the sum over unmasked steps overflows or rounds", when=_is_masked
    ),
    "RandomRotation": _NO_GRADIENT,
    "RandomZoom": _NO_GRADIENT,
    "RandomTranslation": _NO_GRADIENT,
    "RandomShear": _NO_GRADIENT,
    "RandomPerspective": _NO_GRADIENT,
    "RandomElasticTransform": _NO_GRADIENT,
    "CutMix": Rule("its random numbers have no 16-bit kernel", ("tensorflow", "torch")),
    "MaxPooling3D": _NO_KERNEL._replace(dtypes=("float16",)),
    "UpSampling2D": _RESIZED,
    "Resizing": _RESIZED,
    "TorchModuleWrapper": Rule("parameters of a torch module are not cast", ("torch",)),
}
"""Which layers, by class; each row was found by running the layer on every backend (the
kinds K04, K09, K59, K61, K63, K68 to K72 of `docs/repairs.md`)."""

EXACT = (
    "CategoryEncoding",
    "Discretization",
    "Embedding",
    "HashedCrossing",
    "Hashing",
    "IntegerLookup",
)
"""Look at whole numbers or edges, and are right if what comes before them is exact."""

RAW_ONLY = ("BatchNormalization",)
"""Computes in float32 already, but on inputs that were cast to 16 bit before."""
