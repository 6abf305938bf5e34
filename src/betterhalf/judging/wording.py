"""Numbers as a person would say them; the same in terminal, page and JSON."""

from __future__ import annotations

from math import floor, isfinite, isnan, log10
from typing import TYPE_CHECKING

from betterhalf.judging.metric import in_percent, name_kind


if TYPE_CHECKING:
    from betterhalf.records.result import MetricComparison


def say_ratio(value: float) -> str:
    """Returns a ratio such as `1.55`, with two telling digits below 0.1."""
    return f"{value:.2f}" if value >= 0.0995 else f"{value:.2g}"


def say_interval(estimate: float, low: float, high: float) -> str:
    """Returns `1.55 [1.51 … 1.58]`, without the brackets where there is no interval."""
    if isnan(low) or isnan(high):
        return say_ratio(estimate)
    return f"{say_ratio(estimate)} [{say_ratio(low)} … {say_ratio(high)}]"


def say_seconds(seconds: float) -> str:
    """Returns a time with three digits in the unit that suits it.

    Example:
        >>> [say_seconds(s) for s in (0.0206, 3.14159, 75.0, 7300.0)]
        ['20.6 ms', '3.14 s', '1 min 15 s', '2 h 2 min']
    """
    if seconds < 0.9995:
        return f"{_three(1000 * seconds)} ms"
    if seconds < 59.95:
        return f"{_three(seconds)} s"
    if seconds < 3599.5:
        return f"{round(seconds) // 60} min {round(seconds) % 60} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min"


def say_percent(share: float) -> str:
    """Returns a share such as `63 %`, with a digit more where it is small."""
    percent = 100.0 * share
    return f"{percent:.0f} %" if abs(percent) >= 9.95 else f"{percent:.2g} %"


def say_count(count: int, noun: str) -> str:
    """Returns `1 trial` or `3 trials`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def say_change(metric: MetricComparison) -> str:
    """Returns the difference with its interval, in points where it is an accuracy.

    All three show as many decimals as leave two telling digits to the half-width.
    """
    factor, unit = _scale(metric)
    difference, low, high = (
        factor * value for value in (metric.difference, metric.low, metric.high)
    )
    if isnan(low) or isnan(high):
        return _signed(difference, _decimals(difference)) + unit
    decimals = _decimals((high - low) / 2.0 or difference)
    ends = f"{_signed(low, decimals)} … {_signed(high, decimals)}"
    return f"{_signed(difference, decimals)} [{ends}]{unit}"


def say_margin(metric: MetricComparison, *, relative: bool) -> str:
    """Returns `0.5 points`, `1 %` where the margin is `relative`, or a plain value."""
    if relative and metric.reference_mean:
        return say_percent(metric.margin / abs(metric.reference_mean))
    return say_amount(metric, metric.margin)


def say_amount(metric: MetricComparison, value: float) -> str:
    """Returns a value in the unit of the metric's differences."""
    factor, unit = _scale(metric)
    return f"{factor * value:.3g}{unit}"


def _scale(metric: MetricComparison) -> tuple[float, str]:
    if name_kind(metric.name) != "accuracy":
        return 1.0, ""
    return (1.0 if in_percent(metric.reference_mean) else 100.0), " points"


def _decimals(value: float) -> int:
    """Decimals that show two telling digits of `value`."""
    if value == 0.0 or not isfinite(value):
        return 0
    return min(max(1 - floor(log10(abs(value))), 0), 9)


def _signed(value: float, decimals: int) -> str:
    said = f"{abs(value):.{decimals}f}"
    if isnan(value) or float(said) == 0.0:
        return said
    return ("−" if value < 0 else "+") + said


def _three(value: float) -> str:
    if value >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"
