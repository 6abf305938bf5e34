"""What a metric's name says: which way is better, and how much is "equal".

The names are those of Keras's metrics and losses and the ones that users give their
own; nothing else about a metric is in the record. A name that says nothing gets no
default, because a margin that fits no scale would decide by accident.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal


if TYPE_CHECKING:
    from betterhalf.statistics.differences import Mode


Kind = Literal["accuracy", "error", "score", "unknown"]
"""`accuracy`: a share of 1 or 100, more is better; `error`: a loss or an error, less is
better; `score`: more is better on a scale of its own; `unknown`: nothing is known."""

POINTS = 0.005
"""Default margin of an accuracy-like metric: half a point of a hundred."""
RELATIVE = 0.01
"""Default margin of a loss or an error: this share of the reference's mean."""
PERCENT_ABOVE = 1.5
"""An accuracy with a mean beyond this is counted in percent."""

_ERRORS = {
    "loss", "error", "err", "mae", "mse", "rmse", "mape", "msle", "crossentropy",
    "perplexity", "ppl", "hinge", "divergence", "poisson", "cosh", "logcosh", "nll",
    "wer", "cer", "bce", "cce", "fid",
}  # fmt: skip
_ACCURACIES = {
    "accuracy", "acc", "auc", "precision", "recall", "f1", "f1score", "fbeta",
    "sensitivity", "specificity", "iou", "miou", "dice", "jaccard", "top1", "top5",
    "hit", "exact", "map",
}  # fmt: skip
_SCORES = {"r2", "similarity", "psnr", "ssim", "bleu", "rouge", "reward"}


def name_kind(name: str) -> Kind:
    """Returns what kind of metric `name` is; its last telling word decides.

    Example:
        >>> [name_kind(n) for n in ("val_top_k_accuracy", "head_loss_1", "psnr", "x")]
        ['accuracy', 'error', 'score', 'unknown']
    """
    spelled = name.lower().replace("io_u", "iou")
    for word in reversed(re.split(r"[^a-z0-9]+", spelled)):
        if word in _ERRORS:
            return "error"
        if word in _ACCURACIES:
            return "accuracy"
        if word in _SCORES:
            return "score"
    return "unknown"


def find_mode(name: str) -> Mode | None:
    """Returns which way is better, or `None` where the name does not say."""
    kind = name_kind(name)
    if kind == "unknown":
        return None
    return "min" if kind == "error" else "max"


def find_margin(name: str, reference_mean: float) -> float | None:
    """Returns the default margin in the metric's unit, `None` where there is none."""
    kind = name_kind(name)
    if kind == "accuracy":
        return POINTS * (100.0 if in_percent(reference_mean) else 1.0)
    if kind == "error":
        return RELATIVE * abs(reference_mean)
    return None


def in_percent(mean: float) -> bool:
    """Whether an accuracy-like metric with this mean runs to 100 and not to 1."""
    return mean > PERCENT_ABOVE
