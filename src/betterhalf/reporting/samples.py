"""Raw samples of trials as rows for a chart, thinned where there are too many.

Thinning keeps samples that stand evenly apart, the first and the last among them. It
never averages: each point of a chart is one that a trial really recorded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar


if TYPE_CHECKING:
    from collections.abc import Sequence

    from betterhalf.records.training import Training
    from betterhalf.records.trial import Trial


T = TypeVar("T")
Row = dict[str, Any]

CHART_SAMPLES = 2000
"""Samples that one chart shows, over all its trials; 640 pixels show fewer."""

FULL = 2
"""The stage of full trainings."""

LEAST_SAMPLES = 20
"""Samples that a trial keeps however many trials there are."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a chart, and how many samples there were before thinning."""

    rows: tuple[Row, ...]
    recorded: int

    @property
    def thinned(self) -> bool:
        """Whether some of the samples are not shown."""
        return len(self.rows) < self.recorded


def thin(items: Sequence[T], limit: int) -> tuple[T, ...]:
    """Returns at most `limit` items that stand evenly apart, both ends included.

    >>> thin(range(10), 4)
    (0, 3, 6, 9)

    Args:
        items: in order.
        limit: at least 2.
    """
    if len(items) <= limit:
        return tuple(items)
    last = len(items) - 1
    return tuple(items[round(place * last / (limit - 1))] for place in range(limit))


def share_out(limit: int, parts: int) -> int:
    """Returns how many samples each of `parts` trials may show of `limit` in all."""
    return max(limit // max(parts, 1), LEAST_SAMPLES)


def step_seconds(training: Training) -> float | None:
    """Returns the time per step over the steady windows, data loading included."""
    steady = [window for window in training.windows if window.steady and window.steps]
    if not steady:
        return None
    return sum(one.seconds for one in steady) / sum(one.steps for one in steady)


def epoch_seconds(training: Training) -> float | None:
    """Returns the mean time of the epochs after the first that ran to their end."""
    steady = [epoch.seconds for epoch in training.epochs[1:] if epoch.complete]
    return sum(steady) / len(steady) if steady else None


def list_speeds(
    trials: Sequence[Trial], basis: Literal["epoch", "step"]
) -> tuple[Row, ...]:
    """Returns one row a trial with the time that was judged of it, in seconds.

    Args:
        trials: sorted; a short one has no epoch that was judged.
        basis: of the speed-up that was judged.
    """
    measure = epoch_seconds if basis == "epoch" else step_seconds
    rows = [
        _row(one, seconds=measure(one.judged_training))
        for one in trials
        if one.judged_training is not None and (basis == "step" or one.stage == FULL)
    ]
    return tuple(row for row in rows if row["seconds"] is not None)


def list_windows(trials: Sequence[Trial]) -> Rows:
    """Returns one row a window of the clock: its last step, and its time per step."""
    rows: list[Row] = []
    recorded = 0
    for trial in trials:
        step = 0
        own: list[Row] = []
        for window in trial.judged_training.windows if trial.judged_training else ():
            step += window.steps
            if window.steps and 0 < window.seconds < math.inf:
                own.append(
                    _row(
                        trial,
                        step=step,
                        seconds=window.seconds / window.steps,
                        steady=window.steady,
                    )
                )
        recorded += len(own)
        rows += thin(own, share_out(CHART_SAMPLES, len(trials)))
    return Rows(tuple(rows), recorded)


def list_epochs(trials: Sequence[Trial]) -> Rows:
    """Returns one row an epoch that ran to its end."""
    rows: list[Row] = []
    recorded = 0
    for trial in trials:
        epochs = trial.judged_training.epochs if trial.judged_training else ()
        own = [
            _row(trial, epoch=epoch.index + 1, seconds=epoch.seconds)
            for epoch in epochs
            if epoch.complete and epoch.seconds > 0 and math.isfinite(epoch.seconds)
        ]
        recorded += len(own)
        rows += thin(own, share_out(CHART_SAMPLES, len(trials)))
    return Rows(tuple(rows), recorded)


def list_peaks(trials: Sequence[Trial]) -> tuple[Row, ...]:
    """Returns one row a trial whose peak memory is known."""
    return tuple(
        _row(trial, bytes=trial.memory.peak_bytes, kind=trial.memory.kind)
        for trial in trials
        if trial.memory is not None and trial.memory.peak_bytes
    )


def list_series(trials: Sequence[Trial], names: Sequence[str]) -> Rows:
    """Returns one row a reading of the machine, of the series that are named."""
    rows: list[Row] = []
    recorded = 0
    parts = len(names) * sum(trial.timeline is not None for trial in trials)
    for trial in trials:
        if trial.timeline is None:
            continue
        for series in trial.timeline.series:
            if series.name not in names:
                continue
            pairs = zip(trial.timeline.seconds, series.values, strict=False)
            own = [
                _row(trial, at=at, series=series.name, value=value)
                for at, value in pairs
                if math.isfinite(value) and math.isfinite(at)
            ]
            recorded += len(own)
            rows += thin(own, share_out(CHART_SAMPLES, parts))
    return Rows(tuple(rows), recorded)


def name_series(trials: Sequence[Trial]) -> tuple[str, ...]:
    """Returns the names of all series that some trial has, in order of appearance."""
    return tuple(
        dict.fromkeys(
            series.name
            for trial in trials
            if trial.timeline is not None
            for series in trial.timeline.series
        )
    )


def _row(trial: Trial, **fields: Any) -> Row:
    number = f"full {trial.number}" if trial.stage == FULL else str(trial.number)
    return {"arm": trial.arm, "trial": number, **fields}
