"""What is odd about a handful of figures: reasons for a caveat, never for an action.

Outliers are marked and stay; unequal spreads change no test; a drift charges all arms
alike, because their trials alternate.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite, nan, sqrt
from statistics import fmean, median
from typing import NamedTuple

from scipy import special

from betterhalf.statistics._welch import summarise


LEVEL = 0.05
"""Two-sided level of the oddities here; a wrong caveat now and then is cheap."""
OUTLIER_SCORE = 3.5
"""Modified z-score that marks a value (Iglewicz and Hoaglin 1993)."""
OUTLIER_MINIMUM = 5
"""Fewest values among which one can be odd: with four, half of them are the edge."""


class SpreadRatio(NamedTuple):
    """Larger spread over the smaller, and the two-sided p value of the F test."""

    ratio: float
    p: float


class Drift(NamedTuple):
    """Change from the first block to the last, and its two-sided p value."""

    change: float
    p: float


def spread(values: Sequence[float]) -> float:
    """Returns the standard deviation between `values`; NaN below two."""
    return sqrt(float(summarise(values).variance))


def compare_spreads(first: Sequence[float], second: Sequence[float]) -> SpreadRatio:
    """Returns how many times one spread is the other, and how surprising that is.

    Both are NaN where a side has fewer than two finite values.
    """
    one, other = summarise(first), summarise(second)
    low, high = sorted((one, other), key=lambda moments: float(moments.variance))
    if not (isfinite(float(low.variance)) and isfinite(float(high.variance))):
        return SpreadRatio(nan, nan)
    if low.variance == 0:
        alike = high.variance == 0
        return SpreadRatio(1.0 if alike else inf, 1.0 if alike else 0.0)
    ratio = float(high.variance / low.variance)
    tail = float(special.fdtrc(high.count - 1, low.count - 1, ratio))
    return SpreadRatio(sqrt(ratio), min(1.0, 2.0 * tail))


def find_drift(groups: Sequence[Sequence[tuple[int, float]]]) -> Drift:
    """Returns the common trend over blocks of figures that differ between arms.

    Each arm's own mean is taken out, then one line is fitted through all that is left.

    Args:
        groups: for each arm, pairs of block and figure.
    """
    blocks: list[float] = []
    values: list[float] = []
    freedom = -1
    for group in (group for group in groups if group):
        block_mean = fmean(block for block, _ in group)
        value_mean = fmean(value for _, value in group)
        blocks += [block - block_mean for block, _ in group]
        values += [value - value_mean for _, value in group]
        freedom += len(group) - 1
    moved = sum(block**2 for block in blocks)
    if freedom < 1 or moved == 0 or not all(isfinite(value) for value in values):
        return Drift(nan, nan)
    slope = sum(b * v for b, v in zip(blocks, values, strict=True)) / moved
    left = sum((v - slope * b) ** 2 for b, v in zip(blocks, values, strict=True))
    span = max(b for g in groups for b, _ in g) - min(b for g in groups for b, _ in g)
    error = sqrt(left / freedom / moved)
    if error == 0:
        return Drift(slope * span, 0.0 if slope else 1.0)
    p = 2.0 * float(special.stdtr(freedom, -abs(slope) / error))
    return Drift(slope * span, p)


def p_first_larger(first: float, others: Sequence[float]) -> float:
    """Returns the p value of "`first` lies above what the others would give next"."""
    moments = summarise(others)
    error = sqrt(float(moments.variance) * (1.0 + 1.0 / moments.count))
    if error == 0:
        return 0.0 if first > moments.mean else 1.0
    t = (first - float(moments.mean)) / error
    return float(special.stdtr(moments.count - 1, -t))


def mark_outliers(values: Sequence[float]) -> tuple[int, ...]:
    """Returns the positions of values that stand far from the rest.

    Modified z-scores about the median, because with few values a plain one can never
    be large; empty below `OUTLIER_MINIMUM` values.
    """
    if len(values) < OUTLIER_MINIMUM:
        return ()
    middle = median(values)
    typical = median(abs(value - middle) for value in values)
    if typical == 0:
        return ()
    return tuple(
        index
        for index, value in enumerate(values)
        if 0.6745 * abs(value - middle) / typical > OUTLIER_SCORE
    )
