"""What a user may choose about loss scaling, checked, and its form in a config."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, get_args

from betterhalf.errors import UsageError
from betterhalf.precision.loss_scale import (
    CEILING,
    FLOOR,
    GROWTH_INTERVAL,
    INITIAL_SCALE,
    PATIENCE,
    LossScaleRule,
)


Mode = Literal["dynamic", "static", "off"]
OnFailure = Literal["raise", "warn"]

KEY: Final = "betterhalf"
"""Where the options stand in a config: a key that Keras's own class does not read."""


@dataclass(frozen=True)
class Options:
    """The options that Keras's class does not have.

    Attributes:
        mode: `dynamic`, `static` or `off`.
        growth_factor: see `LossScaleOptimizer`, as the rest.
        backoff_factor: likewise.
        floor: likewise.
        ceiling: likewise.
        hysteresis: likewise.
        search_factor: likewise.
        patience: likewise.
        on_failure: likewise.
    """

    mode: Mode = "dynamic"
    growth_factor: float = 2.0
    backoff_factor: float = 0.5
    floor: float | None = None
    ceiling: float | None = None
    hysteresis: int = 1
    search_factor: float = 2.0**-4
    patience: int = PATIENCE
    on_failure: OnFailure = "raise"

    def rule(self, initial: float, growth_interval: int) -> LossScaleRule:
        """Returns the rule that these options and Keras's two make.

        Raises:
            UsageError: a number that makes no sense.
        """
        self._check(initial, growth_interval)
        if self.mode == "static":
            return LossScaleRule.static(float(initial))
        rule = LossScaleRule(
            initial=float(initial),
            growth_factor=float(self.growth_factor),
            backoff_factor=float(self.backoff_factor),
            growth_interval=growth_interval,
            floor=float(min(FLOOR, initial) if self.floor is None else self.floor),
            ceiling=float(
                max(CEILING, initial) if self.ceiling is None else self.ceiling
            ),
            hysteresis=self.hysteresis,
            search_factor=float(self.search_factor),
        )
        _expect(
            rule.floor <= rule.initial <= rule.ceiling,
            "`floor` ≤ `initial_scale` ≤ `ceiling`",
            (rule.floor, rule.initial, rule.ceiling),
        )
        return rule

    def _check(self, initial: float, growth_interval: int) -> None:
        _expect_one_of("mode", self.mode, get_args(Mode))
        _expect_one_of("on_failure", self.on_failure, get_args(OnFailure))
        for name, number in (
            ("initial_scale", initial),
            ("floor", self.floor),
            ("ceiling", self.ceiling),
        ):
            fine = number is None or 2.0**-126 <= number <= 2.0**126
            _expect(fine, f"`{name}` to be a normal number of float32", number)
        _expect(
            math.isfinite(self.growth_factor) and self.growth_factor >= 1,
            "`growth_factor` ≥ 1",
            self.growth_factor,
        )
        for name in ("backoff_factor", "search_factor"):
            factor = getattr(self, name)
            _expect(0 < factor <= 1, f"0 < `{name}` ≤ 1", factor)
        for name, count in (
            ("dynamic_growth_steps", growth_interval),
            ("hysteresis", self.hysteresis),
            ("patience", self.patience),
        ):
            fine = isinstance(count, int) and count >= 1
            _expect(fine, f"`{name}` to be an integer of at least 1", count)

    def config(self) -> dict[str, Any]:
        """Returns the options for a config, all of them: a default may change."""
        return asdict(self)


def choose_scale(
    mode: Mode | None, initial: float | None, factor: float | None
) -> tuple[Mode, float]:
    """Returns the mode and the first scale, from what was given.

    Args:
        mode: the user's, or `None`.
        initial: the user's `initial_scale`, or `None`.
        factor: the `loss_scale_factor` of the inner optimizer: a scale that the user
            has fixed. Keras's class throws it away.

    Raises:
        UsageError: two scales were given.
    """
    if factor is None:
        return mode or "dynamic", INITIAL_SCALE if initial is None else initial
    _expect(
        initial is None and mode in {None, "static", "off"},
        "either `loss_scale_factor` of the inner optimizer, which fixes the scale, or "
        "`initial_scale` and a dynamic mode",
        {"loss_scale_factor": factor, "initial_scale": initial, "mode": mode},
    )
    return mode or "static", factor


def choose_interval(steps: int, interval: int | None) -> int:
    """Returns the growth interval, which has a name of Keras's and one of torch's."""
    if interval is None:
        return steps
    _expect(
        steps in {GROWTH_INTERVAL, interval},
        "`dynamic_growth_steps` or `growth_interval`: they are one thing",
        (steps, interval),
    )
    return interval


def _expect_one_of(name: str, value: Any, choices: tuple[str, ...]) -> None:
    _expect(value in choices, f"`{name}` to be one of {', '.join(choices)}", value)


def _expect(fine: bool, expected: str, received: Any) -> None:
    if not fine:
        raise UsageError(f"expected {expected}. Received: {received!r}.")
