"""What a child tells while it runs: one JSON object a line, appended as it happens.

The live view reads them; the parent folds them into the trial's record when the child
has ended, however it ended.
"""

from __future__ import annotations

from typing import Literal

from betterhalf.records._base import Record
from betterhalf.records.environment import Environment
from betterhalf.records.training import Checks, Epoch, Evaluation, Memory, Window
from betterhalf.records.trial import Failure, Note, Repair


class _Event(Record, frozen=True, kw_only=True, tag_field="event"):
    """`at`: seconds since the child began."""

    at: float


class Started(_Event, frozen=True, kw_only=True, tag="started"):
    """The hook is in place; no line of the script has run yet."""

    pid: int


class EnvironmentSeen(_Event, frozen=True, kw_only=True, tag="environment"):
    """Keras and its backend are imported."""

    environment: Environment


class Noted(_Event, frozen=True, kw_only=True, tag="note"):
    """Something was overridden, or seen."""

    note: Note


class Repaired(_Event, frozen=True, kw_only=True, tag="repair"):
    """Something was put right."""

    repair: Repair


class TrainingBegan(_Event, frozen=True, kw_only=True, tag="training-began"):
    """A training starts; fields as in `records.training.Training`."""

    ordinal: int
    kind: Literal["fit", "train_on_batch", "loop"]
    model: str
    planned_epochs: int | None = None
    steps_per_epoch: int | None = None
    restores_best_weights: bool = False
    monitors: str | None = None


class FirstStepEnded(_Event, frozen=True, kw_only=True, tag="first-step"):
    """The first step of a training is done and synchronised."""

    ordinal: int
    startup_seconds: float
    steps_per_epoch: int | None = None
    batch_size: int | None = None


class WindowClosed(_Event, frozen=True, kw_only=True, tag="window"):
    """The clock has a sample."""

    ordinal: int
    window: Window


class EpochEnded(_Event, frozen=True, kw_only=True, tag="epoch"):
    """An epoch is over, its validation and callbacks included."""

    ordinal: int
    epoch: Epoch


class TrainingEnded(_Event, frozen=True, kw_only=True, tag="training-ended"):
    """A training is over; what could only be told at its end."""

    ordinal: int
    seconds: float
    steps: int
    cut_short: bool = False
    checks: Checks | None = None
    memory: Memory | None = None


class Evaluated(_Event, frozen=True, kw_only=True, tag="evaluation"):
    """The script called `evaluate`."""

    evaluation: Evaluation


class ValidationRecomputed(_Event, frozen=True, kw_only=True, tag="recomputed"):
    """The validation of a `fit` was measured again, with outputs cast to float32."""

    ordinal: int
    metrics: dict[str, float]


class Raised(_Event, frozen=True, kw_only=True, tag="raised"):
    """The script raised and nobody caught it."""

    failure: Failure


class Left(_Event, frozen=True, kw_only=True, tag="left"):
    """A short trial has what it came for and leaves the process."""


Event = (
    Started
    | EnvironmentSeen
    | Noted
    | Repaired
    | TrainingBegan
    | FirstStepEnded
    | WindowClosed
    | EpochEnded
    | TrainingEnded
    | Evaluated
    | ValidationRecomputed
    | Raised
    | Left
)
