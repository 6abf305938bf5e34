"""Where an experiment stands, from what its observer is told; no terminal in here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, isfinite, log
from statistics import fmean
from typing import TYPE_CHECKING

from betterhalf.records.events import (
    EpochEnded,
    Event,
    FirstStepEnded,
    TrainingBegan,
    WindowClosed,
)
from betterhalf.records.plan import Plan, Slot
from betterhalf.reporting.samples import step_seconds


if TYPE_CHECKING:
    from collections.abc import Sequence

    from betterhalf.records.trial import Trial


@dataclass(frozen=True, slots=True)
class Course:
    """How far the training that runs has come.

    Attributes:
        planned_epochs: as the script asked for; absent where it did not say.
        steps_per_epoch: absent where nobody knows yet.
        epoch: from 0.
        step: training steps of this epoch that are done.
        steady_steps: steps that the clock counts.
        steady_seconds: their time.
    """

    planned_epochs: int | None = None
    steps_per_epoch: int | None = None
    epoch: int = 0
    step: int = 0
    steady_steps: int = 0
    steady_seconds: float = 0.0

    @property
    def step_seconds(self) -> float | None:
        """Time per step over the steady windows so far."""
        return self.steady_seconds / self.steady_steps if self.steady_steps else None


@dataclass(frozen=True, slots=True)
class Ended:
    """What is kept of a trial that has ended."""

    slot: Slot
    seconds: float
    step_seconds: float | None


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of an experiment; each method returns the next one.

    Attributes:
        plan: of the experiment.
        slot: of the trial that runs.
        place: of that trial among all of them, from 1.
        total: how many trials there are to be.
        began_at: when that trial began, by the caller's clock.
        course: of its training; absent while the script has not begun to train.
        ended: trials that have ended while this was watching.
    """

    plan: Plan
    slot: Slot | None = None
    place: int = 0
    total: int = 0
    began_at: float = 0.0
    course: Course | None = None
    ended: tuple[Ended, ...] = ()

    def begin(self, slot: Slot, place: int, total: int, now: float) -> Progress:
        """Returns the state as a trial begins."""
        return replace(
            self, slot=slot, place=place, total=total, began_at=now, course=None
        )

    def see(self, event: Event) -> Progress:
        """Returns the state after an event of the trial that runs."""
        if isinstance(event, TrainingBegan):
            course = Course(event.planned_epochs, event.steps_per_epoch)
            return replace(self, course=course)
        if self.course is None:
            return self
        return replace(self, course=_advance(self.course, event))

    def end(self, trial: Trial) -> Progress:
        """Returns the state as a trial ends."""
        slot = Slot(arm=trial.arm, number=trial.number, stage=trial.stage)
        training = trial.judged_training
        measured = step_seconds(training) if training else None
        ended = Ended(slot, trial.seconds, measured)
        return replace(self, slot=None, course=None, ended=(*self.ended, ended))

    def seconds_left(self, now: float) -> float | None:
        """Returns about how long the rest takes, `None` before a trial has ended."""
        if not self.ended:
            return None
        order = self.plan.order
        at = order.index(self.slot) if self.slot in order else len(order)
        ahead = sum(self._expect(slot) for slot in order[at + 1 :])
        if self.slot is None:
            return ahead
        return ahead + max(self._expect(self.slot) - (now - self.began_at), 0.0)

    def ratio(self) -> tuple[float, str] | None:
        """Returns how many times as fast the running arm is as its reference so far.

        Geometric means of the time per step, the trial that runs included; with the
        name of the reference. `None` where either has no figure yet.
        """
        if self.slot is None:
            return None
        arm = next((one for one in self.plan.arms if one.name == self.slot.arm), None)
        if arm is None or arm.is_reference:
            return None
        for other in self.plan.arms:
            if other.is_reference and other.backend == arm.backend:
                return self._compare(other.name, arm.name)
        return None

    def _compare(self, reference: str, arm: str) -> tuple[float, str] | None:
        theirs = self._step_times(reference)
        ours = self._step_times(arm)
        if self.course is not None and self.course.step_seconds is not None:
            ours.append(self.course.step_seconds)
        if not theirs or not ours:
            return None
        return exp(_mean_log(theirs) - _mean_log(ours)), reference

    def _step_times(self, arm: str) -> list[float]:
        return [
            one.step_seconds
            for one in self.ended
            if one.slot.arm == arm and one.step_seconds and isfinite(one.step_seconds)
        ]

    def _expect(self, slot: Slot) -> float:
        """Mean of the trials of that arm and stage, else of that stage, else of all."""
        for alike in (
            [one for one in self.ended if _kind(one.slot) == _kind(slot)],
            [one for one in self.ended if one.slot.stage == slot.stage],
            self.ended,
        ):
            if alike:
                return fmean(one.seconds for one in alike)
        return 0.0


def _advance(course: Course, event: Event) -> Course:
    if isinstance(event, FirstStepEnded) and event.steps_per_epoch is not None:
        return replace(course, steps_per_epoch=event.steps_per_epoch)
    if isinstance(event, EpochEnded):
        return replace(course, epoch=event.epoch.index + 1, step=0)
    if not isinstance(event, WindowClosed):
        return course
    window = event.window
    before = course.step if window.epoch == course.epoch else 0
    moved = replace(course, epoch=window.epoch, step=before + window.steps)
    if not window.steady:
        return moved
    return replace(
        moved,
        steady_steps=course.steady_steps + window.steps,
        steady_seconds=course.steady_seconds + window.seconds,
    )


def _kind(slot: Slot) -> tuple[str, int]:
    return slot.arm, slot.stage


def _mean_log(values: Sequence[float]) -> float:
    return fmean(log(value) for value in values)
