"""Reasons to doubt an arm because of what its precision did, or did not do."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from betterhalf.judging.looks import FULL
from betterhalf.judging.wording import say_count, say_percent
from betterhalf.records.result import Caveat


if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from betterhalf.judging.caveats._context import Context
    from betterhalf.records.training import Checks
    from betterhalf.records.trial import Trial


PROMOTED_NOTES = ("gradients-not-scaled", "metrics-in-16-bit")
"""Notes of a trial that are reasons to trust its arm less."""
NARROW = ("float16", "bfloat16")
STEPS_SHARE = 0.01
"""Skipped steps beyond this share make equal epochs unequal trainings. Starting from a
scale that is ten halvings too high skips ten steps, 1 % of a training of 1,000."""


def find(context: Context) -> Iterator[Caveat]:
    """Yields what notes and checks of the arm's trials say."""
    trials = context.look.judged
    checks = [trial.checks for trial in trials if trial.checks is not None]
    yield from _promote_notes(trials)
    yield from _check_output(context, checks)
    yield from _check_effect(context, checks)
    yield from _check_state(checks)
    yield from _check_batches(context)
    yield from _check_skipped(checks)
    yield from _check_epochs(context)


def _promote_notes(trials: Sequence[Trial]) -> Iterator[Caveat]:
    seen: set[str] = set()
    for note in (note for trial in trials for note in trial.notes):
        if note.code in PROMOTED_NOTES and note.code not in seen:
            seen.add(note.code)
            text = f"{note.text[:1].upper()}{note.text[1:].rstrip('.')}."
            yield Caveat(code=note.code, text=text, todo=note.todo)


def _check_output(context: Context, checks: Sequence[Checks]) -> Iterator[Caveat]:
    narrow = sorted({d for c in checks for d in c.output_dtypes if d in NARROW})
    if not narrow:
        return
    todo = 'Give the last layer dtype="float32".'
    if context.arm.raw:
        todo += " Without +raw betterhalf does."
    text = (
        f"The model's output is {' and '.join(narrow)}, which rounds small "
        "probabilities away."
    )
    if context.arm.backend == "tensorflow":
        # keras/src/backend/tensorflow/nn.py: the cast output has no `_keras_logits`
        text += (
            " On TensorFlow a cross-entropy of it is taken from clipped "
            "probabilities, and that of the reference from logits."
        )
    yield Caveat(code="output-not-float32", text=text, todo=todo)


def _check_effect(context: Context, checks: Sequence[Checks]) -> Iterator[Caveat]:
    wants = context.arm.policy.startswith("mixed_")
    if wants and checks and not any(c.layers_computing_16bit for c in checks):
        yield Caveat(
            code="nothing-in-16-bit",
            text=f"None of the {say_count(checks[0].layers, 'layer')} computes in 16 "
            f"bit under {context.arm.policy}, so there is nothing to compare.",
            todo="Look for an explicit dtype= on layers, or a model that is loaded.",
        )


def _check_state(checks: Sequence[Checks]) -> Iterator[Caveat]:
    paths = sorted({path for c in checks for path in c.non_finite_state})
    if paths:
        more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
        yield Caveat(
            code="non-finite-state",
            text=f"{', '.join(paths[:3])}{more} held NaN or infinity at the end.",
            todo="Do not use such weights; float32 for that layer may prevent it.",
        )


def _check_batches(context: Context) -> Iterator[Caveat]:
    """A loss of a batch that is not finite in a training whose weights are."""
    bad = total = 0
    for trial in context.look.finished:
        epochs = trial.judged_training.epochs if trial.judged_training else ()
        losses = [epoch.logs["loss"] for epoch in epochs if "loss" in epoch.logs]
        bad += sum(not isfinite(loss) for loss in losses)
        total += len(losses)
    if bad:
        yield Caveat(
            code="non-finite-batches",
            text=f"The training loss was NaN or infinite in {bad} of {total} epochs, "
            "though the weights stayed finite: single batches overflowed.",
            todo="Look for what overflows in those batches; their steps may be lost.",
        )


def _check_skipped(checks: Sequence[Checks]) -> Iterator[Caveat]:
    shares = [
        c.skipped_steps / (c.skipped_steps + c.applied_steps)
        for c in checks
        if c.skipped_steps and c.applied_steps is not None
    ]
    if shares and max(shares) > STEPS_SHARE:
        yield Caveat(
            code="steps-skipped",
            text=f"Loss scaling skipped up to {say_percent(max(shares))} of the steps, "
            "so equal epochs are not equal trainings.",
            todo="A lower initial scale skips fewer.",
        )


def _check_epochs(context: Context) -> Iterator[Caveat]:
    """Early stopping ends arms at different times; epochs are compared one by one."""
    if context.look.stage != FULL:
        return
    ours = _mean_epochs(context.look.finished)
    others = _mean_epochs(context.look.reference_finished)
    if ours and others and abs(ours / others - 1.0) > context.plan.limits.gate:
        yield Caveat(
            code="lengths-differ",
            text=f"{context.arm.name} trained {ours:.3g} epochs on average, "
            f"{context.assessment.reference.name} {others:.3g}; the speed-up is that "
            "of one epoch.",
        )


def _mean_epochs(trials: Sequence[Trial]) -> float:
    counts = [len(t.judged_training.epochs) for t in trials if t.judged_training]
    return sum(counts) / len(counts) if counts else 0.0
