"""Whether an arm is as accurate as its reference, within a margin.

"Not significantly different" keeps nothing: an arm is kept when it is shown not to be
worse than the margin, with the level shared among the arms that are compared with one
reference.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, nan
from typing import TYPE_CHECKING, Literal

from betterhalf.judging.metric import find_margin
from betterhalf.judging.readings import (
    Choice,
    choose_metric,
    fingerprint,
    read_value,
)
from betterhalf.records.result import MetricComparison
from betterhalf.statistics.differences import (
    difference_interval,
    name_outcome,
    smallest_margin,
)
from betterhalf.statistics.power import trials_to_decide
from betterhalf.statistics.spreads import spread


if TYPE_CHECKING:
    from collections.abc import Sequence

    from betterhalf.judging.looks import Look
    from betterhalf.records.plan import Plan
    from betterhalf.records.trial import Trial


Obstacle = Literal[
    "no-metric",
    "no-mode",
    "no-margin",
    "not-finite",
    "does-not-vary",
    "no-spread",
    "training-metric",
]
"""Why accuracy keeps nothing, however many trials there are.

`does-not-vary`: two trials of an arm are the same training; `no-spread`: they differ,
but the metric has one value in all of both arms, which hides its spread.
"""

_BLIND = ("not-finite", "does-not-vary", "no-spread")
"""The obstacles that leave no outcome to name."""


@dataclass(frozen=True)
class Accuracy:
    """One arm against its reference on the judged metric.

    Attributes:
        choice: the metric; absent where the trials share none.
        comparison: what the record keeps; absent without mode or margin.
        obstacle: why it cannot keep the arm, beyond noise.
        spreads: standard deviations between trials of the arm and of the reference; in
            a blocked analysis that of the differences, and zero.
        candidates: arms that share the level.
    """

    choice: Choice | None
    comparison: MetricComparison | None
    obstacle: Obstacle | None
    spreads: tuple[float, float] = (nan, nan)
    candidates: int = 1

    @property
    def is_worse(self) -> bool:
        """Whether the whole interval is beyond the margin."""
        return self.comparison is not None and self.comparison.outcome == "worse"

    @property
    def is_good_enough(self) -> bool:
        """Whether it allows to keep the arm."""
        if self.comparison is None or self.obstacle is not None:
            return False
        return self.comparison.outcome in {"better", "equivalent", "not-worse"}


def compare_accuracy(plan: Plan, look: Look, candidates: int) -> Accuracy:
    """Returns the comparison of the arm at `look`.

    Args:
        plan: for metric, mode, margin, level and analysis.
        look: of full trainings.
        candidates: arms that are compared with this reference on accuracy.
    """
    judged, reference = look.finished, look.reference_finished
    choice = choose_metric(plan, (*judged, *reference))
    if choice is None:
        return Accuracy(None, None, "no-metric")
    if choice.mode is None:
        return Accuracy(choice, None, "no-mode")
    varies = not (has_twins(judged) or has_twins(reference))
    values, others = _collect(plan, choice, judged, reference)
    margin = _find_margin(plan, choice, others)
    if margin is None:
        return Accuracy(choice, None, "no-margin")
    paired = plan.analysis == "blocked"
    level = plan.limits.look_level / candidates
    interval = difference_interval(values, others, level, paired=paired)
    obstacle = _find_obstacle(choice, values, others, varies=varies)
    comparison = MetricComparison(
        name=choice.name,
        source=choice.source,
        mode=choice.mode,
        mean=_mean(values),
        reference_mean=_mean(others),
        difference=interval.estimate,
        low=interval.low,
        high=interval.high,
        level=level,
        margin=margin,
        smallest_margin_supported=smallest_margin(interval, choice.mode),
        outcome=(
            "inconclusive"
            if obstacle in _BLIND
            else name_outcome(interval, margin, choice.mode)
        ),
    )
    return Accuracy(
        choice=choice,
        comparison=comparison,
        obstacle=obstacle,
        spreads=_spreads(values, others, paired=paired),
        candidates=candidates,
    )


def estimate_trials(accuracy: Accuracy, look: Look) -> int | None:
    """Returns about how many trials an arm would decide, if they can."""
    comparison = accuracy.comparison
    if comparison is None:
        return None
    sign = 1.0 if comparison.mode == "max" else -1.0
    return trials_to_decide(
        abs(sign * comparison.difference + comparison.margin),
        *accuracy.spreads,
        comparison.level,
        at_least=look.size + 1,
    )


def has_twins(trials: Sequence[Trial]) -> bool:
    """Whether two trials logged the same metrics to the last digit."""
    seen = [fingerprint(trial) for trial in trials]
    told = [prints for prints in seen if any(prints)]
    return len(set(told)) < len(told)


def _collect(
    plan: Plan, choice: Choice, judged: Sequence[Trial], reference: Sequence[Trial]
) -> tuple[list[float], list[float]]:
    """One value for each observation; twins are one, and pairs share a block."""
    if plan.analysis == "blocked":
        blocks = sorted({t.number for t in judged} & {t.number for t in reference})
        judged = [trial for trial in judged if trial.number in blocks]
        reference = [trial for trial in reference if trial.number in blocks]
    else:
        judged, reference = _drop_twins(judged), _drop_twins(reference)
    return _values(judged, choice), _values(reference, choice)


def _drop_twins(trials: Sequence[Trial]) -> list[Trial]:
    first = {fingerprint(trial): trial for trial in reversed(trials)}
    return [trial for trial in trials if first[fingerprint(trial)] is trial]


def _values(trials: Sequence[Trial], choice: Choice) -> list[float]:
    read = (read_value(trial, choice) for trial in trials)
    return [value for value in read if value is not None]


def _find_margin(plan: Plan, choice: Choice, reference: list[float]) -> float | None:
    if plan.limits.margin is not None:
        return plan.limits.margin
    return find_margin(choice.name, _mean(reference))


def _find_obstacle(
    choice: Choice, values: list[float], others: list[float], *, varies: bool
) -> Obstacle | None:
    if not all(isfinite(value) for value in (*values, *others)):
        return "not-finite"
    if not varies:
        return "does-not-vary"
    if len(values) > 1 and len(others) > 1 and spread(values) == spread(others) == 0:
        return "no-spread"
    if choice.source == "training":
        return "training-metric"
    return None


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else nan


def _spreads(
    values: list[float], others: list[float], *, paired: bool
) -> tuple[float, float]:
    if not paired:
        return spread(values), spread(others)
    return spread([v - o for v, o in zip(values, others, strict=True)]), 0.0
