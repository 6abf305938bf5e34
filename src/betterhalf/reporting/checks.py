"""The three classic checks of a mixed-precision set-up, in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from betterhalf.reporting.figures import number
from betterhalf.reporting.words import counted, listed, one_line


if TYPE_CHECKING:
    from betterhalf.records.training import Checks


SHOWN_WEIGHTS = 3
"""Paths of non-finite weights that are named; the rest is counted."""


def describe_checks(checks: Checks) -> str:
    """Returns what was seen of policy, layers and optimizer, without judging it.

    >>> describe_checks(Checks(global_policy="mixed_bfloat16", layers=9,
    ...                        layers_computing_16bit=7, output_dtypes=("float32",)))
    'policy mixed_bfloat16; 7 of 9 layers compute in 16 bit; output float32'

    Args:
        checks: of the judged training.
    """
    parts = [_policy(checks), _layers(checks), _outputs(checks), _optimizer(checks)]
    parts.append(_state(checks))
    return one_line("; ".join(part for part in parts if part))


def _policy(checks: Checks) -> str:
    if checks.global_policy is None:
        return "policy unknown"
    own = checks.model_policy
    if own is None or own == checks.global_policy:
        return f"policy {checks.global_policy}"
    return f"policy {checks.global_policy}, the model's own {own}"


def _layers(checks: Checks) -> str:
    if not checks.layers:
        return ""
    middle = checks.middle_layer
    named = (
        f" ({middle.path}: {middle.compute}, variables {middle.variable})"
        if middle
        else ""
    )
    share = f"{checks.layers_computing_16bit} of {counted(checks.layers, 'layer')}"
    verb = "computes" if checks.layers == 1 else "compute"
    return f"{share} {verb} in 16 bit{named}"


def _outputs(checks: Checks) -> str:
    kinds = list(dict.fromkeys(checks.output_dtypes))
    if not kinds:
        return ""
    return (
        f"{'output' if len(checks.output_dtypes) == 1 else 'outputs'} {listed(kinds)}"
    )


def _optimizer(checks: Checks) -> str:
    if checks.optimizer is None:
        return ""
    if not checks.wrapped:
        return f"{checks.optimizer}, no loss scaling"
    said = [f"{checks.optimizer} with loss scaling"]
    if checks.loss_scaled is False:
        said.append("which the loss never went through")
    if checks.end_scale is not None:
        said.append(f"scale {number(checks.end_scale)} at the end")
    if checks.skipped_steps is not None:
        said.append(f"{counted(checks.skipped_steps, 'step')} skipped")
    return ", ".join(said)


def _state(checks: Checks) -> str:
    paths = checks.non_finite_state
    if not paths:
        return ""
    more = len(paths) - SHOWN_WEIGHTS
    rest = [f"{more:,} more"] if more > 0 else []
    return f"not finite at the end: {listed([*paths[:SHOWN_WEIGHTS], *rest])}"
