"""What a rule may know of a model and its training set-up: frozen facts, no framework.

Every field has a default that means "not known" or "nothing", so that a case of a test
names only what matters to it. Dtypes are spelled as Keras spells them. Facts about the
user's source are in `sources`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, final

from betterhalf.auditing._layer_views import (
    ArrayView,
    LayerView,
    OutputView,
    TensorView,
    WeightView,
)
from betterhalf.auditing._setup_views import (
    CompileView,
    EnvironmentView,
    EventView,
    LossView,
    OptimizerView,
    StepView,
    TrainStepView,
)
from betterhalf.auditing.sources import CodeView, Place


__all__ = [
    "ArrayView",
    "CompileView",
    "EnvironmentView",
    "EventView",
    "LayerView",
    "LossView",
    "ModelView",
    "OptimizerView",
    "OutputView",
    "StepView",
    "TensorView",
    "TrainStepView",
    "WeightView",
]


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class ModelView:
    """Everything that a rule may know.

    Attributes:
        name: of the model.
        kind: how it is built.
        layers: the model itself, then every layer inside it, in order.
        inputs_expected: what a functional or sequential model declares as its inputs.
        outputs: of the model; empty where they are not known.
        compiled: what `compile` was told; absent without it.
        optimizers: the compiled one, and others that are attributes.
        train_step: absent where it is Keras's.
        inputs: arrays of the first batch; empty without a batch.
        targets: what is learned, likewise.
        observed: whether a call of the model was watched.
        call_error: what that call raised, its first line.
        call_error_at: the line of the user's code that it came through.
        call_error_layer: path of the layer that it came through.
        call_fails_in_float32: whether the same call raises in float32 too, so that
            precision is not the cause.
        step: what a training step did; absent where none was traced.
        environment: backend, versions, devices.
        script: the user's source: the script and the modules of the user's beside it;
            absent where only a model was given.
        events: what the script did; empty where it was not watched.
        loaded_from: the file that the model was read from; absent for one that was
            built.
    """

    name: str = "model"
    kind: Literal["functional", "sequential", "subclass"] = "functional"
    layers: tuple[LayerView, ...] = ()
    inputs_expected: tuple[TensorView, ...] = ()
    outputs: tuple[OutputView, ...] = ()
    compiled: CompileView | None = None
    optimizers: tuple[OptimizerView, ...] = ()
    train_step: TrainStepView | None = None
    inputs: tuple[ArrayView, ...] = ()
    targets: tuple[ArrayView, ...] = ()
    observed: bool = False
    call_error: str | None = None
    call_error_at: Place | None = None
    call_error_layer: str | None = None
    call_fails_in_float32: bool | None = None
    step: StepView | None = None
    environment: EnvironmentView = field(default_factory=EnvironmentView)
    script: CodeView | None = None
    events: tuple[EventView, ...] = ()
    loaded_from: str | None = None

    @property
    def backend(self) -> str:
        """The backend, for short."""
        return self.environment.backend

    @property
    def model(self) -> LayerView:
        """The model itself as a layer; a plain one where there are no layers."""
        return self.layers[0] if self.layers else LayerView()

    def layers_computing_in(self, *dtypes: str) -> Iterator[LayerView]:
        """Yields the layers, the model itself not among them, of a compute dtype."""
        return (layer for layer in self.layers[1:] if layer.compute_dtype in dtypes)

    def layers_of(self, *names: str) -> Iterator[LayerView]:
        """Yields the layers of a class, or of one that inherits from it, by name."""
        return (layer for layer in self.layers if layer.is_a(*names))

    def layer(self, path: str) -> LayerView | None:
        """Returns the layer at a path; `None` if there is none."""
        return next((layer for layer in self.layers if layer.path == path), None)

    def code(self) -> CodeView:
        """Returns all of the user's source that is known: script, layers, train step.

        Where the script is known it holds the rest already.
        """
        if self.script is not None:
            return self.script
        parts = [layer.code for layer in self.layers if layer.code is not None]
        if self.train_step is not None:
            parts.append(self.train_step.code)
        whole = CodeView()
        for part in {id(part): part for part in parts}.values():
            whole = whole + part
        return whole
