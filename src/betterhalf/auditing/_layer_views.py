"""Facts about layers, their tensors and weights, and about arrays that are fed in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

from betterhalf.auditing._setup_views import LossView
from betterhalf.auditing.sources import CodeView, Place
from betterhalf.precision.facts import EXACT_INTEGERS, SIXTEEN_BIT


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class TensorView:
    """A tensor that was seen.

    Attributes:
        dtype: of it.
        shape: `None` for a size that is not known.
    """

    dtype: str = "float32"
    shape: tuple[int | None, ...] = ()


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class WeightView:
    """A variable of a layer itself, not of layers inside it.

    Attributes:
        name: such as `kernel`.
        shape: of it.
        dtype: as it is stored.
        trainable: whether training changes it by gradients.
        autocast: whether a mixed layer reads it in 16 bit.
        finite: whether every value is finite; absent where it was not read.
    """

    name: str = ""
    shape: tuple[int, ...] = ()
    dtype: str = "float32"
    trainable: bool = True
    autocast: bool = True
    finite: bool | None = None


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class LayerView:
    """A layer of the model, at whatever depth; the model itself is the first.

    Attributes:
        path: in the model, such as `encoder/dense`; unique.
        name: as Keras has it.
        class_name: such as `Dense`.
        bases: names of its class and of those above it up to Keras's `Layer`.
        module: of its class.
        from_keras: whether its class came with Keras, and not with the user.
        policy: name of its dtype policy.
        compute_dtype: of the policy.
        variable_dtype: of the policy.
        autocast: whether its float inputs are cast to the compute dtype.
        dtype_given: whether the script gave it a `dtype`; absent where its making was
            not watched.
        made_at: the line of the script that made it; absent likewise.
        built: whether it has its weights.
        trainable: as set on it.
        stateful: as set on it.
        weights: its own.
        parameters: numbers in the weights of it and of what is inside.
        config: its plain settings by name, such as `epsilon`, `axis`, `activation`,
            `momentum`, `units`; functions, initializers and regularizers by name.
        holder: path of the layer that it is inside of; absent for the model.
        holds: paths of the layers directly inside it.
        incoming: paths of the layers whose outputs it gets, as the graph or the
            observed call shows; `""` stands for an input of the model.
        outgoing: paths of the layers that get its outputs.
        inputs: what it was called with, before any cast; empty where not observed.
        outputs: what it returned.
        masked: whether it was called with a mask.
        calls: how often it was called in one call of the model.
        code: the user's source of its class; absent for a class of Keras's.
    """

    path: str = ""
    name: str = ""
    class_name: str = "Layer"
    bases: tuple[str, ...] = ()
    module: str = ""
    from_keras: bool = True
    policy: str = "float32"
    compute_dtype: str = "float32"
    variable_dtype: str = "float32"
    autocast: bool = True
    dtype_given: bool | None = None
    made_at: Place | None = None
    built: bool = True
    trainable: bool = True
    stateful: bool = False
    weights: tuple[WeightView, ...] = ()
    parameters: int = 0
    config: Mapping[str, Any] = field(default_factory=dict)
    holder: str | None = None
    holds: tuple[str, ...] = ()
    incoming: tuple[str, ...] = ()
    outgoing: tuple[str, ...] = ()
    inputs: tuple[TensorView, ...] = ()
    outputs: tuple[TensorView, ...] = ()
    masked: bool = False
    calls: int = 0
    code: CodeView | None = None

    def is_a(self, *names: str) -> bool:
        """Whether it is, or its class inherits from, a class of one of these names."""
        return self.class_name in names or any(base in names for base in self.bases)

    @property
    def is_mixed(self) -> bool:
        """Whether it computes in 16 bit over float32 variables."""
        return self.is_16bit and self.variable_dtype == "float32"

    @property
    def is_16bit(self) -> bool:
        """Whether it computes in 16 bit, whatever its variables are."""
        return self.compute_dtype in SIXTEEN_BIT

    @property
    def is_leaf(self) -> bool:
        """Whether it holds no other layer."""
        return not self.holds


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class ArrayView:
    """An array of the first batch: what is fed to the model, or a target.

    Attributes:
        name: of it, or its position.
        dtype: as it was given.
        shape: of it.
        minimum: the least finite value; absent for no number at all.
        maximum: the largest finite value.
        finite: whether every value is finite.
        integral: whether every value is whole.
        distinct: how many different values there are.
        rounding: for float16 and bfloat16, the largest error that the cast makes,
            relative to the spread of the array's last axis; infinite past the range.
        merged: for float16 and bfloat16, how many of the different values are lost
            because the cast makes them equal to another.
    """

    name: str = ""
    dtype: str = "float32"
    shape: tuple[int, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    finite: bool = True
    integral: bool = False
    distinct: int = 0
    rounding: Mapping[str, float] = field(default_factory=dict)
    merged: Mapping[str, int] = field(default_factory=dict)

    @property
    def largest(self) -> float:
        """The largest magnitude."""
        return max(abs(self.minimum or 0.0), abs(self.maximum or 0.0))

    def keeps_integers(self, dtype: str) -> bool:
        """Whether each whole number up to its largest is exact in `dtype`."""
        return self.largest <= EXACT_INTEGERS.get(dtype, float("inf"))


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class OutputView:
    """An output of the model.

    Attributes:
        name: by key, by name of the layer, or by position.
        dtype: as it was observed; as the layer's policy says where it was not.
        shape: likewise.
        layers: paths of what makes it, the last layer first, back to the first with
            weights; empty where the model's own code makes it.
        activation: the last nonlinearity on that way, such as `softmax`; `linear`
            without one; empty where it is not known.
        made_at: the line of the script that made the last of them; absent where that
            was not watched.
        loss: what `compile` gave for it.
    """

    name: str = ""
    dtype: str = "float32"
    shape: tuple[int | None, ...] = ()
    layers: tuple[str, ...] = ()
    activation: str = ""
    made_at: Place | None = None
    loss: LossView | None = None
