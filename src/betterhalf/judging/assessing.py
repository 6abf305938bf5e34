"""Every arm at the look that decided it: the ground of results and of what runs next.

An arm that short trials gave up is not judged again. Those that are left share the
level of accuracy; which they are was settled by other trials than those that judge
them, so the level holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from betterhalf.judging.accuracy import compare_accuracy
from betterhalf.judging.deciding import Decision, Evidence, decide
from betterhalf.judging.divergence import compare_divergence
from betterhalf.judging.looks import (
    FULL,
    SHORT,
    Book,
    Look,
    list_looks,
    open_book,
    plan_sizes,
)
from betterhalf.judging.memory import compare_memory
from betterhalf.judging.speed import compare_speed


if TYPE_CHECKING:
    from collections.abc import Iterable

    from betterhalf.records.arm import Arm
    from betterhalf.records.plan import Plan, Slot
    from betterhalf.records.trial import Trial


@dataclass(frozen=True)
class Assessment:
    """One arm, the reference it is judged against, and the decision on it."""

    arm: Arm
    reference: Arm
    evidence: Evidence
    decision: Decision


def assess(book: Book) -> tuple[Assessment, ...]:
    """Returns an assessment of every arm but the references, in the plan's order."""
    arms = [arm for arm in book.plan.arms if not arm.is_reference]
    short = {arm.name: assess_stage(book, arm, SHORT) for arm in arms}
    left = [arm for arm in arms if not _is_given_up(short[arm.name])]
    found: list[Assessment] = []
    for arm in arms:
        began = bool(book.list_ended(arm, FULL))
        if arm in left and (began or not plan_sizes(book, arm, SHORT)):
            reference = book.find_reference(arm)
            rivals = sum(book.find_reference(other) == reference for other in left)
            found.append(assess_stage(book, arm, FULL, candidates=rivals))
        else:
            found.append(short[arm.name])
    return tuple(found)


def assess_stage(
    book: Book, arm: Arm, stage: int, *, candidates: int = 1
) -> Assessment:
    """Returns the assessment of `arm` at the first look of `stage` that decides it."""
    looks = list_looks(book, arm, stage)
    assessment = _assess_look(book, arm, looks[0], candidates)
    for look in looks[1:]:
        if assessment.decision.is_final:
            break
        assessment = _assess_look(book, arm, look, candidates)
    return assessment


def list_remaining(plan: Plan, trials: Iterable[Trial]) -> tuple[Slot, ...]:
    """Returns the trials that have yet to run, as far as that is known now.

    The next trial is the first of them; none are left once every arm is decided or has
    had its last look. An arm that short trials gave up gets no full training; the
    second look is taken where the first did not decide and more trials could.

    Example:
        >>> # while slots := list_remaining(plan, trials):
        >>> #     trials.append(run(slots[0]))
    """
    book = open_book(plan, trials)
    wanted: dict[tuple[str, int], int] = {}
    for found in assess(book):
        for stage in (SHORT, FULL):
            size = _size_wanted(book, found, stage)
            for arm in (found.arm, found.reference):
                wanted[arm.name, stage] = max(size, wanted.get((arm.name, stage), 0))
    ended = {
        (arm.name, stage, trial.number)
        for arm in plan.arms
        for stage in (SHORT, FULL)
        for trial in book.list_ended(arm, stage)
    }
    return tuple(
        slot
        for slot in plan.order
        if slot.number <= wanted.get((slot.arm, slot.stage), 0)
        and (slot.arm, slot.stage, slot.number) not in ended
    )


def _size_wanted(book: Book, found: Assessment, stage: int) -> int:
    """How many trials of an arm are worth running, with what is known."""
    sizes = plan_sizes(book, found.arm, stage)
    look, decision = found.evidence.look, found.decision
    if not sizes:
        return 0
    if look.stage != stage:
        lost = _is_given_up(found) or "reference-failed" in decision.reasons
        return 0 if stage == FULL and lost else sizes[0]
    undecided = look.reached and decision.more_trials_help
    return sizes[-1] if undecided else max(sizes[0], look.size)


def _assess_look(book: Book, arm: Arm, look: Look, candidates: int) -> Assessment:
    judges_accuracy = look.stage == FULL and not book.plan.speed_only
    evidence = Evidence(
        look=look,
        speed=compare_speed(book, look),
        memory=compare_memory(look.finished, look.reference_finished),
        accuracy=(
            compare_accuracy(book.plan, look, candidates) if judges_accuracy else None
        ),
        divergence=compare_divergence(book, arm, look),
    )
    return Assessment(
        arm=arm,
        reference=book.find_reference(arm),
        evidence=evidence,
        decision=decide(book.plan, evidence),
    )


def _is_given_up(assessment: Assessment) -> bool:
    return assessment.decision.verdict == "revert"
