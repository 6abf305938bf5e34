"""What a user is told: that steps were skipped, and that training has stalled."""

from __future__ import annotations

import logging
import warnings

from betterhalf.errors import LossScaleError
from betterhalf.scaling.options import OnFailure


LOGGER = logging.getLogger("betterhalf.scaling")
MANY = 0.1
"""The share of skipped steps in a training from which they are a warning.

A scale that is doubled every 2,000 steps costs one step in 2,000 where it is too high.
"""


class Teller:
    """Tells once for every `patience` bad steps in a row.

    Args:
        patience: bad steps in a row that are too many.
        on_failure: whether to raise or to warn.
    """

    def __init__(self, patience: int, on_failure: OnFailure):
        self.patience = patience
        self._raises = on_failure == "raise"
        self._told = 0
        self._steps = self._skipped = 0

    def complain(self, bad_steps: int) -> None:
        """Raises or warns if there are now too many.

        Raises:
            LossScaleError: with the likely causes.
        """
        due = bad_steps // self.patience
        told, self._told = self._told, due
        if due > told:
            text = describe_failure(bad_steps)
            if self._raises:
                raise LossScaleError(text)
            warnings.warn(text, RuntimeWarning, stacklevel=3)

    def sum_up(self, steps: int, skipped: int, scale: float) -> None:
        """Logs how many steps were skipped since the last time.

        Args:
            steps: all steps that were taken so far.
            skipped: all steps that were skipped so far.
            scale: where the loss scale stands.
        """
        taken, lost = steps - self._steps, skipped - self._skipped
        self._steps, self._skipped = steps, skipped
        if lost > 0:
            level = logging.WARNING if lost > MANY * (lost + taken) else logging.INFO
            LOGGER.log(
                level,
                "%d of %d steps were skipped: their gradients were not finite. "
                "The loss scale is now %g.",
                lost,
                lost + taken,
                scale,
            )


def describe_failure(bad_steps: int) -> str:
    """Returns the text of the error: what happened, the likely causes, what to do."""
    return (
        f"expected a step with finite gradients. Received: {bad_steps} in a row with "
        "infinities or NaN; all were skipped, and the weights are as they were. "
        "Lowering the loss scale did not help, so the cause is probably another: "
        "a NaN or an infinity in the data or the labels; a learning rate that is too "
        "high, so that the weights themselves have grown; targets or a loss too large "
        "for float16, whose largest number is 65,504 (scale the targets); a layer that "
        "overflows (compute it with dtype='float32'). mixed_bfloat16 has the range of "
        "float32 and needs no loss scaling."
    )
