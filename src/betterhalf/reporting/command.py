"""The command line that makes an experiment again, from its plan."""

from __future__ import annotations

import shlex

from betterhalf.records.plan import Limits, Plan


_TIMES = frozenset({"--budget", "--trial-timeout"})


def spell_command(plan: Plan) -> str:
    """Returns one line for a POSIX shell; options left at their default do not show.

    The script's own arguments are kept as a hash alone, so they cannot show either.

    Args:
        plan: of the experiment.
    """
    words = ["betterhalf", "compare", *_arms(plan), *_extent(plan), *_judgement(plan)]
    words += ["-m", plan.script] if plan.module else [plan.script]
    return shlex.join(words)


def _arms(plan: Plan) -> list[str]:
    names = [arm.name for arm in plan.arms if not arm.is_reference]
    words = ["--arms", ",".join(names)] if names else []
    unnamed = next((arm.backend for arm in plan.arms if "@" not in arm.name), None)
    return [*words, "--backend", unnamed] if unnamed else words


def _extent(plan: Plan) -> list[str]:
    words = ["--quick"] if plan.quick else []
    words += ["--keep-seeds"] if plan.keep_seeds else []
    looks, usual = plan.limits.looks, Limits().looks
    if looks and looks[0] != usual[0]:
        words += ["--runs", str(looks[0])]
    if looks and not plan.quick and looks[-1] != usual[-1]:
        words += ["--max-runs", str(looks[-1])]
    for option, value in (
        ("--epochs", plan.epochs),
        ("--steps", plan.steps),
        ("--budget", plan.budget_seconds),
        ("--trial-timeout", plan.trial_timeout_seconds),
    ):
        if value is not None:
            words += [option, f"{_plain(value)}s" if option in _TIMES else str(value)]
    return words


def _judgement(plan: Plan) -> list[str]:
    words = []
    if plan.metric is not None:
        words += ["--metric", plan.metric]
    if plan.mode is not None:
        words += ["--mode", plan.mode]
    if plan.limits.margin is not None:
        words += ["--margin", _plain(plan.limits.margin)]
    if plan.limits.min_speedup != Limits().min_speedup:
        words += ["--min-speedup", _plain(plan.limits.min_speedup)]
    return words


def _plain(value: float) -> str:
    """Returns a number without an exponent, as a command line takes it."""
    return f"{value:.12f}".rstrip("0").rstrip(".")
