"""Samples of a run of any length, kept in bounded memory.

A training of a day at five samples a second would be half a million of them. Neighbours
are averaged as soon as there are too many, so that a record stays small; mean and
maximum are those of the samples themselves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from betterhalf.records.timeline import Series, Timeline


LIMIT = 2000
"""Most points of a timeline: about one a pixel in a chart as wide as a screen."""


class Recorder:
    """Takes samples one by one and makes a `Timeline` of them.

    Points hold sums and counts, so that merging loses nothing of the mean. A value that
    is not finite, or not there, counts as a reading that failed.

    Args:
        names: of the series.
        limit: most points that are kept.
    """

    def __init__(self, names: Sequence[str], limit: int = LIMIT) -> None:
        self._limit = limit
        self._samples_a_point = 1
        self._taken = 0
        self._seconds = _Column()
        self._columns = {name: _Column() for name in names}

    def add(self, seconds: float, values: Mapping[str, float]) -> None:
        """Adds one sample, taken `seconds` after the start."""
        opens = self._taken % self._samples_a_point == 0
        self._seconds.add(seconds, opens=opens)
        for name, column in self._columns.items():
            column.add(values.get(name, math.nan), opens=opens)
        self._taken += 1
        if len(self._seconds.sums) > self._limit:
            self._samples_a_point *= 2
            self._seconds.halve()
            for column in self._columns.values():
                column.halve()

    def make_timeline(self, **fields: Any) -> Timeline:
        """Returns what was recorded, with `fields` of `Timeline` as they are."""
        return Timeline(
            seconds=self._seconds.means(),
            series=tuple(
                column.make_series(name) for name, column in self._columns.items()
            ),
            samples_taken=self._taken,
            thinned=self._samples_a_point > 1,
            **fields,
        )


class _Column:
    def __init__(self) -> None:
        self.sums: list[float] = []
        self._counts: list[float] = []
        self._maximum = math.nan

    def add(self, value: float, *, opens: bool) -> None:
        if opens:
            self.sums.append(0.0)
            self._counts.append(0)
        if math.isfinite(value):
            self.sums[-1] += value
            self._counts[-1] += 1
            # written so that the first value replaces NaN
            self._maximum = value if not self._maximum >= value else self._maximum

    def halve(self) -> None:
        self.sums = _add_neighbours(self.sums)
        self._counts = _add_neighbours(self._counts)

    def means(self) -> tuple[float, ...]:
        return tuple(map(_divide, self.sums, self._counts))

    def make_series(self, name: str) -> Series:
        return Series(
            name=name,
            values=self.means(),
            mean=_divide(math.fsum(self.sums), sum(self._counts)),
            maximum=self._maximum,
        )


def _divide(total: float, count: float) -> float:
    return total / count if count else math.nan


def _add_neighbours(values: list[float]) -> list[float]:
    pairs = zip_longest(values[::2], values[1::2], fillvalue=0)
    return [left + right for left, right in pairs]
