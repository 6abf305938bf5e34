"""From the events of a child to the record of its trial.

The child may have died at any moment, in the middle of a line too: whatever prefix of
its events is there gives a record with what they prove and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import msgspec

from betterhalf.errors import StoreError
from betterhalf.records import codec, events
from betterhalf.records.environment import Environment
from betterhalf.records.plan import Slot
from betterhalf.records.training import (
    Checks,
    Epoch,
    Evaluation,
    Memory,
    Training,
    Window,
)
from betterhalf.records.trial import Failure, Note, Outcome, Repair, Trial
from betterhalf.trials.endings import (
    Ending,
    find_failure,
    has_diverged,
    is_out_of_memory,
    name_timeout,
)


def read_events(lines: Iterable[bytes]) -> Iterator[events.Event]:
    """Yields the events in `lines`; a torn line and an unknown event are passed over.

    Unknown ones come from a child of another release.
    """
    for line in lines:
        try:
            yield codec.decode_line(line, events.Event)
        except StoreError:
            continue


def fold(
    seen: Iterable[events.Event],
    slot: Slot,
    ending: Ending,
    *,
    judged: int | None = None,
    log: str = "",
    memory_bytes: int | None = None,
) -> Trial:
    """Returns the record of a trial.

    Args:
        seen: events of the child, in their order.
        slot: which trial it was.
        ending: how its process ended.
        judged: ordinal of the training that is judged, where an earlier trial showed
            it; else the longest `fit`, else the longest other training.
        log: end of its output.
        memory_bytes: of the machine.
    """
    told = _Told()
    for event in seen:
        told.take(event)
    trainings = told.list_trainings()
    chosen = _choose_judged(trainings, judged)
    training = None if chosen is None else trainings[chosen]
    checks = None if chosen is None else told.trainings[chosen].checks
    evaluations = tuple(told.evaluations)
    outcome, failure = _name_outcome(ending, told, log, memory_bytes)
    if outcome in {"finished", "crashed"} and has_diverged(
        training, checks, evaluations
    ):
        outcome = "diverged"
    return Trial(
        arm=slot.arm,
        number=slot.number,
        stage=slot.stage,
        outcome=outcome,
        exit_code=ending.exit_code,
        seconds=ending.seconds,
        environment=told.environment,
        trainings=trainings,
        judged=chosen,
        evaluations=evaluations,
        checks=checks,
        memory=None if chosen is None else told.trainings[chosen].memory,
        repairs=tuple(told.repairs),
        notes=(
            *told.notes,
            *_note_exit_code(ending, outcome),
            *_note_left_behind(ending),
        ),
        timeline=ending.timeline,
        failure=failure,
    )


def count_whole_steps(training: Training) -> int:
    """Returns how many steps a training has when nothing cuts it short.

    A lower bound where the script did not say and nobody could see.
    """
    if not training.cut_short or training.planned_epochs is None:
        return training.steps
    seen = max((epoch.steps for epoch in training.epochs), default=training.steps)
    return max(
        training.steps, training.planned_epochs * (training.steps_per_epoch or seen)
    )


def _choose_judged(trainings: Sequence[Training], known: int | None) -> int | None:
    if known is not None and known < len(trainings):
        return known
    fits = [training for training in trainings if training.kind == "fit"]
    # the first of equals, so that every trial chooses alike
    longest = max(fits or trainings, key=count_whole_steps, default=None)
    return None if longest is None else longest.ordinal


def _name_outcome(
    ending: Ending, told: _Told, log: str, memory_bytes: int | None
) -> tuple[Outcome, Failure | None]:
    if told.left:
        return "finished", None
    if ending.ended_by == "timeout":
        return "timed-out", name_timeout(ending.seconds)
    if ending.ended_by == "interrupt":
        return "interrupted", Failure(kind="interrupt", message="ended by Ctrl-C")
    if ending.exit_code == 0:
        return "finished", None
    failure = find_failure(ending, told.raised, log)
    if _left_by_itself(ending, failure) and told.has_trained():
        return "finished", None
    is_full = is_out_of_memory(ending, failure, log, memory_bytes)
    return ("out-of-memory" if is_full else "crashed"), failure


def _left_by_itself(ending: Ending, failure: Failure) -> bool:
    """Whether it was `sys.exit` with a code of the script's own, and no mishap.

    Codes from 128 are what shells make of signals.
    """
    return failure.kind == "exit" and 0 < (ending.exit_code or 0) < 128


def _note_exit_code(ending: Ending, outcome: Outcome) -> Iterator[Note]:
    if outcome == "finished" and ending.exit_code:
        yield Note(
            code="exit-code",
            text=f"the script trained and then left with exit code {ending.exit_code}",
        )


def _note_left_behind(ending: Ending) -> Iterator[Note]:
    if ending.left_behind:
        yield Note(
            code="processes-left",
            text=f"{ending.left_behind} processes that it had started were still "
            "running after it and were ended",
        )


@dataclass(slots=True)
class _TrainingSeen:
    """A training in the making; `fields` as in `records.training.Training`."""

    fields: dict[str, Any]
    began_at: float
    last_at: float
    windows: list[Window] = field(default_factory=list)
    epochs: list[Epoch] = field(default_factory=list)
    checks: Checks | None = None
    memory: Memory | None = None
    ended: bool = False

    def to_record(self) -> Training:
        fields = dict(self.fields)
        if not self.ended:
            # as far as it was seen to come
            fields["seconds"] = max(self.last_at - self.began_at, 0.0)
            fields["steps"] = sum(window.steps for window in self.windows)
        return Training(
            **fields, windows=tuple(self.windows), epochs=tuple(self.epochs)
        )


@final
class _Told:
    """What the events of one child have told so far."""

    def __init__(self) -> None:
        self.trainings: list[_TrainingSeen] = []
        self.evaluations: list[Evaluation] = []
        self.repairs: list[Repair] = []
        self.notes: list[Note] = []
        self.environment: Environment | None = None
        self.raised: Failure | None = None
        self.left = False
        self._handlers: dict[type[Any], Any] = {
            events.EnvironmentSeen: self._take_environment,
            events.Noted: lambda event: self.notes.append(event.note),
            events.Repaired: lambda event: self.repairs.append(event.repair),
            events.TrainingBegan: self._begin,
            events.FirstStepEnded: self._end_first_step,
            events.WindowClosed: self._take_window,
            events.EpochEnded: self._take_epoch,
            events.TrainingEnded: self._end,
            events.Evaluated: lambda event: self.evaluations.append(event.evaluation),
            events.ValidationRecomputed: self._take_validation,
            events.Raised: self._raise,
            events.Left: self._leave,
        }

    def take(self, event: events.Event) -> None:
        """Takes one event; what belongs to no known training is passed over."""
        handler = self._handlers.get(type(event))
        if handler is not None:
            handler(event)

    def has_trained(self) -> bool:
        """Whether every training that began has come to its end."""
        return bool(self.trainings) and all(each.ended for each in self.trainings)

    def list_trainings(self) -> tuple[Training, ...]:
        """Returns the trainings; each stands at the place of its ordinal."""
        return tuple(training.to_record() for training in self.trainings)

    def _take_environment(self, event: events.EnvironmentSeen) -> None:
        self.environment = event.environment

    def _raise(self, event: events.Raised) -> None:
        self.raised = event.failure

    def _leave(self, _: events.Left) -> None:
        self.left = True

    def _begin(self, event: events.TrainingBegan) -> None:
        if event.ordinal != len(self.trainings):
            return
        fields = msgspec.structs.asdict(event)
        at = fields.pop("at")
        self.trainings.append(_TrainingSeen(fields, began_at=at, last_at=at))

    def _find(self, event: Any) -> _TrainingSeen | None:
        if not 0 <= event.ordinal < len(self.trainings):
            return None
        training = self.trainings[event.ordinal]
        training.last_at = event.at
        return training

    def _end_first_step(self, event: events.FirstStepEnded) -> None:
        training = self._find(event)
        if training is None:
            return
        training.fields["startup_seconds"] = event.startup_seconds
        training.fields["first_step_at_seconds"] = event.at
        for name in ("steps_per_epoch", "batch_size"):
            if getattr(event, name) is not None:
                training.fields[name] = getattr(event, name)

    def _take_window(self, event: events.WindowClosed) -> None:
        training = self._find(event)
        if training is not None:
            training.windows.append(event.window)

    def _take_epoch(self, event: events.EpochEnded) -> None:
        training = self._find(event)
        if training is not None:
            training.epochs.append(event.epoch)

    def _take_validation(self, event: events.ValidationRecomputed) -> None:
        training = self._find(event)
        if training is not None:
            training.fields["validation_float32"] = event.metrics

    def _end(self, event: events.TrainingEnded) -> None:
        training = self._find(event)
        if training is None:
            return
        training.ended = True
        for name in ("seconds", "steps", "cut_short"):
            training.fields[name] = getattr(event, name)
        training.checks, training.memory = event.checks, event.memory
