"""What a rule can need beyond the model itself; without it the rule is skipped."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from betterhalf.auditing.view import ModelView


class Need(NamedTuple):
    """Something that is not always there.

    Attributes:
        is_met: whether a view has it.
        reason: why a rule was skipped that has it not; a clause.
    """

    is_met: Callable[[ModelView], bool]
    reason: str


BATCH = Need(
    lambda view: bool(view.inputs),
    "there is no batch: pass one",
)
"""Values of the first batch, in `view.inputs` and `view.targets`."""

OBSERVED = Need(
    lambda view: view.observed,
    "no call of the model could be watched: pass a batch, or build it",
)
"""Inputs and outputs that layers were seen to have, and `view.outputs`."""

OUTPUTS = Need(
    lambda view: bool(view.outputs),
    "the outputs of the model are not known: pass a batch, or build it",
)
"""The outputs, which a functional or sequential model tells without a call."""

COMPILED = Need(
    lambda view: view.compiled is not None,
    "the model is not compiled",
)
"""What `compile` was told, in `view.compiled`."""

OPTIMIZER = Need(
    lambda view: bool(view.optimizers),
    "no optimizer is known: compile the model",
)
"""An optimizer, in `view.optimizers`: a compiled one or that of a loop."""

TRAIN_STEP = Need(
    lambda view: view.train_step is not None,
    "the training step is Keras's own",
)
"""A `train_step` of the user's, in `view.train_step`."""

STEP = Need(
    lambda view: view.step is not None,
    "no training step could be traced: pass a batch with targets to a compiled model",
)
"""What a training step did, in `view.step`."""

CODE = Need(
    lambda view: bool(view.code().file),
    "there is no source of yours to read",
)
"""The user's source: of a script, or of classes in the model."""

EVENTS = Need(
    lambda view: bool(view.events),
    "no script was watched",
)
"""What the script did before the audit, in `view.events`."""
