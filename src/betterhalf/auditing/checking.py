"""`check` for a model at hand: reads it, runs the rules."""

from __future__ import annotations

import importlib
from typing import Any

from betterhalf import backends
from betterhalf.auditing.choosing import EVERYTHING, Choice
from betterhalf.auditing.from_keras import read_model
from betterhalf.auditing.running import run_rules
from betterhalf.errors import UsageError
from betterhalf.records.audit import Audit


def audit_model(model: Any, batch: Any = None, *, choice: Choice = EVERYTHING) -> Audit:
    """Returns what the rules find in a model; the model is left as it was.

    Args:
        model: a Keras model, compiled or not.
        batch: `x`, or a tuple `(x, y)` or `(x, y, sample_weight)`, as one batch of
            `fit`; rules that need one are skipped without.
        choice: which rules run and which findings count.

    Raises:
        UsageError: no Keras model, a backend that does not train, or a batch that the
            model cannot be called with in any precision.
    """
    keras: Any = importlib.import_module("keras")
    if not isinstance(model, keras.Model):
        raise UsageError(
            "Expected a Keras model. "
            f"Received: {type(model).__module__}.{type(model).__qualname__}."
        )
    if keras.backend.backend() not in backends.NAMES:
        raise UsageError(
            f"Expected a Keras backend that trains: {', '.join(backends.NAMES)}. "
            f"Received: '{keras.backend.backend()}'."
        )
    view = read_model(keras, model, batch)
    if batch is not None and view.call_fails_in_float32:
        shapes = ", ".join(f"{each.dtype} {each.shape}" for each in view.inputs)
        raise UsageError(
            f"Expected a batch that the model can be called with. Received: {shapes}; "
            f"the model raised, in float32 too: {view.call_error}"
        )
    return run_rules(view, choice=choice)
