"""What a person would say of an arm: what was seen, what is in the way, the verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from betterhalf.judging.looks import FULL
from betterhalf.judging.memory import saves_memory
from betterhalf.judging.metric import name_kind
from betterhalf.judging.obstacles import say_ends, say_obstacles
from betterhalf.judging.wording import (
    say_change,
    say_count,
    say_interval,
    say_margin,
    say_ratio,
    say_seconds,
)


if TYPE_CHECKING:
    from collections.abc import Sequence

    from betterhalf.judging.assessing import Assessment
    from betterhalf.judging.deciding import Decision
    from betterhalf.records.plan import Plan
    from betterhalf.records.result import ArmResult, MetricComparison, Speedup
    from betterhalf.records.trial import Trial


_REVERTED = {
    "slow": "REVERT, on speed.",
    "accuracy-worse": "REVERT, on accuracy.",
    "diverged": "REVERT, because it diverges.",
}


def say_arm(plan: Plan, assessment: Assessment) -> str:
    """Returns the sentence of an arm, its verdict in capitals at the end."""
    clauses = _say_what_was_seen(plan, assessment)
    clauses += say_obstacles(plan, assessment)
    return f"{'; '.join(clauses)}. {_say_verdict(assessment.decision)}"


def say_reference(result: ArmResult, ended: Sequence[Trial]) -> str:
    """Returns the sentence of a reference: its time, and how its trials ended."""
    if not ended:
        return f"{result.arm} is the reference; none of its trials has ended."
    if not result.trials.finished:
        return f"{result.arm} is the reference; its trials ended {say_ends(ended)}."
    time = ""
    if result.epoch_seconds is not None and ended[0].stage == FULL:
        time = f" and takes {say_seconds(result.epoch_seconds.estimate)} an epoch"
    elif result.step_seconds is not None:
        time = f" and takes {say_seconds(result.step_seconds.estimate)} a step"
    finished = f"{result.trials.finished} of {say_count(len(ended), 'trial')} finished"
    return f"{result.arm} is the reference{time}; {finished}."


def _say_what_was_seen(plan: Plan, assessment: Assessment) -> list[str]:
    clauses: list[str] = []
    evidence, decision = assessment.evidence, assessment.decision
    if evidence.speed is not None:
        clauses.append(_say_speed(plan, assessment, evidence.speed.speedup))
    if evidence.memory is not None and saves_memory(evidence.memory, plan.limits):
        share = say_ratio(evidence.memory.ratio or 0.0)
        clauses.append(f"its peak device memory is {share} of the reference's")
    if evidence.divergence.seen:
        clauses.append(_say_divergence(assessment, first=not clauses))
    clauses += _say_accuracy(plan, assessment, first=not clauses)
    if decision.verdict == "speed-only":
        clauses.append("accuracy was not judged")
    return clauses


def _say_speed(plan: Plan, assessment: Assessment, found: Speedup) -> str:
    ratio = say_interval(found.estimate, found.low, found.high)
    said = f"{assessment.arm.name} trains {ratio} times as fast as "
    said += assessment.reference.name
    if "slow" in assessment.decision.reasons:
        said += f", less than the {say_ratio(plan.limits.min_speedup)} that is worth it"
    return said


def _say_divergence(assessment: Assessment, *, first: bool) -> str:
    found = assessment.evidence.divergence
    subject = assessment.arm.name if first else "it"
    if not found.events:
        return f"{subject} diverged in {say_count(found.short_events, 'short trial')}"
    ended = say_count(len(assessment.evidence.look.judged), "trial")
    said = f"{subject} diverged in {found.events} of its {ended}"
    if found.reference_events:
        said += f", {assessment.reference.name} in {found.reference_events}"
    return said


def _say_accuracy(plan: Plan, assessment: Assessment, *, first: bool) -> list[str]:
    found = assessment.evidence.accuracy
    if found is None or found.comparison is None:
        return []
    if found.obstacle is not None and not found.is_worse:
        return []
    whose = f"{assessment.arm.name}'s" if first else "its"
    return [f"{whose} {found.comparison.name} {_say_outcome(plan, found.comparison)}"]


def _say_outcome(plan: Plan, metric: MetricComparison) -> str:
    relative = plan.limits.margin is None and name_kind(metric.name) == "error"
    margin = say_margin(metric, relative=relative)
    change = say_change(metric)
    return {
        "better": f"is better by more than a margin of {margin}",
        "equivalent": f"is equivalent within a margin of {margin}",
        "not-worse": f"is not worse than a margin of {margin}",
        "worse": f"changes by {change}, which is worse than a margin of {margin}",
        "inconclusive": f"changes by {change}, which crosses the margin of {margin}",
    }[metric.outcome]


def _say_verdict(decision: Decision) -> str:
    if decision.verdict == "revert":
        return _REVERTED[decision.reasons[0]]
    return f"{decision.verdict.upper().replace('-', ' ')}."
