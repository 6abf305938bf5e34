"""Welch's t: the one test that every interval and every simulation here is made of.

The degrees of freedom are Welch's always. To pool the spreads where they look alike
makes the level depend on how they look (Zimmerman 2004, doi 10.1348/000711004849222):
of two equal spreads, each seen in three trials, one looks at least twice as large as
the other in 40 % of experiments.

All functions work on the last axis, so that one experiment and a hundred thousand
simulated ones are computed by the same lines.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import special


Array = Any
"""A float or an array of them; numpy's own types say less than this."""


class Moments(NamedTuple):
    """Mean, variance (NaN below two values) and number of values."""

    mean: Array
    variance: Array
    count: int


class Contrast(NamedTuple):
    """A difference of two means, its standard error and its degrees of freedom."""

    difference: Array
    error: Array
    freedom: Array


def summarise(values: Array) -> Moments:
    """Returns the moments of `values` along the last axis.

    A value that is not finite makes mean and variance NaN: no figure can be trusted
    that was averaged with it.
    """
    sample = np.asarray(values, dtype=float)
    count = sample.shape[-1]
    if count == 0:
        nothing = np.full(sample.shape[:-1], np.nan)
        return Moments(nothing, nothing, 0)
    sample = np.where(np.isfinite(sample), sample, np.nan)
    mean = sample.mean(axis=-1)
    if count == 1:
        return Moments(mean, np.full_like(mean, np.nan), 1)
    # a mean of equal values may round, and would give them a spread of 1e-17
    equal = (sample == sample[..., :1]).all(axis=-1)
    variance = np.where(equal, 0.0, sample.var(axis=-1, ddof=1))
    return Moments(np.where(equal, sample[..., 0], mean), variance, count)


def contrast(first: Moments, second: Moments) -> Contrast:
    """Returns `first` minus `second`, with Welch's degrees of freedom."""
    share = _share(first)
    other = _share(second)
    error = share + other
    with np.errstate(divide="ignore", invalid="ignore"):
        # shares of the error and not its squares, which underflow
        freedom = 1.0 / (
            (share / error) ** 2 / max(first.count - 1, 1)
            + (other / error) ** 2 / max(second.count - 1, 1)
        )
    freedom = np.where(error == 0, np.inf, freedom)
    return Contrast(first.mean - second.mean, np.sqrt(error), freedom)


def single(moments: Moments) -> Contrast:
    """Returns one mean against zero."""
    freedom = np.full_like(np.asarray(moments.mean, dtype=float), moments.count - 1.0)
    return Contrast(moments.mean, np.sqrt(_share(moments)), freedom)


def half_width(what: Contrast, level: float) -> Array:
    """Returns how far an end lies from the difference at the one-sided `level`.

    Without any spread the t interval has no width; whether to believe that is the
    caller's question.
    """
    quantile = special.stdtrit(what.freedom, 1.0 - level)
    return np.where(what.error == 0, 0.0, quantile * what.error)


def p_above(what: Contrast, limit: float) -> Array:
    """Returns the one-sided p value of "the difference is above `limit`"."""
    distance = np.asarray(what.difference - limit, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = distance / what.error
    p = special.stdtr(what.freedom, -t)
    certain = np.where(distance > 0, 0.0, 1.0)
    exact = (what.error == 0) & ~np.isnan(distance)
    return np.where(exact, certain, p)


def _share(moments: Moments) -> Array:
    return np.asarray(moments.variance, dtype=float) / max(moments.count, 1)
