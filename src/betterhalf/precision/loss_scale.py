"""How a loss scale moves: the rule and the state as frozen values, without a framework.

Loss scaling multiplies the loss, so that float16 gradients do not become zero, and
divides the gradients by the same number. A scale that is too high makes gradients
infinite; the step is skipped and the scale is lowered. After many good steps it is
raised. What is new against Keras's rule: the scale stays between a floor and a ceiling,
and until the first good step it falls fast.

Where the numbers come from:

- 2¹⁵, 2, ½ and 2,000 steps are those of Keras.
- The ceiling of 2²⁴ is the `max_loss_scale` of NVIDIA's apex. An element of a gradient
  that it leaves at zero is below 6e-8 / 2²⁴ = 3.5e-15.
- The floor of 2⁻¹⁴ is the smallest normal number of float16. A loss may be so large
  that a scale of 1 is too high (the floor of Keras 2 was 1, and users ran into it), but
  what overflows at 2⁻¹⁴ is no matter of scale.
- 50 bad steps in a row are more than the 38 halvings from that ceiling to that floor.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from typing import Final


INITIAL_SCALE: Final = 2.0**15
GROWTH_INTERVAL: Final = 2000
FLOOR: Final = 2.0**-14
CEILING: Final = 2.0**24
PATIENCE: Final = 50
"""Bad steps in a row after which something else than the scale is wrong."""


@dataclass(frozen=True)
class LossScaleState:
    """Where a loss scale stands.

    Attributes:
        scale: what the loss is multiplied by.
        counter: good steps since the scale last changed; negative, bad steps in a row.
        skipped: all bad steps so far.
    """

    scale: float
    counter: int = 0
    skipped: int = 0


@dataclass(frozen=True)
class LossScaleRule:
    """What becomes of a loss scale after a step.

    Attributes:
        initial: the scale of the first step.
        growth_factor: what it is multiplied by after `growth_interval` good steps.
        backoff_factor: what it is multiplied by after a bad step.
        growth_interval: good steps in a row.
        floor: it never falls below.
        ceiling: it never rises above.
        hysteresis: bad steps in a row that it takes to lower it.
        search_factor: takes the place of `backoff_factor`, and of the hysteresis, until
            the first good step.

    Example:

    >>> rule = LossScaleRule()
    >>> rule.after_bad_step(LossScaleState(scale=32768.0), searching=True)
    LossScaleState(scale=2048.0, counter=-1, skipped=1)
    """

    initial: float = INITIAL_SCALE
    growth_factor: float = 2.0
    backoff_factor: float = 0.5
    growth_interval: int = GROWTH_INTERVAL
    floor: float = FLOOR
    ceiling: float = CEILING
    hysteresis: int = 1
    search_factor: float = 2.0**-4

    @classmethod
    def static(cls, scale: float) -> LossScaleRule:
        """Returns the rule of a scale that never moves; bad steps are skipped still."""
        return cls(
            initial=scale,
            growth_factor=1.0,
            backoff_factor=1.0,
            search_factor=1.0,
            floor=scale,
            ceiling=scale,
        )

    def clip(self, scale: float) -> float:
        """Returns the scale to use: one from elsewhere may be 0 or infinite."""
        return min(max(scale, self.floor), self.ceiling)

    def after_good_step(self, state: LossScaleState) -> LossScaleState:
        """Returns the state after a step whose gradients were finite."""
        scale = self.clip(state.scale)
        counter = max(state.counter, 0) + 1
        if counter < self.growth_interval:
            return replace(state, scale=scale, counter=counter)
        scale = min(_round(scale * self.growth_factor), self.ceiling)
        return replace(state, scale=scale, counter=0)

    def after_bad_step(
        self, state: LossScaleState, *, searching: bool
    ) -> LossScaleState:
        """Returns the state after a step that was skipped.

        Args:
            state: before the step.
            searching: whether no step has been good yet.
        """
        scale = self.clip(state.scale)
        bad = max(-state.counter, 0) + 1
        if searching or bad >= self.hysteresis:
            factor = self.search_factor if searching else self.backoff_factor
            scale = max(_round(scale * factor), self.floor)
        return LossScaleState(scale, -bad, state.skipped + 1)


def _round(number: float) -> float:
    """Rounds to float32, which is what the scale is kept in; too large is infinite."""
    try:
        return struct.unpack("f", struct.pack("f", number))[0]
    except OverflowError:
        return float("inf")
