"""What a caveat may look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from betterhalf.judging.assessing import Assessment
    from betterhalf.judging.deciding import Evidence
    from betterhalf.judging.looks import Book, Look
    from betterhalf.records.arm import Arm
    from betterhalf.records.plan import Plan


@dataclass(frozen=True)
class Context:
    """One judged arm in its experiment."""

    book: Book
    assessment: Assessment

    @property
    def plan(self) -> Plan:
        """The plan of the experiment."""
        return self.book.plan

    @property
    def arm(self) -> Arm:
        """The judged arm."""
        return self.assessment.arm

    @property
    def evidence(self) -> Evidence:
        """What decided."""
        return self.assessment.evidence

    @property
    def look(self) -> Look:
        """The trials that decided."""
        return self.assessment.evidence.look


def advise_more_trials(plan: Plan, look: Look, why: str) -> str | None:
    """Returns which option gives more trials, `None` where they come by themselves."""
    if not look.reached or look.size < look.planned[-1]:
        return None
    option = "--runs" if len(look.planned) == 1 else "--max-runs"
    return f"{option} {max(2 * look.size, 5)} {why}"
