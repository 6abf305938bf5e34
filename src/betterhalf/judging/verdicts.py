"""From the trials of an experiment to its result."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from msgspec import structs

from betterhalf.judging import caveats
from betterhalf.judging.assessing import Assessment, assess, list_remaining
from betterhalf.judging.looks import (
    FULL,
    SHORT,
    Book,
    count_outcomes,
    list_finished,
    open_book,
)
from betterhalf.judging.memory import compare_memory
from betterhalf.judging.samples import (
    keep_known,
    mean_epoch_seconds,
    mean_step_seconds,
    samples_per_step,
    startup_seconds,
)
from betterhalf.judging.sentences import say_arm, say_reference
from betterhalf.records.result import ArmResult, Estimate, Result, VerdictWord
from betterhalf.statistics.intervals import geometric_interval


if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from betterhalf.records.arm import Arm
    from betterhalf.records.plan import Plan
    from betterhalf.records.trial import Repair, Trial


T = TypeVar("T")
KEPT: tuple[VerdictWord, ...] = ("keep", "keep-for-memory", "speed-only")
"""Verdicts that recommend an arm, the strongest first."""


def judge(plan: Plan, trials: Iterable[Trial]) -> Result:
    """Returns what `trials` say of every arm of `plan`.

    The same records give the same result, whatever order they come in; every figure in
    it can be computed again from the windows and epochs of the trials.

    Args:
        plan: the experiment, as it was written before its first trial.
        trials: those that have ended so far, in any order.

    Raises:
        StoreError: a trial belongs to no arm, or an arm has no reference.
    """
    book = open_book(plan, trials)
    assessments = {found.arm.name: found for found in assess(book)}
    remaining = list_remaining(plan, book.trials)
    arms = tuple(
        _write_arm(book, assessments[arm.name])
        if arm.name in assessments
        else _write_reference(book, arm)
        for arm in plan.arms
    )
    best = find_best(arms)
    return Result(
        script=plan.script,
        complete=not remaining,
        arms=arms,
        caveats=caveats.list_for_experiment(book, remaining),
        diff=None if best is None else plan.edits.get(best.arm),
        exit_code=_choose_exit_code(arms, assessments.values()),
    )


def find_best(arms: Sequence[ArmResult]) -> ArmResult | None:
    """Returns the arm to recommend: of the strongest verdict the fastest."""
    kept = [arm for arm in arms if arm.verdict in KEPT and arm.speedup is not None]
    return min(
        kept,
        key=lambda arm: (
            KEPT.index(arm.verdict),
            -(arm.speedup.estimate if arm.speedup else 0.0),
        ),
        default=None,
    )


def _choose_exit_code(
    arms: Sequence[ArmResult], assessments: Iterable[Assessment]
) -> int:
    """0 some arm is kept, 3 else if any is inconclusive, 1 else; 4 no reference."""
    if any("reference-failed" in found.decision.reasons for found in assessments):
        return 4
    verdicts = {arm.verdict for arm in arms}
    if verdicts & set(KEPT):
        return 0
    return 3 if "inconclusive" in verdicts else 1


def _write_arm(book: Book, found: Assessment) -> ArmResult:
    evidence, accuracy = found.evidence, found.evidence.accuracy
    return structs.replace(
        _describe(book, found.arm, evidence.look.judged),
        reference=found.reference.name,
        verdict=found.decision.verdict,
        sentence=say_arm(book.plan, found),
        speedup=None if evidence.speed is None else evidence.speed.speedup,
        memory=evidence.memory,
        metric=None if accuracy is None else accuracy.comparison,
        caveats=caveats.list_for_arm(book, found),
    )


def _write_reference(book: Book, arm: Arm) -> ArmResult:
    trials = book.list_ended(arm, FULL) or book.list_ended(arm, SHORT)
    described = _describe(book, arm, trials)
    return structs.replace(
        described,
        sentence=say_reference(described, trials),
        memory=compare_memory(list_finished(trials), ()),
        caveats=caveats.list_for_reference(trials),
    )


def _describe(book: Book, arm: Arm, trials: Sequence[Trial]) -> ArmResult:
    """What an arm and a reference have alike."""
    finished = list_finished(trials)
    trainings = [t.judged_training for t in finished if t.judged_training is not None]
    steps = _average(book, map(mean_step_seconds, trainings))
    samples = _first(map(samples_per_step, trainings))
    return ArmResult(
        arm=arm.name,
        reference=arm.name,
        verdict="reference",
        sentence="",
        step_seconds=steps,
        epoch_seconds=_average(book, map(mean_epoch_seconds, trainings)),
        startup_seconds=_average(book, map(startup_seconds, finished)),
        samples_per_second=samples / steps.estimate if samples and steps else None,
        trials=count_outcomes(trials),
        checks=_first(t.checks for t in (*finished, *trials)),
        repairs=_list_repairs(trials),
        failure=_first(trial.failure for trial in trials),
    )


def _average(book: Book, figures: Iterable[float | None]) -> Estimate | None:
    known = keep_known(figures)
    if not known:
        return None
    interval = geometric_interval(known, book.plan.limits.confidence)
    return Estimate(estimate=interval.estimate, low=interval.low, high=interval.high)


def _list_repairs(trials: Sequence[Trial]) -> tuple[Repair, ...]:
    """Each repair once, in the order in which trials made them."""
    return tuple(dict.fromkeys(repair for t in trials for repair in t.repairs))


def _first(candidates: Iterable[T | None]) -> T | None:
    return next((found for found in candidates if found is not None), None)
