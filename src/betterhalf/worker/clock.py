"""Times training steps without slowing them down.

The clock sits around the compiled train function, not in a callback: a batch callback
turns Keras's asynchronous dispatch off, or runs late on another thread. It waits for
the device at the ends of windows only, on that window's outputs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from betterhalf.records.training import Window


WINDOW_STEPS = 20
"""A window has at least so many steps, so that waiting at its end is cheap."""

WINDOW_SECONDS = 0.5
"""A window lasts at least so long: 10,000 times what reading the clock costs."""


class Limit:
    """When a training has gone on long enough.

    Args:
        steady_steps: steady steps after which a short training ends; absent for a full
            one.
        steady_seconds: and the steady seconds that it lasts at least.
        steps: cap in steps, the first one included.
    """

    def __init__(
        self,
        steady_steps: int | None = None,
        steady_seconds: float = 0.0,
        steps: int | None = None,
    ):
        self.steady_steps = steady_steps
        self.steady_seconds = steady_seconds
        self.steps = steps

    def is_steady_enough(self, steps: int, seconds: float) -> bool:
        """Whether so many steady steps in so many seconds fill a short training."""
        if self.steady_steps is None:
            return False
        return steps >= self.steady_steps and seconds >= self.steady_seconds


class Clock:
    """Counts and times the steps of one training.

    Args:
        synchronise: waits for the outputs that it is given.
        on_window: called with each closed window.
        on_first_step: called once, when the first step is done.
        on_limit: called once, when the limit is reached; it stops the training.
        limit: when that is.
        now: returns seconds; replaced in tests.

    Attributes:
        steps: training steps so far.
        epoch: index that windows are marked with.
    """

    def __init__(
        self,
        synchronise: Callable[[Any], None],
        on_window: Callable[[Window], None],
        on_first_step: Callable[[], None],
        on_limit: Callable[[], None],
        limit: Limit,
        now: Callable[[], float] = time.perf_counter,
    ):
        self.steps = 0
        self.epoch = 0
        self._synchronise = synchronise
        self._on_window = on_window
        self._on_first_step = on_first_step
        self._on_limit = on_limit
        self._limit = limit
        self._now = now
        self._started = False
        self._limited = False
        self._steady_steps = 0
        self._steady_seconds = 0.0
        self._outputs: Any = None
        self._window_steps = 0
        self._window_steady = True
        self._window_began = now()

    def begin_window(self) -> None:
        """Starts a window here; what lies before it belongs to no window."""
        self._window_began = self._now()
        self._window_steps = 0
        self._window_steady = True

    def count(self, steps: int, outputs: Any, traced: bool) -> None:
        """A call of the train function has returned.

        Args:
            steps: training steps in it.
            outputs: what it returned, to wait for.
            traced: it was compiled in this call, so the window is not steady.
        """
        self.steps += steps
        self._window_steps += steps
        self._outputs = outputs
        if traced:
            self._window_steady = False
        if not self._started:
            self._end_first_step()
        elif self._may_close():
            self._close_if_long_enough()
        if self._limit.steps is not None and self.steps >= self._limit.steps:
            self._reach_limit()

    def end_window(self) -> None:
        """Closes the window at the end of an epoch, however short it is."""
        if self._window_steps:
            self._close(self._waited())

    def _end_first_step(self) -> None:
        self._started = True
        self._window_steady = False
        self._close(self._waited())
        self._on_first_step()

    def _may_close(self) -> bool:
        if self._window_steps >= WINDOW_STEPS:
            return True
        wanted = self._limit.steady_steps
        return wanted is not None and self._window_steps + self._steady_steps >= wanted

    def _close_if_long_enough(self) -> None:
        seconds = self._now() - self._window_began
        is_long = self._window_steps >= WINDOW_STEPS and seconds >= WINDOW_SECONDS
        if is_long or self._fills_the_limit(seconds):
            self._close(self._waited())

    def _fills_the_limit(self, seconds: float) -> bool:
        return self._window_steady and self._limit.is_steady_enough(
            self._steady_steps + self._window_steps, self._steady_seconds + seconds
        )

    def _waited(self) -> float:
        self._synchronise(self._outputs)
        self._outputs = None
        return self._now()

    def _close(self, ended: float) -> None:
        window = Window(
            epoch=self.epoch,
            steps=self._window_steps,
            seconds=ended - self._window_began,
            steady=self._window_steady,
        )
        self._window_began = ended
        self._window_steps = 0
        self._window_steady = True
        if window.steady:
            self._steady_steps += window.steps
            self._steady_seconds += window.seconds
        self._on_window(window)
        if self._limit.is_steady_enough(self._steady_steps, self._steady_seconds):
            self._reach_limit()

    def _reach_limit(self) -> None:
        if not self._limited:
            self._limited = True
            self._on_limit()
