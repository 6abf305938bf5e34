"""Reasons to doubt an interval: what is odd about the spread of the trials."""

from __future__ import annotations

from math import exp, inf, isnan, log
from typing import TYPE_CHECKING

from betterhalf.judging.caveats._context import Context, advise_more_trials
from betterhalf.judging.looks import Book, list_finished
from betterhalf.judging.samples import mean_epoch_seconds, mean_step_seconds
from betterhalf.judging.speed import choose_basis
from betterhalf.judging.wording import say_percent, say_ratio, say_seconds
from betterhalf.records.result import Caveat
from betterhalf.statistics.spreads import (
    LEVEL,
    compare_spreads,
    find_drift,
    mark_outliers,
    p_first_larger,
)


if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from betterhalf.records.trial import Trial


def find(context: Context) -> Iterator[Caveat]:
    """Yields what is odd about the times of an arm against those of its reference."""
    basis = choose_basis(context.look)
    judged = _logs(context.look.finished, basis)
    reference = _logs(context.look.reference_finished, basis)
    yield from _check_spreads(context, judged, reference)
    yield from _check_outliers(context, judged)


def find_in_experiment(book: Book, stage: int) -> Iterator[Caveat]:
    """Yields what is odd about the course of all trials of `stage`."""
    groups = [
        _logs(list_finished(book.list_ended(arm, stage)), "step")
        for arm in book.plan.arms
    ]
    yield from _check_drift(book, groups)
    yield from _check_first(book, stage)


def _check_spreads(
    context: Context,
    judged: Sequence[tuple[int, float]],
    reference: Sequence[tuple[int, float]],
) -> Iterator[Caveat]:
    ours, others = _values(judged), _values(reference)
    found = compare_spreads(ours, others)
    if isnan(found.ratio):
        return
    if found.ratio == 1.0 and len(set(ours)) == 1:
        yield Caveat(
            code="times-do-not-vary",
            text="All trials took exactly the same time, which no clock shows.",
            todo="Look at the records under trials/: they may be copies.",
        )
    elif found.p < LEVEL:
        times = "infinitely" if found.ratio == inf else say_ratio(found.ratio)
        yield Caveat(
            code="spreads-differ",
            text=f"The times of one arm spread {times} times as much as the other's.",
            todo=advise_more_trials(
                context.plan, context.look, "would show whether that is chance."
            ),
        )


def _check_outliers(
    context: Context, judged: Sequence[tuple[int, float]]
) -> Iterator[Caveat]:
    marked = mark_outliers(_values(judged))
    if marked:
        names = ", ".join(f"{context.arm.name}-{judged[index][0]}" for index in marked)
        yield Caveat(
            code="outlier",
            text=f"{names} took far more or less time than its neighbours; it counts "
            "like any other.",
        )


def _check_drift(
    book: Book, groups: Sequence[Sequence[tuple[int, float]]]
) -> Iterator[Caveat]:
    drift = find_drift(groups)
    if drift.p < LEVEL and abs(drift.change) > log(1.0 + book.plan.limits.gate):
        share = exp(abs(drift.change)) - 1.0
        slower = "slower" if drift.change > 0 else "faster"
        yield Caveat(
            code="drift",
            text=f"All arms became {say_percent(share)} {slower} from the first block "
            "to the last; their order was rotated, so it charges them alike.",
            todo="Let the machine come to rest, or end what else runs on it.",
        )


def _check_first(book: Book, stage: int) -> Iterator[Caveat]:
    """The first trial fills caches that the others find."""
    slots = [slot for slot in book.plan.order if slot.stage == stage]
    arms = [arm for arm in book.plan.arms if slots and arm.name == slots[0].arm]
    if not arms:
        return
    arm, number = arms[0], slots[0].number
    logs = dict(_logs(list_finished(book.list_ended(arm, stage)), "step"))
    first = logs.pop(number, None)
    others = list(logs.values())
    if first is None or len(others) < 2:
        return
    slower = first - max(others) > log(1.0 + book.plan.limits.gate)
    if slower and p_first_larger(first, others) < LEVEL:
        yield Caveat(
            code="slow-first-trial",
            text=f"The first trial took {say_seconds(exp(first))} a step, the slowest "
            f"other one of {arm.name} {say_seconds(exp(max(others)))}.",
            todo="Run the comparison again while the caches are warm.",
        )


def _logs(trials: Sequence[Trial], basis: str) -> list[tuple[int, float]]:
    measure = mean_epoch_seconds if basis == "epoch" else mean_step_seconds
    found: list[tuple[int, float]] = []
    for trial in trials:
        training = trial.judged_training
        seconds = None if training is None else measure(training)
        if seconds is not None:
            found.append((trial.number, log(seconds)))
    return found


def _values(pairs: Sequence[tuple[int, float]]) -> list[float]:
    return [value for _, value in pairs]
