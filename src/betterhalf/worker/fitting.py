"""Gets into one `fit`: caps it, wraps its train function, and hears its epochs."""

from __future__ import annotations

from typing import Any

from betterhalf.backends import Backend
from betterhalf.records.instructions import Instructions
from betterhalf.worker.checking import read_applied_steps
from betterhalf.worker.metrics import read_logs, read_sample_count
from betterhalf.worker.session import Session
from betterhalf.worker.sightings import Sightings


def plan_fit(
    keras: Any, arguments: dict[str, Any], instructions: Instructions
) -> dict[str, Any]:
    """Caps the arguments of a `fit` and returns what is known before it begins.

    A short training needs no more than one step of validation; its epochs are cut by
    the clock, not here.

    Args:
        keras: the imported module.
        arguments: of `fit`, by name; changed where a cap asks for it.
        instructions: of this trial.

    Returns:
        Fields of `records.events.TrainingBegan`.
    """
    epochs = arguments.get("epochs", 1)
    first = arguments.get("initial_epoch", 0)
    if instructions.epochs is not None:
        arguments["epochs"] = min(epochs, first + instructions.epochs)
    if instructions.short:
        arguments["validation_steps"] = 1
    stopping = [
        callback
        for callback in _callbacks(keras, arguments)
        if isinstance(callback, keras.callbacks.EarlyStopping)
    ]
    return {
        "planned_epochs": epochs - first,
        "steps_per_epoch": arguments.get("steps_per_epoch"),
        "restores_best_weights": any(each.restore_best_weights for each in stopping),
        "monitors": stopping[0].monitor if stopping else None,
    }


class FitHook:
    """A callback at the ends of epochs, and a clock around the train function.

    It has no method at the ends of batches, so Keras's asynchronous dispatch stays on.

    Args:
        keras: the imported module.
        session: the training.
        backend: adapter of the backend.
        sightings: tells whether a step was traced.
    """

    def __init__(
        self, keras: Any, session: Session, backend: Backend, sightings: Sightings
    ):
        self._keras = keras
        self._session = session
        self._backend = backend
        self._sightings = sightings
        self._model: Any = None
        self._function: Any = None

    def add_to(self, arguments: dict[str, Any], model: Any) -> None:
        """Puts the callback in front of those in the arguments of `fit`."""
        self._session.model = model
        callback = _make_callback(self._keras, self)
        given = arguments.get("callbacks")
        if given is not None and isinstance(given, self._keras.callbacks.CallbackList):
            given.callbacks.insert(0, callback)
            callback.set_model(model)
            callback.set_params(given.params)
        else:
            arguments["callbacks"] = [callback, *_callbacks(self._keras, arguments)]

    def train_begins(self, model: Any, params: dict[str, Any]) -> None:
        """Puts the clock around the train function, which Keras has just made."""
        session = self._session
        session.steps_per_epoch = params.get("steps")
        session.on_limit = lambda: setattr(model, "stop_training", True)
        session.remember_applied(read_applied_steps(self._keras, model.optimizer))
        self._model = model
        self._function = model.train_function
        model.train_function = self._timed(self._function, model)

    def train_part_ends(self) -> None:
        """The epoch's last step is over; validation or the epoch's end follows."""
        self._session.end_train_part(read_sample_count(self._model))

    def epoch_ends(self, logs: dict[str, Any] | None) -> None:
        """The epoch's logs are there; other callbacks have not run yet."""
        self.train_part_ends()
        self._session.end_epoch(read_logs(logs))

    def restore(self) -> None:
        """Gives the model its own train function back."""
        if self._model is not None:
            self._model.train_function = self._function

    def _timed(self, function: Any, model: Any) -> Any:
        session, sightings = self._session, self._sightings
        count = session.count
        compiles = self._backend.compiles_step(model)
        steps_per_execution = model.steps_per_execution
        seen = sightings.applies

        def train_function(*args: Any) -> Any:
            nonlocal seen
            if session.is_before_first_step:
                session.begin_steps()
            outputs = function(*args)
            traced = compiles and sightings.applies != seen
            seen = sightings.applies
            count(steps_per_execution, outputs, traced)
            return outputs

        return train_function


def _callbacks(keras: Any, arguments: dict[str, Any]) -> list[Any]:
    given = arguments.get("callbacks")
    if given is None:
        return []
    if isinstance(given, keras.callbacks.CallbackList):
        return list(given.callbacks)
    return list(keras.tree.flatten(given))


def _make_callback(keras: Any, hook: FitHook) -> Any:
    class EpochHook(keras.callbacks.Callback):
        def on_train_begin(self, logs: Any = None) -> None:
            hook.train_begins(self.model, self.params)

        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            hook._session.begin_epoch(epoch)

        def on_test_begin(self, logs: Any = None) -> None:
            hook.train_part_ends()

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            hook.epoch_ends(logs)

        def on_train_end(self, logs: Any = None) -> None:
            hook._session.end_last_epoch()

    return EpochHook()
