"""Watches every training of a script, at Keras's seams, and tells what it sees."""

from __future__ import annotations

import atexit
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import msgspec

from betterhalf.backends import Backend
from betterhalf.hardware.facts import read_environment
from betterhalf.keras_seams import Listener
from betterhalf.keras_seams.listening import ApplyCall
from betterhalf.records import events
from betterhalf.records.instructions import Instructions
from betterhalf.records.training import Evaluation
from betterhalf.repairing.loss_scaling import scales_loss
from betterhalf.worker.clock import Limit
from betterhalf.worker.fitting import FitHook, plan_fit
from betterhalf.worker.metrics import read_metrics, read_sample_count
from betterhalf.worker.recomputing import MetricsRecomputer
from betterhalf.worker.session import Session
from betterhalf.worker.sightings import Sightings
from betterhalf.worker.writing import EventWriter


class TrainingWatcher(Listener):
    """Turns what Keras does into trainings: `fit`, `train_on_batch`, custom loops.

    Args:
        keras: the imported module.
        backend: its adapter.
        instructions: of this trial.
        writer: where events go.
    """

    def __init__(
        self,
        keras: Any,
        backend: Backend,
        instructions: Instructions,
        writer: EventWriter,
    ):
        self._keras = keras
        self._backend = backend
        self._instructions = instructions
        self._writer = writer
        self._sightings = Sightings(keras, backend)
        self._session: Session | None = None
        self._ordinal = 0
        self._told_environment = False
        self._in_batch = False
        self._metrics = MetricsRecomputer(keras, instructions, self._sightings, writer)
        self._stop_loops = backend.watch_loops(self._loop_stepped)
        atexit.register(self._end)

    def stop(self) -> None:
        """Stops watching the loops of the script."""
        self._end()
        self._stop_loops()
        atexit.unregister(self._end)

    def around_compile(
        self, model: Any, arguments: dict[str, Any], proceed: Callable[[], Any]
    ) -> Any:
        """A model that is compiled again may have other outputs."""
        self._sightings.forget(model)
        return proceed()

    def around_fit(
        self, model: Any, arguments: dict[str, Any], proceed: Callable[[], Any]
    ) -> Any:
        """Times one `fit`, capped as the instructions say."""
        if self._session is not None and self._session.kind == "fit":
            return proceed()  # a fit inside a fit belongs to the outer one
        self._end()
        session = self._begin("fit", model.name)
        plan = plan_fit(self._keras, arguments, self._instructions)
        session.describe(plan)
        session.capped = plan["planned_epochs"] > _epochs_to_run(arguments)
        hook = FitHook(self._keras, session, self._backend, self._sightings)
        hook.add_to(arguments, model)
        try:
            result = proceed()
        except BaseException:
            hook.restore()
            self._end(whole=False)
            raise
        hook.restore()
        self._end()
        if self._is_last_needed(session):
            self._leave()
        self._metrics.repeat_validation(session.ordinal, model)
        return result

    def around_evaluate(
        self, model: Any, arguments: dict[str, Any], proceed: Callable[[], Any]
    ) -> Any:
        """Times an `evaluate` of the script's own; validation is a part of `fit`."""
        session = self._session
        if self._metrics.is_repeating:
            return proceed()
        if session is not None and session.kind == "fit":
            self._metrics.remember_validation(model, arguments)
            return proceed()
        if session is not None:
            session.clock.end_window()
        short = self._instructions.short
        if short:
            arguments["steps"] = 1
        began = time.perf_counter()
        result = proceed()
        seconds = time.perf_counter() - began
        evaluation = Evaluation(
            model=str(model.name),
            after_training=self._ordinal - 1 if self._ordinal else None,
            seconds=seconds,
            metrics=read_metrics(model, result),
            samples=read_sample_count(model),
            metrics_float32=self._metrics.repeat(model, arguments),
            cut_short=short,
        )
        self._writer.write(events.Evaluated, evaluation=evaluation)
        if session is not None:
            session.clock.begin_window()
        return result

    def around_train_on_batch(
        self, model: Any, arguments: dict[str, Any], proceed: Callable[[], Any]
    ) -> Any:
        """Counts one step; Keras returns its logs as numbers, so it has ended."""
        session = self._session
        if session is not None and session.kind == "fit":
            return proceed()
        if session is None or session.kind != "train_on_batch":
            self._end()
            session = self._begin("train_on_batch", model.name)
            session.model = model
        seen = self._sightings.applies
        self._in_batch = True
        try:
            result = proceed()
        finally:
            self._in_batch = False
        traced = seen != self._sightings.applies and self._backend.compiles_step(model)
        session.clock.count(1, None, traced)
        return result

    def around_call(
        self, model: Any, stateless: bool, proceed: Callable[[], Any]
    ) -> Any:
        """Looks at what a model returns."""
        return self._sightings.call(model, stateless, proceed)

    def on_scale_loss(self, optimizer: Any) -> None:
        """Remembers that a loss was really scaled."""
        if scales_loss(self._keras, optimizer):
            self._sightings.scaled.add(id(optimizer))

    def around_apply(self, step: ApplyCall, proceed: Callable[[], Any]) -> Any:
        """Notes an optimizer step; in a compiled step, that it was traced."""
        result = proceed()
        self._sightings.applies += 1
        self._sightings.optimizer = step.optimizer
        self._backend.note_step(result)
        return result

    def _loop_stepped(self, outputs: Any, traced: bool) -> None:
        """A custom loop has taken a step."""
        session = self._session
        if self._in_batch or (session is not None and session.kind == "fit"):
            return
        if session is None or session.kind != "loop":
            self._end()
            optimizer = self._sightings.optimizer
            session = self._begin("loop", getattr(optimizer, "name", "torch.optim"))
        session.clock.count(1, outputs, traced)

    def _begin(self, kind: Any, name: str) -> Session:
        instructions = self._instructions
        limit = Limit(steps=instructions.steps)
        if instructions.short:
            limit.steady_steps = instructions.steady_steps
            limit.steady_seconds = instructions.steady_seconds
        session = Session(
            self._ordinal, kind, str(name), self._backend, self._writer, limit
        )
        if kind != "fit":
            session.describe({})
            session.on_limit = self._end_and_leave
        self._ordinal += 1
        self._session = session
        return session

    def _end(self, whole: bool = True) -> None:
        """Ends the training in progress, if there is one; not whole where it raised."""
        session, self._session = self._session, None
        if session is None:
            return
        session.end(self._keras, self._sightings, whole)
        if not self._told_environment:
            self._told_environment = True
            self._tell_environment()

    def _tell_environment(self) -> None:
        """Tells versions and the devices in use.

        After the first training: asking a backend for its devices earlier would settle
        what the script may still want to configure.
        """
        environment = read_environment(("keras", "numpy", *self._backend.versions()))
        cpus = tuple(each for each in environment.devices if each.kind == "cpu")
        environment = msgspec.structs.replace(
            environment, devices=self._backend.devices() or cpus
        )
        self._writer.write(events.EnvironmentSeen, environment=environment)

    def _is_last_needed(self, session: Session) -> bool:
        judged = self._instructions.judged
        return (
            self._instructions.short
            and judged is not None
            and session.ordinal >= judged
        )

    def _end_and_leave(self) -> None:
        """A loop of the script's own cannot be stopped but by leaving it."""
        self._end()
        if self._instructions.short:
            self._leave()

    def _leave(self) -> None:
        """Ends the process at once: the script's `except` and `finally` do not run."""
        self._writer.write(events.Left)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(0)


def _epochs_to_run(arguments: dict[str, Any]) -> int:
    return arguments.get("epochs", 1) - arguments.get("initial_epoch", 0)
