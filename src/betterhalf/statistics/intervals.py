"""An estimate with its interval, and the interval of one mean."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, isfinite, log, nan
from typing import NamedTuple

from betterhalf.statistics._welch import Contrast, half_width, single, summarise


class Interval(NamedTuple):
    """An estimate and the two ends around it; the ends are NaN below two values."""

    estimate: float
    low: float
    high: float


def mean_interval(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """Returns the mean of `values` with its two-sided t interval.

    Example:
        >>> [round(end, 2) for end in mean_interval([1.0, 2.0, 3.0])]
        [2.0, -0.48, 4.48]
    """
    return interval_around(single(summarise(values)), (1.0 - confidence) / 2.0)


def geometric_interval(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """Returns the geometric mean of positive `values` with its two-sided t interval.

    Seconds of trials are averaged this way, so that the ratio of two arms is the ratio
    of the two figures that stand beside it.
    """
    return exponentiate(mean_interval(logarithms(values), confidence))


def interval_around(what: Contrast, level: float) -> Interval:
    """Returns the interval with `level` of error at either end."""
    middle = float(what.difference)
    half = float(half_width(what, level))
    return Interval(middle, middle - half, middle + half)


def exponentiate(interval: Interval) -> Interval:
    """Returns an interval of logarithms as one of ratios."""
    return Interval(*(_exp(end) for end in interval))


def logarithms(values: Sequence[float]) -> list[float]:
    """Returns natural logarithms; NaN for what has none, as a time of zero."""
    return [log(value) if isfinite(value) and value > 0 else nan for value in values]


def _exp(value: float) -> float:
    try:
        return exp(value)
    except OverflowError:
        return float("inf")
