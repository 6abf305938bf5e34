"""Reads what Keras logs, as plain floats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def read_logs(logs: Mapping[str, Any] | None) -> dict[str, float]:
    """Returns the entries of `logs` that are one number each."""
    numbers: dict[str, float] = {}
    for name, value in (logs or {}).items():
        try:
            numbers[str(name)] = float(value)
        except (TypeError, ValueError):
            continue  # a metric that returns an array says nothing to a verdict
    return numbers


def read_metrics(model: Any, result: Any) -> dict[str, float]:
    """Returns what an `evaluate` measured, by name.

    Args:
        model: the one that was evaluated.
        result: what `evaluate` returned: a number, a list, or a dict by name.
    """
    if isinstance(result, Mapping):
        return read_logs(result)
    named = read_logs(model.get_metrics_result())
    if not named and isinstance(result, float):
        return {"loss": result}
    return named


def read_sample_count(model: Any) -> int | None:
    """Returns the examples since the metrics were reset, from Keras's loss tracker.

    A train step of the user's own may not feed the tracker: then it is unknown.
    """
    tracker = getattr(model, "_loss_tracker", None)
    count = getattr(tracker, "count", None)
    if count is None:
        return None
    try:
        return int(float(count)) or None
    except (TypeError, ValueError):
        return None
