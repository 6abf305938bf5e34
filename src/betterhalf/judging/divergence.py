"""Trials whose training came apart: an outcome that is counted, never dropped.

One divergence forbids to keep an arm. It reverts one only where chance is a poor
excuse: with true rates of 0.1 in both arms, "any divergence" would revert one arm in
five falsely.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from betterhalf.judging.looks import SHORT, Book, Look, count_outcomes
from betterhalf.statistics.proportions import p_more_often, upper_bound


if TYPE_CHECKING:
    from betterhalf.records.arm import Arm


LEVEL = 0.05
"""One-sided level of Fisher's test; our choice, the usual one."""


@dataclass(frozen=True)
class Divergence:
    """How often an arm diverged, and its reference.

    Attributes:
        events: diverged trials of the arm at this look.
        trials: those of its trials that could tell.
        reference_events: diverged trials of the reference.
        reference_trials: those of its trials that could tell.
        short_events: short trials of the arm that diverged, where the look is at full
            trainings.
        whole: every trial of the arm diverged.
    """

    events: int
    trials: int
    reference_events: int
    reference_trials: int
    short_events: int
    whole: bool

    @property
    def seen(self) -> bool:
        """Whether the arm diverged at all, which forbids to keep it."""
        return self.events + self.short_events > 0

    @property
    def p(self) -> float:
        """Fisher's one-sided p value against the reference."""
        return p_more_often(
            self.events, self.trials, self.reference_events, self.reference_trials
        )

    @property
    def reverts(self) -> bool:
        """Whether it is reason enough to revert the arm."""
        return self.whole or self.p < LEVEL

    @property
    def bound(self) -> float:
        """The rate that the arm stays below, at 95 %."""
        return upper_bound(self.events, self.trials)


def compare_divergence(book: Book, arm: Arm, look: Look) -> Divergence:
    """Returns the counts at `look`; a trial that crashed could not tell."""
    judged, reference = count_outcomes(look.judged), count_outcomes(look.reference)
    short = () if look.stage == SHORT else book.list_ended(arm, SHORT)
    return Divergence(
        events=judged.diverged,
        trials=judged.diverged + judged.finished,
        reference_events=reference.diverged,
        reference_trials=reference.diverged + reference.finished,
        short_events=count_outcomes(short).diverged,
        whole=0 < judged.diverged == len(look.judged),
    )
