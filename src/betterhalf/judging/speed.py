"""How many times as fast an arm trains as its reference, and which limit it crosses."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan, log
from typing import TYPE_CHECKING, Literal

from betterhalf.judging.looks import FULL, Book, Look, speed_level
from betterhalf.judging.samples import (
    keep_known,
    mean_epoch_seconds,
    mean_step_seconds,
    median_step_seconds,
)
from betterhalf.records.result import Speedup
from betterhalf.statistics.intervals import logarithms
from betterhalf.statistics.power import trials_to_decide
from betterhalf.statistics.ratios import ratio_interval
from betterhalf.statistics.spreads import spread


if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from betterhalf.records.plan import Limits
    from betterhalf.records.training import Training
    from betterhalf.records.trial import Trial


@dataclass(frozen=True)
class Speed:
    """One arm against its reference on time.

    Attributes:
        speedup: what the record keeps.
        median_step_ratio: the same from median step times, a diagnosis; NaN if unknown.
        spread: standard deviation of the logarithms of the arm's figures.
        reference_spread: that of the reference.
        counts: figures of the arm and of the reference.
    """

    speedup: Speedup
    median_step_ratio: float
    spread: float
    reference_spread: float
    counts: tuple[int, int]

    @property
    def has_interval(self) -> bool:
        """Whether both arms have two figures that can be compared."""
        return not isnan(self.speedup.low)


def compare_speed(book: Book, look: Look) -> Speed | None:
    """Returns the comparison, or `None` where an arm has no figure at all."""
    basis = choose_basis(look)
    judged = list_seconds(look.finished, basis)
    reference = list_seconds(look.reference_finished, basis)
    if not judged or not reference:
        return None
    level = speed_level(book, look)
    interval = ratio_interval(reference, judged, level)
    return Speed(
        speedup=Speedup(
            estimate=interval.estimate,
            low=interval.low,
            high=interval.high,
            level=level,
            look=min(len(look.judged), len(look.reference)),
            basis=basis,
        ),
        median_step_ratio=ratio_interval(
            _figures(look.reference_finished, median_step_seconds),
            _figures(look.finished, median_step_seconds),
        ).estimate,
        spread=spread(logarithms(judged)),
        reference_spread=spread(logarithms(reference)),
        counts=(len(judged), len(reference)),
    )


def choose_basis(look: Look) -> Literal["epoch", "step"]:
    """Returns what is compared: what the user waits for, where both arms show it.

    Epochs of full trainings that had two or more of them; else time per step.
    """
    trials = (*look.finished, *look.reference_finished)
    if look.stage != FULL or not trials:
        return "step"
    timed = list_seconds(trials, "epoch")
    return "epoch" if len(timed) == len(trials) else "step"


def list_seconds(
    trials: Sequence[Trial], basis: Literal["epoch", "step"]
) -> list[float]:
    """Returns one figure for each trial that has one."""
    return _figures(
        trials, mean_epoch_seconds if basis == "epoch" else mean_step_seconds
    )


def is_fast(speedup: Speedup, limits: Limits) -> bool:
    """Whether the arm is faster beyond the gate, and by as much as is worth it."""
    beyond = speedup.low > 1.0 + limits.gate
    return beyond and speedup.estimate >= limits.min_speedup


def is_slow(speedup: Speedup, limits: Limits) -> bool:
    """Whether the whole interval is below what is worth it."""
    return speedup.high < limits.min_speedup


def name_limit(speedup: Speedup, limits: Limits, *, saves: bool = False) -> float:
    """Returns the limit that the interval crosses.

    An estimate that is worth it has yet to clear the gate; a lower one has yet to stay
    below what is worth it; one that `saves` memory must not be slower than the gate.
    """
    if saves:
        return 1.0 - limits.gate
    if speedup.estimate >= limits.min_speedup:
        return 1.0 + limits.gate
    return limits.min_speedup


def estimate_trials(speed: Speed, limit: float) -> int | None:
    """Returns about how many trials an arm would clear `limit`, if they can."""
    return trials_to_decide(
        abs(log(speed.speedup.estimate) - log(limit)),
        speed.spread,
        speed.reference_spread,
        (1.0 - speed.speedup.level) / 2.0,
        at_least=speed.speedup.look + 1,
    )


def _figures(
    trials: Sequence[Trial], measure: Callable[[Training], float | None]
) -> list[float]:
    trainings = [trial.judged_training for trial in trials]
    return keep_known(measure(training) for training in trainings if training)
