"""Which trials a decision may see: stages, looks, and nothing in between.

An arm is judged at the first look and, if that does not decide, at the second. Trials
beyond a look do not count at it, and a look is there only when every trial it asks for
has ended, in the arm and in its reference. A trial that was interrupted has not ended:
it will run again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from betterhalf.errors import StoreError
from betterhalf.records.result import TrialCounts
from betterhalf.statistics.looks import nominal_level


if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from betterhalf.records.arm import Arm
    from betterhalf.records.plan import Plan
    from betterhalf.records.trial import Trial


SHORT, FULL = 1, 2
"""The stages: short trials for speed, full trainings for speed and accuracy."""


@dataclass(frozen=True)
class Look:
    """The trials that one look sees.

    Attributes:
        stage: `SHORT` or `FULL`.
        size: trials per arm that it asks for.
        planned: sizes of all looks of this stage.
        judged: ended trials of the arm, by number.
        reference: ended trials of its reference, by number.
        missing: how many of both have not ended yet.
    """

    stage: int
    size: int
    planned: tuple[int, ...]
    judged: tuple[Trial, ...]
    reference: tuple[Trial, ...]
    missing: int

    @property
    def reached(self) -> bool:
        """Whether all trials that it asks for have ended."""
        return self.size > 0 and self.missing == 0

    @property
    def finished(self) -> tuple[Trial, ...]:
        """The trials of the arm whose figures count."""
        return list_finished(self.judged)

    @property
    def reference_finished(self) -> tuple[Trial, ...]:
        """The trials of the reference whose figures count."""
        return list_finished(self.reference)


@dataclass(frozen=True)
class Book:
    """A plan with the trials that have ended, in an order that is always the same."""

    plan: Plan
    trials: tuple[Trial, ...]

    def list_ended(self, arm: Arm, stage: int) -> tuple[Trial, ...]:
        """Returns the trials of `arm` in `stage` that have ended, by number."""
        return self._ended.get((arm.name, stage), ())

    def list_numbers(self, arm: Arm, stage: int) -> tuple[int, ...]:
        """Returns the numbers of the trials that the plan has for `arm` in `stage`."""
        return self._numbers.get((arm.name, stage), ())

    def find_reference(self, arm: Arm) -> Arm:
        """Returns the arm that `arm` is judged against.

        Raises:
            StoreError: the plan has none with its backend.
        """
        for other in self.plan.arms:
            if other.is_reference and other.backend == arm.backend:
                return other
        raise StoreError(
            f"expected a plan with a reference on {arm.backend} for the arm "
            f"{arm.name}. Received: {', '.join(a.name for a in self.plan.arms)}. "
            "Start the experiment again."
        )

    @cached_property
    def _ended(self) -> dict[tuple[str, int], tuple[Trial, ...]]:
        found: dict[tuple[str, int], dict[int, Trial]] = {}
        for trial in self.trials:
            if trial.outcome != "interrupted":
                found.setdefault((trial.arm, trial.stage), {})[trial.number] = trial
        return {
            key: tuple(trials[number] for number in sorted(trials))
            for key, trials in found.items()
        }

    @cached_property
    def _numbers(self) -> dict[tuple[str, int], tuple[int, ...]]:
        found: dict[tuple[str, int], set[int]] = {}
        for slot in self.plan.order:
            found.setdefault((slot.arm, slot.stage), set()).add(slot.number)
        return {key: tuple(sorted(numbers)) for key, numbers in found.items()}


def open_book(plan: Plan, trials: Iterable[Trial]) -> Book:
    """Returns the book of an experiment.

    Raises:
        StoreError: a trial belongs to no arm of the plan.
    """
    known = {arm.name for arm in plan.arms}
    kept = tuple(trials)
    for trial in kept:
        if trial.arm not in known:
            raise StoreError(
                f"expected trials of {', '.join(sorted(known))}. Received: one of "
                f"{trial.arm}, which is not in the plan. Remove its file."
            )
    return Book(plan, kept)


def list_looks(book: Book, arm: Arm, stage: int) -> tuple[Look, ...]:
    """Returns the looks that `arm` has reached in `stage`, the earliest first.

    Where none is reached yet there is one that is not, with whatever has ended.
    """
    reference = book.find_reference(arm)
    planned = plan_sizes(book, arm, stage)
    ended = book.list_ended(arm, stage), book.list_ended(reference, stage)
    looks: list[Look] = []
    for size in planned or (0,):
        seen = [_up_to(trials, size) for trials in ended]
        wanted = [
            sum(number <= size for number in book.list_numbers(one, stage))
            for one in (arm, reference)
        ]
        missing = sum(wanted) - sum(map(len, seen))
        look = Look(stage, size, planned, seen[0], seen[1], missing)
        if look.reached or not looks:
            looks.append(look)
        if not look.reached:
            break
    return tuple(looks)


def plan_sizes(book: Book, arm: Arm, stage: int) -> tuple[int, ...]:
    """Returns trials per arm at each look that the plan has for `stage`.

    The last is the last that is planned, so that a budget may lower it.
    """
    numbers = book.list_numbers(arm, stage)
    if not numbers:
        return ()
    last = numbers[-1]
    earlier = tuple(size for size in book.plan.limits.looks if size < last)
    return (*earlier[:1], last)


def speed_level(book: Book, look: Look) -> float:
    """Returns the two-sided level of an interval of speed at `look`.

    One look has the confidence of the plan; two share its error between them.
    """
    confidence = book.plan.limits.confidence
    if len(look.planned) < 2:
        return confidence
    return round(1.0 - 2.0 * nominal_level((1.0 - confidence) / 2.0, look.planned), 6)


def list_finished(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """Returns the trials whose figures count."""
    return tuple(trial for trial in trials if trial.outcome == "finished")


def count_outcomes(trials: Sequence[Trial]) -> TrialCounts:
    """Returns how `trials` ended; what neither finished nor diverged has failed."""
    finished = len(list_finished(trials))
    diverged = sum(trial.outcome == "diverged" for trial in trials)
    return TrialCounts(
        finished=finished,
        diverged=diverged,
        failed=len(trials) - finished - diverged,
    )


def _up_to(trials: tuple[Trial, ...], size: int) -> tuple[Trial, ...]:
    return tuple(trial for trial in trials if trial.number <= size)
