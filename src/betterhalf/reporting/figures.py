"""Numbers as people read them: a unit, an interval, no more digits than they carry.

Terminal, Markdown and HTML all take their numbers from here, so that one figure never
reads differently in two places. Three significant digits are shown, and up to two more
where the interval would otherwise collapse onto its own middle.
"""

from __future__ import annotations

import math


SIGNIFICANT = 3
"""Digits of a figure: spreads of one per cent and more make a fourth one noise."""

EXTRA = 2
"""Digits that a narrow interval may add, so that its two ends can be told apart."""

LEAST_PLAIN_RATIO = 0.0995
"""Ratios below it would keep a single digit with two behind the point."""

_SECONDS = (
    (1e-3, 1e-6, "µs"),
    (1.0, 1e-3, "ms"),
    (120.0, 1.0, "s"),
    (7200.0, 60.0, "min"),
    (math.inf, 3600.0, "h"),
)
_BYTES = ((1024.0, 1.0, "B"), (1024.0**2, 1024.0, "KiB"), (1024.0**3, 1024.0**2, "MiB"))
_GIB = (1024.0**3, "GiB")


def number(value: float, decimals: int | None = None) -> str:
    """Returns `value` with a true minus sign and thousands apart.

    >>> number(-3100.4)
    '−3,100'

    Args:
        value: any float; not-a-number reads `unknown`, infinity `∞`.
        decimals: digits behind the point; three significant digits if absent.
    """
    if math.isnan(value):
        return "unknown"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    places = _decimals(value) if decimals is None else decimals
    text = f"{value:,.{places}f}"
    if text.strip("-0.,") == "":
        text = text.lstrip("-")
    return text.replace("-", "−")


def signed(value: float, decimals: int | None = None) -> str:
    """Returns `value` with its sign, plus included: `+0.104`."""
    text = number(value, decimals)
    return f"+{text}" if value > 0 else text


def interval(
    estimate: float, low: float, high: float, unit: str = "", *, sign: bool = False
) -> str:
    """Returns a figure with its interval: `1.55 [1.51 … 1.58]`.

    >>> interval(41.2, 40.83, 41.91, "ms")
    '41.2 ms [40.8 … 41.9]'

    Args:
        estimate: the figure.
        low: lower end; NaN where there is no interval, which is then said.
        high: upper end.
        unit: of all three, written once.
        sign: write a plus before what is positive.
    """
    places = _decimals(estimate, high - low)
    write = signed if sign else number
    middle = write(estimate, places) + (f" {unit}" if unit else "")
    if math.isnan(low) or math.isnan(high):
        return f"{middle}, no interval"
    return f"{middle} [{write(low, places)} … {write(high, places)}]"


def ratio(value: float) -> str:
    """Returns a ratio as sentences have it: `1.55`, two telling digits below 0.1."""
    if not math.isfinite(value) or value >= LEAST_PLAIN_RATIO or value <= 0:
        return number(value, 2)
    return f"{float(f'{value:.1e}'):.12f}".rstrip("0")


def ratio_interval(estimate: float, low: float, high: float) -> str:
    """Returns a ratio with its interval: `1.55 [1.51 … 1.58]`, `0.033 [0.032 … 0.034]`.

    Two digits behind the point, however narrow the interval: it is the figure that the
    sentence of the arm gives, and both must read the same.
    """
    if math.isnan(low) or math.isnan(high):
        return f"{ratio(estimate)}, no interval"
    return f"{ratio(estimate)} [{ratio(low)} … {ratio(high)}]"


def seconds(value: float) -> str:
    """Returns a time in the unit that suits it: `41.2 ms`, `12.3 s`, `4.20 min`."""
    scale, unit = seconds_unit(value)
    return f"{number(value / scale)} {unit}"


def seconds_interval(estimate: float, low: float, high: float) -> str:
    """Returns a time with its interval, all three in the unit of the estimate."""
    scale, unit = seconds_unit(estimate)
    return interval(estimate / scale, low / scale, high / scale, unit)


def seconds_unit(value: float) -> tuple[float, str]:
    """Returns the unit that suits a time: its length in seconds, and its name."""
    if math.isfinite(value):
        for limit, scale, unit in _SECONDS:
            if abs(value) < limit:
                return scale, unit
    return 1.0, "s"


def duration(value: float) -> str:
    """Returns a time that someone waits for, without false precision.

    >>> duration(40), duration(760), duration(9000)
    ('40 s', '13 min', '2.5 h')
    """
    if value < 90:
        return f"{max(round(value), 0)} s"
    if value < 5400:
        return f"{round(value / 60)} min"
    return f"{number(value / 3600, 1)} h"


def size(value: float) -> str:
    """Returns an amount of memory: `612 MiB`, `1.21 GiB`."""
    scale, unit = size_unit(value)
    return f"{number(value / scale)} {unit}"


def size_unit(value: float) -> tuple[float, str]:
    """Returns the unit that suits an amount of memory: its bytes, and its name."""
    for limit, scale, unit in _BYTES:
        if abs(value) < limit:
            return scale, unit
    return _GIB


def percent(share: float, decimals: int = 0) -> str:
    """Returns a share as a percentage: `95 %`."""
    return f"{number(100 * share, decimals)} %"


def _decimals(value: float, width: float = math.nan) -> int:
    if not math.isfinite(value) or value == 0:
        places = SIGNIFICANT - 1
    else:
        places = SIGNIFICANT - 1 - _magnitude(value)
    places = max(places, 0)
    if math.isfinite(width) and width > 0:
        places = max(places, min(-_magnitude(width), places + EXTRA))
    return places


def _magnitude(value: float) -> int:
    return math.floor(math.log10(abs(value)))
