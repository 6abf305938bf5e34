"""One training in progress: its clock, its epochs, and how it ends."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Literal

from betterhalf.backends import Backend
from betterhalf.records import events
from betterhalf.records.training import Epoch, Window
from betterhalf.worker.checking import read_checks
from betterhalf.worker.clock import Clock, Limit
from betterhalf.worker.memory import PeakMemory
from betterhalf.worker.sightings import Sightings
from betterhalf.worker.writing import EventWriter


class Session:
    """Collects the samples of one training and tells them as they come.

    Args:
        ordinal: from 0, in the order of the script.
        kind: how the script trains.
        name: of the model or, in a loop, of the optimizer.
        backend: adapter of the backend.
        writer: where events go.
        limit: when the training has gone on long enough.

    Attributes:
        model: the one that trains; absent in a custom loop.
        clock: counts and times its steps.
        on_limit: called when the limit is reached.
        steps_per_epoch: as Keras knows it.
        limited: the limit was reached.
        capped: fewer epochs run than the script asked for.
        is_before_first_step: an epoch has begun and no step of it has.
    """

    def __init__(
        self,
        ordinal: int,
        kind: Literal["fit", "train_on_batch", "loop"],
        name: str,
        backend: Backend,
        writer: EventWriter,
        limit: Limit,
    ):
        self.ordinal = ordinal
        self.kind = kind
        self.model: Any = None
        self.on_limit: Callable[[], None] = lambda: None
        self.steps_per_epoch: int | None = None
        self.limited = False
        self.capped = False
        self.is_before_first_step = False
        self._name = name
        self._backend = backend
        self._writer = writer
        self._began = time.perf_counter()
        self._memory = PeakMemory(backend)
        self._applied_before = 0
        self._epoch = _EpochInProgress()
        self.clock = Clock(
            synchronise=backend.synchronise,
            on_window=self._window_closed,
            on_first_step=self._first_step_ended,
            on_limit=self._limit_reached,
            limit=limit,
        )

    def describe(self, plan: dict[str, Any]) -> None:
        """Tells that the training begins, with what is known of it."""
        self._writer.write(
            events.TrainingBegan,
            ordinal=self.ordinal,
            kind=self.kind,
            model=self._name,
            **plan,
        )

    def begin_epoch(self, index: int) -> None:
        """An epoch begins; what came since the last one belongs to the last one."""
        self._tell_epoch()
        self.clock.epoch = index
        self._epoch = _EpochInProgress(index, self.clock.steps)
        self.is_before_first_step = True

    def begin_steps(self) -> None:
        """The first step of the epoch begins.

        Setting up the epoch's iterator belongs to the epoch and to no window: on
        TensorFlow it takes between 10 ms and 1.2 s (seen with 1,293 images in memory),
        which a short trial would charge to whichever arm crosses more epochs.
        """
        self.is_before_first_step = False
        self.clock.begin_window()
        self._epoch.steps_began = time.perf_counter()

    def count(self, steps_per_execution: int, outputs: Any, traced: bool) -> None:
        """A call of the train function has returned.

        At the last step of an epoch the window closes at once, so that what the input
        pipeline does afterwards (0.3 to 0.6 s on TensorFlow, now and then) is a part of
        the epoch and of no step.

        Args:
            steps_per_execution: training steps that the call was to take.
            outputs: what it returned, to wait for.
            traced: it was compiled in this call.
        """
        steps = self._steps_in_call(steps_per_execution)
        self.clock.count(steps, outputs, traced)
        done = self.clock.steps - self._epoch.steps_before
        if self.limited or done == self.steps_per_epoch:
            self._end_steps()

    def end_train_part(self, samples: int | None) -> None:
        """The epoch's training is over; validation or its end follows.

        Args:
            samples: examples of the epoch; absent where unknown.
        """
        epoch = self._epoch
        if epoch.is_over or epoch.index is None:
            return
        self._end_steps()
        epoch.is_over = True
        epoch.samples = samples
        epoch.complete = not self.limited

    def _end_steps(self) -> None:
        epoch = self._epoch
        if epoch.train_seconds is None:
            self.clock.end_window()
            epoch.train_seconds = time.perf_counter() - epoch.steps_began
            epoch.steps = self.clock.steps - epoch.steps_before

    def end_epoch(self, logs: dict[str, float]) -> None:
        """The epoch's logs are known; it lasts until the next one begins."""
        self._epoch.logs = logs

    def _steps_in_call(self, steps_per_execution: int) -> int:
        """Returns the steps in the call of the train function that just returned."""
        if self.steps_per_epoch is None or steps_per_execution == 1:
            return steps_per_execution
        done = self.clock.steps - self._epoch.steps_before
        return max(1, min(steps_per_execution, self.steps_per_epoch - done))

    def remember_applied(self, applied: int | None) -> None:
        """Steps that the optimizer had applied before this training."""
        self._applied_before = applied or 0

    def end_last_epoch(self) -> None:
        """Training is over; the last epoch ends here."""
        self._tell_epoch()

    def end(self, keras: Any, sightings: Sightings, whole: bool) -> None:
        """Tells what can only be told at the end.

        Args:
            keras: the imported module.
            sightings: what was seen while steps were traced.
            whole: false where the training raised; then the model is in no state to be
                checked.
        """
        seconds = time.perf_counter() - self._began
        checks = None
        if whole:
            self.clock.end_window()
            self._tell_epoch()
            checks = read_checks(
                keras,
                self.model or sightings.model,
                sightings,
                steps=self.clock.steps,
                applied_before=self._applied_before,
            )
        self._writer.write(
            events.TrainingEnded,
            ordinal=self.ordinal,
            seconds=seconds,
            steps=self.clock.steps,
            cut_short=self.limited or self.capped,
            checks=checks,
            memory=self._memory.read(),
        )

    def _tell_epoch(self) -> None:
        record = self._epoch.record(time.perf_counter())
        self._epoch = _EpochInProgress()
        if record is not None:
            self._writer.write(events.EpochEnded, ordinal=self.ordinal, epoch=record)

    def _window_closed(self, window: Window) -> None:
        self._writer.write(events.WindowClosed, ordinal=self.ordinal, window=window)

    def _first_step_ended(self) -> None:
        self._writer.write(
            events.FirstStepEnded,
            ordinal=self.ordinal,
            startup_seconds=time.perf_counter() - self._began,
            steps_per_epoch=self.steps_per_epoch,
        )

    def _limit_reached(self) -> None:
        self.limited = True
        self.on_limit()


class _EpochInProgress:
    def __init__(self, index: int | None = None, steps_before: int = 0):
        self.index = index
        self.steps_before = steps_before
        self.began = time.perf_counter()
        self.steps_began = self.began
        self.train_seconds: float | None = None
        self.is_over = False
        self.steps = 0
        self.samples: int | None = None
        self.complete = False
        self.logs: dict[str, float] = {}

    def record(self, now: float) -> Epoch | None:
        """Returns the epoch that ends now; none if no step of it was seen to end."""
        if self.index is None or self.train_seconds is None:
            return None
        return Epoch(
            index=self.index,
            seconds=now - self.began,
            train_seconds=self.train_seconds,
            steps=self.steps,
            complete=self.complete,
            samples=self.samples,
            logs=self.logs,
        )
