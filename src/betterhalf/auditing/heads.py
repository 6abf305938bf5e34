"""What rules ask of the outputs of a model."""

from __future__ import annotations

from betterhalf.auditing.view import ModelView, OutputView


SQUASHING = ("softmax", "sigmoid", "hard_sigmoid", "log_softmax", "log_sigmoid")
"""Nonlinearities that end in a probability, or its logarithm."""


def squashing_of(view: ModelView, output: OutputView) -> str:
    """Returns the softmax or sigmoid that makes an output; empty without one.

    Where the model's own code makes the output, the calls in its `call` decide.
    """
    if output.activation:
        return output.activation if output.activation in SQUASHING else ""
    own = view.model.code
    calls = own.method("call").calls_named(*SQUASHING) if own is not None else ()
    return next((call.name for call in calls), "")
