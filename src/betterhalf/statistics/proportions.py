"""How often trials diverge: exact, because there are three of them."""

from __future__ import annotations

from math import comb


def upper_bound(events: int, trials: int, confidence: float = 0.95) -> float:
    """Returns the exact one-sided upper bound of a proportion (Clopper, Pearson 1934).

    No divergence in three trials leaves a rate of 63 % possible.

    Args:
        events: how many trials it happened in.
        trials: how many could tell.
        confidence: one-sided level.

    Raises:
        ValueError: not `0 <= events <= trials`.

    Example:
        >>> [round(upper_bound(0, n), 2) for n in (3, 5, 10)]
        [0.63, 0.45, 0.26]
    """
    from scipy import special  # noqa: PLC0415 (Fisher's test below needs no scipy)

    _check(events, trials)
    if events == trials:
        return 1.0
    return float(special.betaincinv(events + 1, trials - events, confidence))


def p_more_often(
    events: int, trials: int, reference_events: int, reference_trials: int
) -> float:
    """Returns Fisher's one-sided p value of "`events` are more frequent".

    Example:
        >>> p_more_often(3, 3, 0, 3)
        0.05
    """
    _check(events, trials)
    _check(reference_events, reference_trials)
    total = events + reference_events
    ways = comb(trials + reference_trials, total)
    as_many = sum(
        comb(trials, k) * comb(reference_trials, total - k)
        for k in range(events, min(trials, total) + 1)
    )
    return as_many / ways


def _check(events: int, trials: int) -> None:
    if not 0 <= events <= trials:
        raise ValueError(
            f"expected 0 <= events <= trials. Received: {events} of {trials}."
        )
