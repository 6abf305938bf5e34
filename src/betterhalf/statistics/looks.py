"""Two looks at the data, and what each may spend of the error.

A decision may fall at `FIRST` trials an arm or at `SECOND`, nowhere between. Both looks
use the same nominal level (Pocock 1977, doi 10.1093/biomet/64.2.191), chosen so that
the chance of erring at either is the overall one. For 3 and 10 trials that is 0.028 for
an overall 0.05, and 0.0137 for 0.025.

Those levels are exact for normal statistics. `power.simulate_error` says what Welch's t
makes of them: 0.044 and 0.021 where the spreads are equal, 0.057 and 0.031 where one
arm has five times the spread of the other. (A t test with pooled spreads has 0.051 and
0.025, and is not what ships.) To add trials one at a time from 3 to 10 at a level of
0.03 each would err in 8.4 %, which is why nothing is looked at in between.
"""

from __future__ import annotations

from functools import lru_cache
from math import asin, erfc, exp, sin, sqrt, tau


FIRST = 3
"""Trials an arm at the first look."""
SECOND = 10
"""Trials an arm at the second look, which is the last."""
OVERALL = 0.05
"""One-sided error of "not worse" over both looks."""
NOMINAL = 0.028
"""One-sided level at each of the two looks for `OVERALL`."""


@lru_cache(maxsize=64)
def nominal_level(overall: float, looks: tuple[int, ...]) -> float:
    """Returns the one-sided level at each look that makes `overall` in total.

    Args:
        overall: one-sided error over all looks, between 0 and 0.5.
        looks: trials an arm at one or two looks, growing.

    Raises:
        ValueError: more than two looks, or looks that do not grow.

    Example:
        >>> round(nominal_level(0.05, (3, 10)), 4)
        0.0281
    """
    if len(looks) == 1:
        return overall
    if len(looks) != 2 or not 0 < looks[0] < looks[1]:
        raise ValueError(f"expected one or two growing looks. Received: {looks}.")
    correlation = sqrt(looks[0] / looks[1])
    low, high = 0.0, 10.0
    for _ in range(60):
        middle = (low + high) / 2.0
        if _crossing(middle, correlation) > overall:
            low = middle
        else:
            high = middle
    return _tail(low)


def _crossing(limit: float, correlation: float) -> float:
    """Chance that either of two correlated normal statistics exceeds `limit`.

    Plackett's integral over the correlation; 96 midpoints are exact to 1e-6.
    """
    angle = asin(correlation)
    points = 96
    width = angle / points
    overlap = 0.0
    for index in range(points):
        sine = sin((index + 0.5) * width)
        overlap += exp(-(limit**2) / (1.0 + sine))
    both_below = (1.0 - _tail(limit)) ** 2 + overlap * width / tau
    return 1.0 - both_below


def _tail(limit: float) -> float:
    return 0.5 * erfc(limit / sqrt(2.0))
