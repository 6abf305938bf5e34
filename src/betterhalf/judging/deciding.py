"""The table of verdicts: what one look shows, and what follows.

Nothing is rounded up: what no row of the table decides is inconclusive, and says which
limit stands in the way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from betterhalf.judging.memory import saves_memory
from betterhalf.judging.speed import Speed, is_fast, is_slow


if TYPE_CHECKING:
    from betterhalf.judging.accuracy import Accuracy
    from betterhalf.judging.divergence import Divergence
    from betterhalf.judging.looks import Look
    from betterhalf.records.plan import Limits, Plan
    from betterhalf.records.result import MemoryComparison, Speedup, VerdictWord


Reason = Literal[
    "reference",
    "reference-failed",
    "diverged",
    "accuracy-worse",
    "slow",
    "fast",
    "frugal",
    "no-figures",
    "unfinished",
    "no-interval",
    "full-trainings-missing",
    "sometimes-diverged",
    "speed",
    "slow-but-frugal",
    "accuracy",
    "accuracy-unknown",
]
"""What decided, or what stands in the way of a decision."""


@dataclass(frozen=True)
class Evidence:
    """What one look shows of one arm.

    Attributes:
        look: the trials it was made from.
        speed: absent where an arm has no figure.
        memory: absent where nothing was measured.
        accuracy: absent for short trials and in experiments that judge speed alone.
        divergence: of the arm and its reference.
    """

    look: Look
    speed: Speed | None
    memory: MemoryComparison | None
    accuracy: Accuracy | None
    divergence: Divergence


@dataclass(frozen=True)
class Decision:
    """A verdict and what led to it; an inconclusive one may have two reasons."""

    verdict: VerdictWord
    reasons: tuple[Reason, ...]

    @property
    def is_final(self) -> bool:
        """Whether no later look can change it."""
        return self.verdict != "inconclusive"

    @property
    def more_trials_help(self) -> bool:
        """Whether a later look could decide."""
        hopeless = {"accuracy-unknown", "slow-but-frugal", "reference-failed"}
        return not self.is_final and not hopeless & set(self.reasons)


def decide(plan: Plan, evidence: Evidence) -> Decision:
    """Returns the verdict on an arm from what `evidence` shows.

    What reverts an arm comes before what is missing to keep it: an arm that diverges or
    is less accurate needs no speed to be given up.
    """
    look = evidence.look
    if look.reference and not look.reference_finished:
        return _wait("reference-failed")
    if not look.reached:
        return _wait("unfinished")
    reverted = _find_revert(evidence, plan.limits)
    if reverted is not None:
        return Decision("revert", (reverted,))
    if evidence.speed is None or not evidence.speed.has_interval:
        return _wait("no-figures" if evidence.speed is None else "no-interval")
    if plan.speed_only:
        return _decide_on_speed(evidence, evidence.speed, plan.limits)
    return _decide_on_all(evidence, evidence.speed, plan.limits)


def _find_revert(evidence: Evidence, limits: Limits) -> Reason | None:
    if evidence.divergence.reverts:
        return "diverged"
    if evidence.accuracy is not None and evidence.accuracy.is_worse:
        return "accuracy-worse"
    saves = saves_memory(evidence.memory, limits)
    speed = evidence.speed
    if speed is not None and is_slow(speed.speedup, limits) and not saves:
        return "slow"
    return None


def _decide_on_speed(evidence: Evidence, speed: Speed, limits: Limits) -> Decision:
    merit = _find_merit(evidence, speed.speedup, limits)
    if merit != "fast":
        return _wait(merit)
    if evidence.divergence.seen:
        return _wait("sometimes-diverged")
    return Decision("speed-only", ("fast",))


def _decide_on_all(evidence: Evidence, speed: Speed, limits: Limits) -> Decision:
    accuracy = evidence.accuracy
    if accuracy is None:
        return _wait("full-trainings-missing")
    merit = _find_merit(evidence, speed.speedup, limits)
    obstacles: list[Reason] = [] if merit in {"fast", "frugal"} else [merit]
    if evidence.divergence.seen:
        obstacles.append("sometimes-diverged")
    if accuracy.obstacle is not None:
        obstacles.append("accuracy-unknown")
    elif not accuracy.is_good_enough:
        obstacles.append("accuracy")
    if obstacles:
        return _wait(*obstacles)
    return Decision("keep" if merit == "fast" else "keep-for-memory", (merit,))


def _find_merit(evidence: Evidence, speedup: Speedup, limits: Limits) -> Reason:
    """What speaks for the arm, or which limit of speed it does not clear."""
    if is_fast(speedup, limits):
        return "fast"
    if saves_memory(evidence.memory, limits):
        if speedup.low > 1.0 - limits.gate:
            return "frugal"
        if speedup.high < 1.0 - limits.gate:
            return "slow-but-frugal"
    return "speed"


def _wait(*reasons: Reason) -> Decision:
    return Decision("inconclusive", reasons)
