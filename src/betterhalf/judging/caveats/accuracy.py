"""Reasons to doubt, or to do without, a verdict on accuracy."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from betterhalf.judging.metric import in_percent, name_kind
from betterhalf.judging.readings import (
    find_evaluation,
    read_narrow_value,
    read_value,
)
from betterhalf.judging.wording import say_amount, say_count
from betterhalf.records.result import Caveat, MetricComparison


if TYPE_CHECKING:
    from collections.abc import Iterator

    from betterhalf.judging.accuracy import Accuracy
    from betterhalf.judging.caveats._context import Context


NARROW_SHARE = 0.1
"""A metric that 16 bit moved by more than this share of the margin is pointed out; our
choice."""


def find(context: Context) -> Iterator[Caveat]:
    """Yields what limits the comparison of the judged metric."""
    found = context.evidence.accuracy
    if found is None:
        return
    yield from _explain_obstacle(context, found)
    if found.comparison is not None:
        yield from _check_resolution(context, found.comparison)
        yield from _check_narrow_metric(context, found.comparison)


def _explain_obstacle(context: Context, found: Accuracy) -> Iterator[Caveat]:
    name = found.choice.name if found.choice else "metric"
    if found.obstacle == "no-metric":
        yield Caveat(
            code="metric-missing",
            text="The finished trials share no metric.",
            todo="Call evaluate after fit, or give fit validation data.",
        )
    elif found.obstacle in {"no-mode", "no-margin"}:
        yield Caveat(
            code="metric-of-unknown-scale",
            text=f"The name {name} does not say which way is better, or by how much "
            "it may change.",
            todo="--margin X, with --mode min or max where the name does not say.",
        )
    elif found.obstacle == "not-finite":
        yield Caveat(
            code="metric-not-finite",
            text=f"{name} is NaN or infinite in a trial that finished.",
            todo="One batch may do that to a mean; look at the metric batch by batch.",
        )
    elif found.obstacle == "does-not-vary":
        kept = context.plan.keep_seeds
        yield Caveat(
            code="trials-do-not-vary",
            text="Trials of one arm logged the same metrics to the last digit and "
            "count as one.",
            todo="Run without --keep-seeds."
            if kept
            else "Give the script a seed to vary.",
        )
    elif found.obstacle == "no-spread":
        yield Caveat(
            code="metric-without-spread",
            text=f"{name} has one value in all trials of both arms.",
            todo="Choose a finer metric, such as --metric loss.",
        )
    elif found.obstacle == "training-metric":
        yield Caveat(
            code="metric-from-training",
            text=f"{name} was measured on the data that the model trained on.",
            todo="Give fit validation data, or call evaluate after it.",
        )


def _check_resolution(context: Context, metric: MetricComparison) -> Iterator[Caveat]:
    """A test set too small to show the margin, by one example or by chance."""
    trials = context.look.reference_finished
    evaluation = find_evaluation(trials[0]) if trials else None
    samples = evaluation.samples if evaluation else None
    shares = name_kind(metric.name) == "accuracy" and metric.source == "evaluate"
    if not shares or not samples:
        return
    scale = 100.0 if in_percent(metric.reference_mean) else 1.0
    share = min(max(metric.reference_mean / scale, 0.0), 1.0)
    error = scale * max(1.0 / samples, sqrt(share * (1.0 - share) / samples))
    if metric.margin < error:
        yield Caveat(
            code="margin-unresolvable",
            text=f"On {say_count(samples, 'test example')} {metric.name} is uncertain "
            f"by {say_amount(metric, error)}, more than the margin of "
            f"{say_amount(metric, metric.margin)}: another test set might differ.",
            todo="Evaluate on more examples, or choose a wider --margin.",
        )


def _check_narrow_metric(
    context: Context, metric: MetricComparison
) -> Iterator[Caveat]:
    """What the script printed is not what is judged."""
    choice = context.evidence.accuracy.choice if context.evidence.accuracy else None
    if choice is None:
        return
    pairs = [
        (read_narrow_value(trial, choice), read_value(trial, choice))
        for trial in context.look.finished
    ]
    for narrow, judged in pairs:
        if narrow is None or judged is None:
            continue
        # "not within" rather than "beyond": the 16-bit value may be NaN
        if not abs(narrow - judged) <= NARROW_SHARE * metric.margin:
            yield Caveat(
                code="metric-differs-in-float32",
                text=f"The model computed {metric.name} on 16-bit outputs, as "
                f"{narrow:.4g}; in float32 it is {judged:.4g}, which is judged.",
                todo='Give the last layer dtype="float32".',
            )
            return
