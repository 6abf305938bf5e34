"""Facts about how a model is trained: compile, optimizers, steps, script, machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, final

from betterhalf.auditing.sources import CodeView, Place
from betterhalf.records.environment import Device


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class OptimizerView:
    """An optimizer of the model.

    Attributes:
        attribute: where the model keeps it: `optimizer`, or such as `d_optimizer`; the
            name of one that a loop of the script's own uses.
        class_name: of the innermost optimizer, such as `Adam`.
        wrapper: class of what scales its loss: `LossScaleOptimizer`; empty without.
        from_betterhalf: whether that is betterhalf's.
        compiled: whether `compile` was given it.
        native: whether it is one of `torch.optim`.
        scale: the loss scale now; absent before it is built, or unwrapped.
        iterations: steps that it has applied.
        config: its plain settings by name: `learning_rate`, `epsilon`, `clipnorm`,
            `loss_scale_factor`, `weight_decay`, `use_ema`, …
    """

    attribute: str = "optimizer"
    class_name: str = "Adam"
    wrapper: str = ""
    from_betterhalf: bool = False
    compiled: bool = True
    native: bool = False
    scale: float | None = None
    iterations: int = 0
    config: Mapping[str, Any] = field(default_factory=dict)

    @property
    def scales(self) -> bool:
        """Whether its `scale_loss` multiplies at all."""
        return bool(self.wrapper) or self.config.get("loss_scale_factor") is not None


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class LossView:
    """A loss or metric that `compile` was given, or that a layer adds.

    Attributes:
        output: the output that it is for, by name or position; empty for all.
        kind: class name, or name of the function, as given: `mse` is
            `MeanSquaredError` for a loss and `mean_squared_error` for a metric.
        from_keras: whether it came with Keras.
        is_function: whether a plain function computes it on what it gets, uncast.
        from_logits: as set; absent where it has no such setting.
        dtype: in which a loss or metric object computes.
        code: the user's source of it.
    """

    output: str = ""
    kind: str = ""
    from_keras: bool = True
    is_function: bool = False
    from_logits: bool | None = None
    dtype: str = "float32"
    code: CodeView | None = None


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class CompileView:
    """What `compile` was told.

    Attributes:
        losses: one an output, as far as given.
        metrics: likewise, weighted ones too.
        jit_compile: as Keras resolved it.
        run_eagerly: as given.
        steps_per_execution: as given.
    """

    losses: tuple[LossView, ...] = ()
    metrics: tuple[LossView, ...] = ()
    jit_compile: bool | None = None
    run_eagerly: bool = False
    steps_per_execution: int = 1


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class TrainStepView:
    """A `train_step` of the user's.

    Attributes:
        owner: class that defines it.
        code: its source and that of the user's functions and methods that it calls.
        scaled: optimizers, as written, whose `scale_loss` is called.
        applied: optimizers, as written, that take a step.
        takes_gradients: whether it has a `GradientTape`, `jax.grad`, `.backward()` …
        calls_super: whether it leaves the step to Keras.
    """

    owner: str = ""
    code: CodeView = field(default_factory=CodeView)
    scaled: tuple[str, ...] = ()
    applied: tuple[str, ...] = ()
    takes_gradients: bool = False
    calls_super: bool = False


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class StepView:
    """What was seen when a training step was traced, or taken and undone.

    Attributes:
        error: what it raised, its first line; absent where it did not.
        error_at: the line of the user's code that it came through.
        error_layer: path of the layer that it came through.
        fails_in_float32: whether the same step raises in float32 too, so that precision
            is not the cause.
        scaled: attributes of the optimizers whose loss was scaled.
        applied: attributes of the optimizers that took a step.
        gradient_dtypes: dtypes of the gradients that the optimizers were given.
    """

    error: str | None = None
    error_at: Place | None = None
    error_layer: str | None = None
    fails_in_float32: bool | None = None
    scaled: tuple[str, ...] = ()
    applied: tuple[str, ...] = ()
    gradient_dtypes: tuple[str, ...] = ()


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class EventView:
    """Something that the script did before the audit, in the order it did it.

    Attributes:
        kind: `policy` set, `clear_session`, `floatx` set, the first `layer` made since
            the event before, `compile`, `load`, `clone`.
        value: the policy, floatx, class of the layer, or file.
        at: the line of the script.
        detail: for `compile`: `loss_scale_factor` as it was given.
    """

    kind: Literal["policy", "clear_session", "floatx", "layer", "compile", "load"]
    value: str = ""
    at: Place | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class EnvironmentView:
    """What the model runs on.

    Attributes:
        backend: `tensorflow`, `jax` or `torch`.
        keras_version: such as `3.15.1`.
        floatx: Keras's default float dtype.
        epsilon: Keras's fuzz factor.
        global_policy: name of the global policy at the audit.
        versions: of the packages that can change a number.
        devices: accelerators in use, else the CPU.
        enabled: whether `betterhalf.enable` is in force.
    """

    backend: str = "tensorflow"
    keras_version: str = "3.15.1"
    floatx: str = "float32"
    epsilon: float = 1e-7
    global_policy: str = "float32"
    versions: Mapping[str, str] = field(default_factory=dict)
    devices: tuple[Device, ...] = ()
    enabled: bool = False
