"""What was seen of one training inside a trial."""

from __future__ import annotations

from typing import Literal

from betterhalf.records._base import Record


class Window(Record, frozen=True, kw_only=True):
    """A stretch of training steps between two synchronisations with the device.

    Attributes:
        epoch: index of the epoch, from 0; 0 throughout in a custom loop.
        steps: training steps in it, each of `steps_per_execution` counted.
        seconds: wall time from the end of the window before, data loading included.
        steady: false where a step of it was compiled or was the first one.
    """

    epoch: int
    steps: int
    seconds: float
    steady: bool


class Epoch(Record, frozen=True, kw_only=True):
    """One epoch of `fit`.

    Attributes:
        index: from 0, as Keras counts them.
        seconds: wall time until the next epoch or the end of training, validation and
            callbacks included: what the user waits for.
        train_seconds: its part from the start of the first training step to the end of
            the last; setting up the epoch's iterator comes before it.
        steps: training steps in it.
        samples: examples that it trained on; absent where unknown.
        complete: false where the trial was cut short within it.
        logs: what Keras logged, `val_*` included.
    """

    index: int
    seconds: float
    train_seconds: float
    steps: int
    complete: bool
    samples: int | None = None
    logs: dict[str, float] = {}


class Training(Record, frozen=True, kw_only=True):
    """One `fit`, one run of `train_on_batch` calls, or one custom loop.

    Attributes:
        ordinal: from 0, in the order they began in the script.
        kind: how the script trains.
        model: name of the model or, in a custom loop, of the optimizer.
        planned_epochs: what the script asked for; absent where it did not say.
        steps_per_epoch: as Keras knows it; absent for a generator in its first epoch.
        batch_size: samples a step, as seen in the data; absent where unknown.
        startup_seconds: from the start of the training to the end of its first step,
            building and compilation included.
        first_step_at_seconds: end of that step, counted from the start of the process.
        seconds: the whole training.
        steps: training steps in all.
        cut_short: true where a cap or a short trial ended it early.
        windows: raw samples of the clock.
        epochs: raw samples of the epochs.
        validation_float32: the validation of `fit` once more after its end, metrics
            computed on outputs cast to float32, by `val_*` name; empty where the
            outputs are float32 anyway, or the data can be gone over once only.
        restores_best_weights: an `EarlyStopping(restore_best_weights=True)` took part.
        monitors: what early stopping watched, if anything.
    """

    ordinal: int
    kind: Literal["fit", "train_on_batch", "loop"]
    model: str
    planned_epochs: int | None = None
    steps_per_epoch: int | None = None
    batch_size: int | None = None
    startup_seconds: float | None = None
    first_step_at_seconds: float | None = None
    seconds: float = 0.0
    steps: int = 0
    cut_short: bool = False
    windows: tuple[Window, ...] = ()
    epochs: tuple[Epoch, ...] = ()
    validation_float32: dict[str, float] = {}
    restores_best_weights: bool = False
    monitors: str | None = None


class Evaluation(Record, frozen=True, kw_only=True):
    """One `evaluate` that the script called itself.

    Attributes:
        model: name of the model.
        after_training: ordinal of the training it followed; absent before the first.
        seconds: wall time.
        metrics: what it returned, `loss` included.
        metrics_float32: the same once more, computed on outputs cast to float32; empty
            where the outputs are float32 anyway, or the data can be gone over once
            only.
        samples: examples that it went over; absent where unknown.
        cut_short: true where a cap or a short trial limited its steps.
    """

    model: str
    after_training: int | None
    seconds: float
    metrics: dict[str, float]
    metrics_float32: dict[str, float] = {}
    samples: int | None = None
    cut_short: bool = False


class LayerDtypes(Record, frozen=True, kw_only=True):
    """The dtypes of one layer: `path` in the model, compute and variable dtype."""

    path: str
    compute: str
    variable: str


class Checks(Record, frozen=True, kw_only=True):
    """The three classic checks of a mixed-precision set-up, and what went with them.

    Attributes:
        global_policy: name of Keras's global dtype policy during the training.
        model_policy: name of the model's own.
        layers: layers in the model that hold no other layer.
        layers_computing_16bit: of those, the ones that compute in 16 bit while their
            variables stay float32.
        middle_layer: one of them from the middle of the model, to look at.
        output_dtypes: dtype of every model output.
        optimizer: class name of the optimizer, the inner one of a wrapper.
        loss_scaled: the loss was multiplied by a loss scale while the step was traced;
            absent where no step was seen.
        wrapped: the optimizer is a loss-scale optimizer.
        end_scale: its scale at the end; absent if unwrapped.
        applied_steps: steps that the optimizer applied.
        skipped_steps: steps that loss scaling skipped.
        non_finite_state: paths of weights that hold NaN or infinities at the end.
        jit_compile: as Keras resolved it.
        run_eagerly: as compiled.
        steps_per_execution: as compiled.
    """

    global_policy: str | None = None
    model_policy: str | None = None
    layers: int = 0
    layers_computing_16bit: int = 0
    middle_layer: LayerDtypes | None = None
    output_dtypes: tuple[str, ...] = ()
    optimizer: str | None = None
    loss_scaled: bool | None = None
    wrapped: bool = False
    end_scale: float | None = None
    applied_steps: int | None = None
    skipped_steps: int | None = None
    non_finite_state: tuple[str, ...] = ()
    jit_compile: bool | None = None
    run_eagerly: bool | None = None
    steps_per_execution: int = 1


class Memory(Record, frozen=True, kw_only=True):
    """The most memory that the judged training held.

    Attributes:
        peak_bytes: the high-water mark, reset as the training began.
        kind: `device` for memory of an accelerator; `resident` for memory of the
            process on a CPU, which no verdict ever counts.
        compiled_bytes: arguments, outputs and temporaries of the compiled step as JAX's
            compiler reports them, less what is aliased; JAX alone.
    """

    peak_bytes: int | None = None
    kind: Literal["device", "resident"] | None = None
    compiled_bytes: int | None = None
