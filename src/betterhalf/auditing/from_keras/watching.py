"""Watches a script up to its first training step, and reads the model there."""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from betterhalf import backends
from betterhalf.auditing.from_keras.batches import first_batch
from betterhalf.auditing.from_keras.layers import Made
from betterhalf.auditing.from_keras.reading import Watched, read_model
from betterhalf.auditing.from_keras.user_code import UserCode
from betterhalf.auditing.view import (
    EventView,
    ModelView,
    StepView,
)
from betterhalf.keras_seams import Listener
from betterhalf.keras_seams.listening import ApplyCall
from betterhalf.keras_seams.patching import Patches


class ScriptWatcher(Listener):
    """Remembers what a script does, and stops it where it would train.

    Args:
        keras: the imported module.
        script: path of the script; absent without one.
        on_reached: called once with the view of the model, where the script begins to
            train; it does not return.
        policy: a global policy to keep in force, whatever the script sets; absent to
            leave the script's own.
        folder: places are told relative to it; the working directory if absent.
        loaded_from: the file that the model is read from; absent for a script.
    """

    def __init__(
        self,
        keras: Any,
        script: str | None,
        on_reached: Callable[[ModelView], None],
        policy: str | None = None,
        *,
        folder: Path | None = None,
        loaded_from: str | None = None,
    ):
        self._keras = keras
        self._script = script
        self._on_reached = on_reached
        self._policy = policy
        self._folder = folder or Path.cwd()
        self._loaded_from = loaded_from
        self._code = UserCode(self._folder)
        self._events: list[EventView] = []
        self._made: weakref.WeakKeyDictionary[Any, Made] = weakref.WeakKeyDictionary()
        self._model: Any = None
        self._inputs: Any = None
        self._inside = False
        self._scaled: set[int] = set()
        self._busy = False

    def place(self, patches: Patches) -> None:
        """Hears what has no seam of its own, and native steps of torch."""
        for owner, name, kind in (
            (self._keras.config, "set_floatx", "floatx"),
            (self._keras.saving, "load_model", "load"),
        ):
            self._hear(patches, getattr(owner, name), kind)
        backend = backends.load(self._keras.backend.backend())
        patches.when_undone(backend.before_native_step(self._native_step))
        if self._policy is not None:
            self._keras.config.set_dtype_policy(self._policy)

    def finish(self) -> ModelView | None:
        """Returns the view of the last model of a script that never trained."""
        return None if self._model is None else self.read(self._model, None)

    def on_policy(self, name: str) -> str | None:
        """Remembers a policy, and keeps the one that was asked for."""
        if not self._busy:
            self._tell("policy", name)
        return self._policy

    def after_clear_session(self) -> None:
        """Remembers it, and keeps the policy that was asked for."""
        self._tell("clear_session")
        if self._policy is not None:
            self._busy = True
            self._keras.config.set_dtype_policy(self._policy)
            self._busy = False

    def after_layer_made(self, layer: Any, dtype_given: bool) -> None:
        """Remembers who made a layer, and the first one after each other event."""
        at = self._code.place_of_caller(layer)
        self._made[layer] = Made(dtype_given, at)
        if not self._events or self._events[-1].kind != "layer":
            self._tell("layer", type(layer).__name__)

    def around_compile(
        self, model: Any, arguments: dict[str, Any], proceed: Callable[[], Any]
    ) -> Any:
        """Remembers what the optimizer was before Keras changes it."""
        given = arguments.get("optimizer")
        factor = getattr(given, "loss_scale_factor", None)
        self._tell("compile", str(model.name), loss_scale_factor=factor)
        self._model = model
        return proceed()

    def around_fit(
        self, model: Any, arguments: dict[str, Any], proceed: Callable[[], Any]
    ) -> Any:
        """The script begins to train."""
        self._reach(model, first_batch(self._keras, arguments))
        return proceed()

    def around_train_on_batch(
        self, model: Any, arguments: dict[str, Any], proceed: Callable[[], Any]
    ) -> Any:
        """The script begins to train."""
        self._reach(model, first_batch(self._keras, arguments))
        return proceed()

    def around_call(
        self, model: Any, stateless: bool, proceed: Callable[[], Any]
    ) -> Any:
        """Remembers the last model that was called from outside any other."""
        if self._inside:
            return proceed()
        self._inside = True
        try:
            return proceed()
        finally:
            self._inside = False
            self._model = model

    def on_scale_loss(self, optimizer: Any) -> None:
        """Remembers whose loss is scaled."""
        self._scaled.add(id(optimizer))

    def around_apply(self, step: ApplyCall, proceed: Callable[[], Any]) -> Any:
        """A loop of the script's own takes its first step."""
        optimizer = step.optimizer
        scaled = id(optimizer) in self._scaled
        self._reach_loop(str(optimizer.name), optimizer, scaled)
        return proceed()

    def _native_step(self, optimizer: Any) -> None:
        name = f"torch.optim.{type(optimizer).__name__}"
        self._reach_loop(
            name, optimizer, _is_called_by("torch.amp.", "betterhalf.scal")
        )

    def _reach_loop(self, name: str, optimizer: Any, scaled: bool) -> None:
        if self._busy or self._model is None:
            return
        step = StepView(applied=(name,), scaled=(name,) if scaled else ())
        self._reach(self._model, self._inputs, step, {name: optimizer})

    def _reach(self, model: Any, batch: Any, *loop: Any) -> None:
        if self._busy:
            return
        self._busy = True
        try:
            self._on_reached(self.read(model, batch, *loop))
        finally:
            self._busy = False

    def read(
        self,
        model: Any,
        batch: Any = None,
        step: StepView | None = None,
        optimizers: dict[str, Any] | None = None,
    ) -> ModelView:
        """Returns the view of a model with what is known of the script.

        Args:
            model: the model.
            batch: as `fit` takes it apart; absent without one.
            step: what was heard of a step of a loop.
            optimizers: of that loop, by name.
        """
        watched = Watched(
            script=self._script,
            events=self._events,
            made=self._made.get,
            step=step,
            optimizers=optimizers or {},
            loaded_from=self._loaded_from,
        )
        return read_model(
            self._keras, model, batch, watched=watched, folder=self._folder
        )

    def _tell(self, kind: Any, value: str = "", **detail: Any) -> None:
        at = self._code.place_of_caller()
        self._events.append(EventView(kind=kind, value=value, at=at, detail=detail))

    def _hear(self, patches: Patches, original: Any, kind: str) -> None:
        @functools.wraps(original)
        def function(*args: Any, **kwargs: Any) -> Any:
            given = args[0] if args else next(iter(kwargs.values()), "")
            self._tell(kind, str(given))
            return original(*args, **kwargs)

        patches.replace_everywhere("keras", original, function)


def _is_called_by(*modules: str) -> bool:
    frame: Any = sys._getframe(1)
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).startswith(modules):
            return True
        frame = frame.f_back
    return False
