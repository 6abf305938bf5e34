"""The figures of one arm as labelled lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from betterhalf.reporting.checks import describe_checks
from betterhalf.reporting.figures import (
    interval,
    number,
    percent,
    ratio,
    ratio_interval,
    seconds_interval,
    size,
)
from betterhalf.reporting.words import counted, listed, one_line


if TYPE_CHECKING:
    from betterhalf.records.result import (
        ArmResult,
        Estimate,
        MemoryComparison,
        MetricComparison,
        Speedup,
        TrialCounts,
    )


BASES = {
    "epoch": "mean steady epoch time",
    "step": "time per step, data loading included",
}
"""What a speed-up was taken from."""

OUTCOMES = {
    "better": "better",
    "equivalent": "equivalent",
    "not-worse": "not worse",
    "worse": "worse",
    "inconclusive": "inconclusive",
}
"""How an outcome on the metric is written."""


@dataclass(frozen=True, slots=True)
class Line:
    """A label and what stands beside it; `short` is what fits into a table."""

    label: str
    text: str
    short: str = ""


def describe_arm(arm: ArmResult) -> tuple[Line, ...]:
    """Returns the figures that are known of an arm, the three checks last.

    Args:
        arm: as it was judged; what it lacks gets no line.
    """
    lines: list[Line] = []
    if arm.speedup is not None:
        short = write_speedup(arm.speedup)
        lines.append(Line("speed-up", _speedup(arm.speedup, arm.reference), short))
    for label, estimate in (
        ("step time", arm.step_seconds),
        ("epoch time", arm.epoch_seconds),
        ("start-up", arm.startup_seconds),
    ):
        if estimate is not None:
            time = write_seconds(estimate)
            lines.append(Line(label, time, time))
    if arm.samples_per_second is not None:
        lines.append(Line("throughput", f"{number(arm.samples_per_second)} samples/s"))
    if arm.memory is not None:
        short = size(arm.memory.peak_bytes)
        lines.append(Line("memory", _memory(arm.memory, arm.reference), short))
    if arm.metric is not None:
        short = f"{number(arm.metric.mean)}, {OUTCOMES[arm.metric.outcome]}"
        lines.append(Line("accuracy", _metric(arm.metric), short))
    if arm.checks is not None:
        lines.append(Line("checks", describe_checks(arm.checks)))
    return tuple(
        Line(one.label, one_line(one.text), one_line(one.short)) for one in lines
    )


def describe_trials(counts: TrialCounts) -> str:
    """Returns how many trials an arm has and how they ended.

    >>> describe_trials(TrialCounts(finished=2, diverged=1))
    '3 trials: 2 finished and 1 diverged'
    """
    total = counts.finished + counts.diverged + counts.failed
    if counts.finished == total:
        return counted(total, "trial")
    named = {
        "finished": counts.finished,
        "diverged": counts.diverged,
        "failed": counts.failed,
    }
    ends = listed(f"{count} {word}" for word, count in named.items() if count)
    return f"{counted(total, 'trial')}: {ends}"


def write_speedup(speedup: Speedup) -> str:
    """Returns a speed-up with its interval: `1.55 [1.51 … 1.58]`."""
    return ratio_interval(speedup.estimate, speedup.low, speedup.high)


def write_seconds(estimate: Estimate) -> str:
    """Returns a time with its interval: `41.2 ms [40.8 … 41.9]`."""
    return seconds_interval(estimate.estimate, estimate.low, estimate.high)


def _memory(memory: MemoryComparison, reference: str) -> str:
    kind = (
        "of the device"
        if memory.kind == "device"
        else "resident in the process, which decides nothing"
    )
    said = f"{size(memory.peak_bytes)} {kind}"
    if memory.ratio is not None:
        said += f"; {ratio(memory.ratio)} of {reference}"
    if memory.compiled_bytes is not None:
        said += f"; the compiled step needs {size(memory.compiled_bytes)}"
        if memory.compiled_ratio is not None:
            said += f", {ratio(memory.compiled_ratio)} of {reference}"
    return said


def _speedup(speedup: Speedup, reference: str) -> str:
    taken = (
        f"{percent(speedup.level)} interval, {counted(speedup.look, 'trial')} an arm, "
        f"{BASES[speedup.basis]}"
    )
    return f"{write_speedup(speedup)} times as fast as {reference} ({taken})"


def _metric(metric: MetricComparison) -> str:
    difference = interval(metric.difference, metric.low, metric.high, sign=True)
    supported = number(metric.smallest_margin_supported)
    return (
        f"{metric.name} {number(metric.mean)} against {number(metric.reference_mean)}, "
        f"{OUTCOMES[metric.outcome]}: difference {difference} at one-sided level "
        f"{number(metric.level, 3)}, margin {number(metric.margin)}, smallest margin "
        f"that the data support {supported} (from {metric.source})"
    )
