"""Not worse, equivalent, worse: the difference of two means against a margin.

"No significant difference" is never an answer here. *Not worse* is a one-sided test
against the margin, *equivalent* are two of them (TOST, Schuirmann 1987,
doi 10.1007/BF01068419), and both are read off one interval with the level at each end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from betterhalf.statistics._welch import (
    Contrast,
    contrast,
    p_above,
    single,
    summarise,
)
from betterhalf.statistics.intervals import Interval, interval_around


Mode = Literal["min", "max"]
"""`max` where more is better, such as an accuracy; `min` for losses and errors."""

Outcome = Literal["better", "equivalent", "not-worse", "worse", "inconclusive"]


def difference_interval(
    judged: Sequence[float],
    reference: Sequence[float],
    level: float = 0.05,
    *,
    paired: bool = False,
) -> Interval:
    """Returns the mean of `judged` minus that of `reference`, with its interval.

    Args:
        judged: one figure a trial.
        reference: one figure a trial; with `paired` in the same order of blocks.
        level: error at *each* end, so 0.05 gives a 90 % interval.
        paired: compare within blocks, where a block moves both arms alike.

    Raises:
        ValueError: `paired` with unequal numbers of figures.

    Example:
        >>> interval = difference_interval([0.91, 0.92, 0.90], [0.90, 0.91, 0.91])
        >>> [round(end, 3) for end in interval]
        [0.003, -0.012, 0.019]
    """
    return interval_around(_contrast(judged, reference, paired=paired), level)


def p_not_worse(
    judged: Sequence[float],
    reference: Sequence[float],
    margin: float,
    mode: Mode = "max",
    *,
    paired: bool = False,
) -> float:
    """Returns the p value of "`judged` is worse by less than `margin`"."""
    return float(
        p_above(_gain(judged, reference, mode=mode, paired=paired), -abs(margin))
    )


def p_equivalent(
    judged: Sequence[float],
    reference: Sequence[float],
    margin: float,
    *,
    paired: bool = False,
) -> float:
    """Returns the p value of "the two differ by less than `margin`" (TOST)."""
    up = _gain(judged, reference, mode="max", paired=paired)
    down = _gain(judged, reference, mode="min", paired=paired)
    both = p_above(up, -abs(margin)), p_above(down, -abs(margin))
    return float(np.maximum(*both))


def smallest_margin(interval: Interval, mode: Mode = "max") -> float:
    """Returns the least margin at which `interval` shows the judged arm not worse.

    NaN where there is no interval.
    """
    worst = -interval.low if mode == "max" else interval.high
    return max(worst, 0.0)  # in this order NaN stays NaN


def name_outcome(interval: Interval, margin: float, mode: Mode = "max") -> Outcome:
    """Returns what `interval` says at `margin`.

    `better` and `worse` mean by more than the margin, with the whole interval;
    `equivalent` lies within it; `not-worse` reaches beyond it on the good side only.
    """
    low, high = interval.low, interval.high
    if mode == "min":
        low, high = -high, -low
    if low > margin:
        return "better"
    if high < -margin:
        return "worse"
    if low > -margin:
        return "equivalent" if high < margin else "not-worse"
    return "inconclusive"


def _contrast(
    judged: Sequence[float], reference: Sequence[float], *, paired: bool
) -> Contrast:
    if not paired:
        return contrast(summarise(judged), summarise(reference))
    if len(judged) != len(reference):
        raise ValueError(
            "expected one reference figure for each judged one. Received: "
            f"{len(judged)} and {len(reference)}."
        )
    return single(
        summarise([one - other for one, other in zip(judged, reference, strict=True)])
    )


def _gain(
    judged: Sequence[float], reference: Sequence[float], *, mode: Mode, paired: bool
) -> Contrast:
    what = _contrast(judged, reference, paired=paired)
    return what if mode == "max" else what._replace(difference=-what.difference)
