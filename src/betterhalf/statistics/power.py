"""How often the rules decide as they ship, and how many trials would.

The simulations run the very lines that judge an experiment (`_welch`), one row a
simulated experiment, so a change of a rule changes the table in `docs/verdict.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite, log
from typing import NamedTuple

import numpy as np
from scipy import special

from betterhalf.statistics import _welch
from betterhalf.statistics.looks import FIRST, NOMINAL, SECOND, nominal_level


POWER = 0.8
"""Chance of a decision that "would decide" stands for (Cohen 1988)."""
MOST_TRIALS = 100
"""Beyond this many trials an arm nobody waits, and the answer is "more than"."""

_Decide = Callable[[_welch.Array, _welch.Array, _welch.Array], _welch.Array]


class Shares(NamedTuple):
    """Share of the simulated experiments that ended each way."""

    passed: float
    failed: float
    undecided: float


def trials_to_decide(
    distance: float,
    spread: float,
    reference_spread: float,
    level: float,
    *,
    at_least: int = 2,
) -> int | None:
    """Returns about how many trials an arm would decide, if the estimates are true.

    Args:
        distance: from the estimate to the limit that its interval crosses, positive.
        spread: standard deviation between trials of the judged arm.
        reference_spread: that of the reference.
        level: one-sided.
        at_least: what has not decided yet.

    Returns:
        The least number with a chance of `POWER`; `None` beyond `MOST_TRIALS`, or
        where no number of trials moves the interval off the limit.

    Example:
        >>> trials_to_decide(0.05, 0.04, 0.04, 0.025)
        12
    """
    first, second = spread**2, reference_spread**2
    total = first + second
    if not (isfinite(distance) and isfinite(total)) or distance <= 0:
        return None
    for trials in range(max(at_least, 2), MOST_TRIALS + 1):
        if total == 0:
            return trials
        freedom = (trials - 1) * total**2 / (first**2 + second**2)
        centre = distance / (total / trials) ** 0.5
        limit = special.stdtrit(freedom, 1.0 - level)
        if 1.0 - special.nctdtr(freedom, centre, limit) >= POWER:
            return trials
    return None


def simulate_speed(
    ratio: float,
    spread: float,
    looks: Sequence[int] = (FIRST,),
    *,
    confidence: float = 0.95,
    gate: float = 0.02,
    min_speedup: float = 1.05,
    draws: int = 20_000,
    seed: int = 0,
) -> Shares:
    """Returns how often an arm that is `ratio` times as fast passes, or fails.

    Args:
        ratio: true speed-up.
        spread: standard deviation of the logarithm of a trial's time, in both arms.
        looks: trials an arm at each look.
        confidence: two-sided, over all looks.
        gate: how far above 1 the lower end must be.
        min_speedup: what the estimate must reach, and the upper end to escape `revert`.
        draws: simulated experiments.
        seed: of numpy's generator.
    """

    def decide(middle: _welch.Array, low: _welch.Array, high: _welch.Array):
        fast = (low > log(1.0 + gate)) & (middle >= log(min_speedup))
        return np.where(fast, 1, np.where(high < log(min_speedup), -1, 0))

    level = nominal_level((1.0 - confidence) / 2.0, tuple(looks))
    random = np.random.default_rng(seed)
    spreads = (spread, spread)
    judged, reference = _draw(random, log(ratio), spreads, (draws, max(looks)))
    return _look(judged, reference, looks, level, decide)


def simulate_accuracy(
    difference: float,
    spread: float,
    looks: Sequence[int] = (FIRST, SECOND),
    *,
    level: float = NOMINAL,
    candidates: int = 1,
    draws: int = 20_000,
    seed: int = 0,
) -> Shares:
    """Returns how often an arm passes as not worse, or fails as worse.

    Args:
        difference: true difference in margins; -1 is exactly at the margin.
        spread: standard deviation of a trial's metric in margins, in both arms.
        looks: trials an arm at each look.
        level: one-sided nominal level at each look.
        candidates: arms that share the reference, and the level.
        draws: simulated experiments.
        seed: of numpy's generator.
    """

    def decide(_: _welch.Array, low: _welch.Array, high: _welch.Array):
        return np.where(low > -1.0, 1, np.where(high < -1.0, -1, 0))

    random = np.random.default_rng(seed)
    spreads = (spread, spread)
    judged, reference = _draw(random, difference, spreads, (draws, max(looks)))
    return _look(judged, reference, looks, level / candidates, decide)


def simulate_error(
    level: float,
    looks: Sequence[int] = (FIRST, SECOND),
    *,
    spreads: tuple[float, float] = (1.0, 1.0),
    draws: int = 100_000,
    seed: int = 0,
) -> float:
    """Returns how often what is exactly at a limit is found beyond it at some look.

    Args:
        level: one-sided nominal level at each look.
        looks: trials an arm at each look.
        spreads: standard deviation of the judged arm and of the reference.
        draws: simulated experiments; 100,000 leave a standard error of 0.0007.
        seed: of numpy's generator.
    """

    def decide(_: _welch.Array, low: _welch.Array, __: _welch.Array):
        return np.where(low > 0.0, 1, 0)

    random = np.random.default_rng(seed)
    judged, reference = _draw(random, 0.0, spreads, (draws, max(looks)))
    return _look(judged, reference, looks, level, decide).passed


def _draw(
    random: np.random.Generator,
    difference: float,
    spreads: tuple[float, float],
    size: tuple[int, int],
) -> tuple[_welch.Array, _welch.Array]:
    judged = difference + spreads[0] * random.standard_normal(size)
    return judged, spreads[1] * random.standard_normal(size)


def _look(
    judged: _welch.Array,
    reference: _welch.Array,
    looks: Sequence[int],
    level: float,
    decide: _Decide,
) -> Shares:
    """The first look that decides counts, as in an experiment."""
    decision = np.zeros(len(judged), dtype=int)
    for look in looks:
        what = _welch.contrast(
            _welch.summarise(judged[:, :look]), _welch.summarise(reference[:, :look])
        )
        half = _welch.half_width(what, level)
        now = decide(what.difference, what.difference - half, what.difference + half)
        decision = np.where(decision == 0, now, decision)
    passed = float((decision == 1).mean())
    failed = float((decision == -1).mean())
    return Shares(passed, failed, 1.0 - passed - failed)
