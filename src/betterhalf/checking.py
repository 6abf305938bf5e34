"""`betterhalf.check`, in Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from betterhalf.auditing.checking import audit_model
from betterhalf.auditing.choosing import Choice
from betterhalf.reporting.audits.shown import Audit, show


def check(
    model: Any,
    batch: Any = None,
    *,
    select: Sequence[str] = (),
    ignore: Mapping[str, str] | None = None,
) -> Audit:
    """Audits a Keras model for what goes wrong in mixed precision.

    The model is left as it was: weights, seeds, the state of its optimizer. What a
    first call or a first `fit` would build is built.

    Args:
        model: a Keras model, compiled or not, under any policy.
        batch: one batch as `fit` would take it: `x`, or a tuple `(x, y)` or
            `(x, y, sample_weight)`; rules that need values are skipped without.
        select: codes, beginnings of codes such as `BH2`, or names of rules; all rules
            if empty.
        ignore: the same, each with the reason why its findings do not count.

    Returns:
        Findings, the worst first; rules that could not run, and why; the dtype table.
        It shows itself in a terminal and in a notebook.

    Raises:
        UsageError: no Keras model, an unknown rule, or a backend that does not train.

    Example:

    >>> audit = betterhalf.check(model, (x[:32], y[:32]))
    >>> [finding.code for finding in audit.findings]
    ['BH201']
    """
    choice = Choice(select=tuple(select), ignore=dict(ignore or {}))
    return show(audit_model(model, batch, choice=choice))
