"""What an experiment found: one entry an arm, and a sentence for each."""

from __future__ import annotations

from typing import Literal

from betterhalf.records._base import Record
from betterhalf.records.training import Checks
from betterhalf.records.trial import Failure, Repair


VerdictWord = Literal[
    "keep", "keep-for-memory", "revert", "inconclusive", "speed-only", "reference"
]


class Estimate(Record, frozen=True, kw_only=True):
    """A figure with its interval; `low` and `high` are NaN below two trials."""

    estimate: float
    low: float
    high: float


class Speedup(Record, frozen=True, kw_only=True):
    """How many times as fast as its reference an arm trains.

    Attributes:
        estimate: exp of the difference of the means of the logs.
        low: lower end of the interval that decided.
        high: upper end.
        level: two-sided level of the interval, such as 0.95.
        look: trials per arm at which it was taken.
        basis: `epoch` for mean steady epoch time, `step` for time per step over the
            steady windows.
    """

    estimate: float
    low: float
    high: float
    level: float
    look: int
    basis: Literal["epoch", "step"]


class MemoryComparison(Record, frozen=True, kw_only=True):
    """Peak memory of an arm, in bytes, and its share of the reference's.

    Attributes:
        peak_bytes: the largest of its trials.
        ratio: to the smallest of the reference; absent where that is unknown.
        kind: `device` or `resident`, as in the trials.
        compiled_bytes: what the compiled step needs by the compiler's own analysis; on
            JAX alone.
        compiled_ratio: to that of the reference.
    """

    peak_bytes: int
    ratio: float | None
    kind: Literal["device", "resident"]
    compiled_bytes: int | None = None
    compiled_ratio: float | None = None


class MetricComparison(Record, frozen=True, kw_only=True):
    """One arm against its reference on the judged metric.

    Attributes:
        name: as the script logs it, such as `val_accuracy`.
        source: where it was read: `evaluate`, `last-epoch`, `best-epoch`, `training`.
        mode: `max` where more is better.
        mean: of the arm.
        reference_mean: of the reference.
        difference: arm minus reference, in the metric's unit.
        low: lower end of the interval that decided.
        high: upper end.
        level: its nominal one-sided level.
        margin: what "equally accurate" means.
        smallest_margin_supported: the least margin at which these data show the arm not
            worse.
        outcome: what follows.
    """

    name: str
    source: str
    mode: Literal["min", "max"]
    mean: float
    reference_mean: float
    difference: float
    low: float
    high: float
    level: float
    margin: float
    smallest_margin_supported: float
    outcome: Literal["better", "equivalent", "not-worse", "worse", "inconclusive"]


class TrialCounts(Record, frozen=True, kw_only=True):
    """How the trials of an arm ended."""

    finished: int = 0
    diverged: int = 0
    failed: int = 0


class Caveat(Record, frozen=True, kw_only=True):
    """A typed reason to trust a figure less, with what to do next.

    Attributes:
        code: such as `spreads-differ`.
        text: one sentence with the numbers.
        todo: what to do next; never what the user already did. Absent if nothing helps.
    """

    code: str
    text: str
    todo: str | None = None


class Diagnosis(Record, frozen=True, kw_only=True):
    """A cause why an arm is not faster, with the share of the step it explains."""

    code: str
    text: str
    share: float | None = None
    todo: str | None = None


class ArmResult(Record, frozen=True, kw_only=True):
    """Everything that is said of one arm."""

    arm: str
    reference: str
    verdict: VerdictWord
    sentence: str
    speedup: Speedup | None = None
    step_seconds: Estimate | None = None
    epoch_seconds: Estimate | None = None
    startup_seconds: Estimate | None = None
    samples_per_second: float | None = None
    memory: MemoryComparison | None = None
    metric: MetricComparison | None = None
    trials: TrialCounts = TrialCounts()
    checks: Checks | None = None
    repairs: tuple[Repair, ...] = ()
    caveats: tuple[Caveat, ...] = ()
    diagnosis: tuple[Diagnosis, ...] = ()
    failure: Failure | None = None


class Result(Record, frozen=True, kw_only=True):
    """The end of an experiment.

    Attributes:
        script: name of the script.
        complete: every planned trial has ended.
        arms: references first, in the order of the plan.
        caveats: those of the experiment as a whole.
        diff: the edit to make in the script for the best kept arm, as a unified diff.
        exit_code: what the command returns.
    """

    script: str
    complete: bool
    arms: tuple[ArmResult, ...]
    caveats: tuple[Caveat, ...] = ()
    diff: str | None = None
    exit_code: int = 4
