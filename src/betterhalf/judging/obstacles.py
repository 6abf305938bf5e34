"""What stands in the way of a decision, in words, with the trials that would decide."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from betterhalf.judging import accuracy as accuracies
from betterhalf.judging import speed as speeds
from betterhalf.judging.memory import saves_memory
from betterhalf.judging.wording import say_ratio
from betterhalf.statistics.power import MOST_TRIALS


if TYPE_CHECKING:
    from collections.abc import Sequence

    from betterhalf.judging.assessing import Assessment
    from betterhalf.judging.deciding import Reason
    from betterhalf.records.plan import Plan
    from betterhalf.records.trial import Trial


LONGEST_MESSAGE = 120
"""Characters of an exception's message that a sentence can bear."""

_FIXED: dict[Reason, str] = {
    "no-interval": "an interval needs two finished trials on either side",
    "full-trainings-missing": "full trainings, which judge accuracy, have not run",
    "sometimes-diverged": "an arm that diverges is not kept",
    "slow-but-frugal": "whether that memory is worth that time is yours to say",
}
_UNKNOWN: dict[accuracies.Obstacle, str] = {
    "no-metric": "its trials share no metric that could be compared",
    "no-mode": "whether more {name} is better or worse is unknown (--mode)",
    "no-margin": "how much {name} may change is unknown (--margin)",
    "not-finite": "{name} is not finite in every trial",
    "does-not-vary": "trials with identical metrics do not count for {name}",
    "no-spread": "{name} is the same in every trial, so its spread is unknown",
    "training-metric": "{name} was seen on training data alone, which keeps no arm",
}


def say_obstacles(plan: Plan, assessment: Assessment) -> list[str]:
    """Returns a clause for each reason why an arm is undecided, none if it is not."""
    if assessment.decision.verdict != "inconclusive":
        return []
    said = (_say(plan, assessment, reason) for reason in assessment.decision.reasons)
    return [clause for clause in said if clause]


def say_ends(trials: Sequence[Trial]) -> str:
    """Returns how trials ended that did not finish, and why the first did not."""
    ends = Counter(trial.outcome for trial in trials if trial.outcome != "finished")
    said = ", ".join(f"{outcome} ({count})" for outcome, count in sorted(ends.items()))
    failure = next((trial.failure for trial in trials if trial.failure), None)
    if failure is None:
        return said
    message = f"{failure.kind}: {failure.message}".replace("\n", " ")
    if len(message) > LONGEST_MESSAGE:
        message = message[: LONGEST_MESSAGE - 1] + "…"
    return f"{said}, {message}"


def _say(plan: Plan, assessment: Assessment, reason: Reason) -> str:
    evidence = assessment.evidence
    tell = {
        "reference-failed": _say_reference_failed,
        "unfinished": _say_unfinished,
        "no-figures": _say_no_figures,
    }.get(reason)
    if tell is not None:
        return tell(assessment)
    if evidence.accuracy is not None and reason == "accuracy":
        trials = accuracies.estimate_trials(evidence.accuracy, evidence.look)
        return _say_trials(trials)
    if evidence.accuracy is not None and reason == "accuracy-unknown":
        return _say_unknown(evidence.accuracy)
    if evidence.speed is not None and reason in {"speed", "frugal"}:
        saves = saves_memory(evidence.memory, plan.limits)
        return _say_limit(plan, evidence.speed, saves=saves)
    return _FIXED[reason]


def _say_reference_failed(assessment: Assessment) -> str:
    ends = say_ends(assessment.evidence.look.reference)
    name = assessment.reference.name
    return f"no trial of {name}, its reference, finished: {ends}"


def _say_unfinished(assessment: Assessment) -> str:
    look, arm = assessment.evidence.look, assessment.arm.name
    if not look.size:
        return f"no trial of {arm} is planned"
    have = "has" if look.missing == 1 else "have"
    total = len(look.judged) + len(look.reference) + look.missing
    trials = f"{look.missing} of the {total} trials of {arm} and"
    return f"{trials} {assessment.reference.name} {have} yet to end"


def _say_no_figures(assessment: Assessment) -> str:
    look, arm = assessment.evidence.look, assessment.arm.name
    if look.finished:
        return f"{arm} or its reference trained too few steps to be timed"
    return f"no trial of {arm} finished: {say_ends(look.judged)}"


def _say_unknown(accuracy: accuracies.Accuracy) -> str:
    name = accuracy.choice.name if accuracy.choice else ""
    return _UNKNOWN[accuracy.obstacle or "no-metric"].format(name=name)


def _say_limit(plan: Plan, speed: speeds.Speed, *, saves: bool) -> str:
    if saves and plan.speed_only and speed.speedup.low > 1.0 - plan.limits.gate:
        return "full trainings could keep it for its memory"
    limit = speeds.name_limit(speed.speedup, plan.limits, saves=saves)
    trials = _say_trials(speeds.estimate_trials(speed, limit))
    return f"the interval contains {say_ratio(limit)}, and {trials}"


def _say_trials(trials: int | None) -> str:
    if trials is None:
        return f"more than {MOST_TRIALS} trials an arm would be needed"
    return f"about {trials} trials an arm would decide"
