"""Typed reasons to trust a figure less, each with what to do next.

A module a source of doubt; each yields `Caveat`s with a code of its own, and never
advises what the plan shows was done already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from betterhalf.judging.caveats import (
    accuracy,
    clock,
    experiment,
    machine,
    noise,
    outcomes,
    precision,
)
from betterhalf.judging.caveats._context import Context


if TYPE_CHECKING:
    from collections.abc import Sequence

    from betterhalf.judging.assessing import Assessment
    from betterhalf.judging.looks import Book
    from betterhalf.records.plan import Slot
    from betterhalf.records.result import Caveat
    from betterhalf.records.trial import Trial


def list_for_arm(book: Book, assessment: Assessment) -> tuple[Caveat, ...]:
    """Returns the caveats of one judged arm, in the order of their modules."""
    context = Context(book, assessment)
    return (
        *accuracy.find(context),
        *outcomes.find(context),
        *precision.find(context),
        *noise.find(context),
        *clock.find(context),
        *machine.find(context.look.judged),
    )


def list_for_reference(trials: Sequence[Trial]) -> tuple[Caveat, ...]:
    """Returns the caveats of a reference's own trials."""
    return tuple(machine.find(trials))


def list_for_experiment(book: Book, remaining: tuple[Slot, ...]) -> tuple[Caveat, ...]:
    """Returns the caveats that concern all arms alike."""
    return tuple(experiment.find(book, remaining))
