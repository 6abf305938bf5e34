"""Reasons to doubt a time because of what else the machine did."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from betterhalf.judging.wording import say_percent
from betterhalf.records.result import Caveat


if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from betterhalf.records.timeline import Timeline
    from betterhalf.records.trial import Trial


FOREIGN_SHARE = 0.1
"""Share of the processors that others may take; our choice, a fifth of one of two."""
SWAP_BYTES = 64 * 2**20
"""Growth of used swap beyond which pages of the trial must be among it; our choice."""
THROTTLED_SHARE = 0.1
"""Share of samples with reduced clocks that is more than a moment's; our choice."""


def find(trials: Sequence[Trial]) -> Iterator[Caveat]:
    """Yields what disturbed the trials of one arm, each from the worst of them."""
    load, trial = _find_worst(trials, _foreign_load)
    if load > FOREIGN_SHARE:
        yield Caveat(
            code="load-from-others",
            text=f"Other processes took {say_percent(load)} of the processors "
            f"during {trial}.",
            todo="End what else runs on this machine.",
        )
    swapped, trial = _find_worst(trials, _swapped_bytes)
    if swapped > SWAP_BYTES:
        yield Caveat(
            code="swapping",
            text=f"{swapped / 2**20:.0f} MiB went to swap during {trial}.",
            todo="Free memory, or train with a smaller batch.",
        )
    held_back, trial = _find_worst(trials, _throttled_share)
    if held_back > THROTTLED_SHARE:
        yield Caveat(
            code="throttled",
            text=f"A GPU held its clocks back for heat or power in "
            f"{say_percent(held_back)} of the samples of {trial}.",
            todo="Cool it, or compare at a power limit that it holds.",
        )
    strangers, trial = _find_worst(trials, _strangers)
    if strangers > 0:
        yield Caveat(
            code="gpu-shared",
            text=f"Up to {strangers:.0f} other processes used the GPU during {trial}.",
            todo="Take a GPU that nobody else uses (CUDA_VISIBLE_DEVICES).",
        )


def _find_worst(
    trials: Sequence[Trial], measure: Callable[[Trial, Timeline], float | None]
) -> tuple[float, str]:
    worst, where = 0.0, ""
    for trial in trials:
        amount = measure(trial, trial.timeline) if trial.timeline else None
        if amount is not None and amount > worst:
            worst, where = amount, f"{trial.arm}-{trial.number}"
    return worst, where


def _foreign_load(trial: Trial, timeline: Timeline) -> float | None:
    """Share of the processors that was busy, and not with this trial."""
    machine = _find_mean(timeline, "machine_cpu_percent")
    own = _find_mean(timeline, "cpu_percent")
    processors = timeline.logical_processors
    if processors is None and trial.environment is not None:
        processors = trial.environment.cores
    if machine is None or own is None or not processors:
        return None
    return (machine - own / processors) / 100.0


def _swapped_bytes(_: Trial, timeline: Timeline) -> float | None:
    values = _find_values(timeline, "swap_used_bytes")
    return max(values) - values[0] if values else None


def _throttled_share(_: Trial, timeline: Timeline) -> float | None:
    return timeline.throttled


def _strangers(_: Trial, timeline: Timeline) -> float | None:
    return timeline.gpu_processes_other


def _find_mean(timeline: Timeline, name: str) -> float | None:
    values = _find_values(timeline, name)
    return sum(values) / len(values) if values else None


def _find_values(timeline: Timeline, name: str) -> list[float]:
    for series in timeline.series:
        if series.name == name:
            return [value for value in series.values if isfinite(value)]
    return []
