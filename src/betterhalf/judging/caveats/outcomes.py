"""Reasons to doubt an arm because of how its trials ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from betterhalf.judging.looks import FULL, count_outcomes
from betterhalf.judging.obstacles import say_ends
from betterhalf.judging.wording import say_count, say_percent
from betterhalf.records.result import Caveat


if TYPE_CHECKING:
    from collections.abc import Iterator

    from betterhalf.judging.caveats._context import Context


def find(context: Context) -> Iterator[Caveat]:
    """Yields what failures and divergences leave open."""
    yield from _check_failures(context)
    yield from _check_divergence(context)


def _check_failures(context: Context) -> Iterator[Caveat]:
    look = context.look
    ours, others = count_outcomes(look.judged), count_outcomes(look.reference)
    if ours.failed == others.failed:
        return
    worse = look.judged if ours.failed > others.failed else look.reference
    yield Caveat(
        code="unequal-failures",
        text=f"{context.arm.name} lost {say_count(ours.failed, 'trial')} and "
        f"{context.assessment.reference.name} {others.failed}: {say_ends(worse)}. "
        "Those that are left may look better than all would.",
        todo="Read the log beside the failed trial under trials/.",
    )


def _check_divergence(context: Context) -> Iterator[Caveat]:
    """The bound is due wherever an arm may be kept, and wherever one diverged."""
    found = context.evidence.divergence
    narrow = context.arm.policy != "float32" and context.look.stage == FULL
    if not found.trials or not (found.events or narrow):
        return
    yield Caveat(
        code="divergence-rate",
        text=f"{found.events} of {say_count(found.trials, 'trial')} diverged, which "
        f"leaves a rate of up to {say_percent(found.bound)} possible (exact, 95 %).",
        todo=None if not found.events else "Read where its loss left the rails.",
    )
