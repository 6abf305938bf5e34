"""Tells which compiled functions of a script hold an optimizer step.

The step's Python code runs while such a function is traced. A call during which a step
was noted marks its function; from then on each of its calls is a training step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class StepCalls:
    """Counts steps and calls, the outermost function only.

    Attributes:
        stepped: called with the outputs of each call that took a step, and whether the
            step was traced in that call.
    """

    def __init__(self):
        self.stepped: Callable[[Any, bool], None] = lambda outputs, traced: None
        self._noted = 0
        self._depth = 0
        self._training: set[int] = set()

    def note(self, outputs: Any) -> None:
        """An optimizer step has run its Python code and returned `outputs`."""
        if self._depth:
            self._noted += 1
        else:
            self.stepped(outputs, False)  # eager: outside any compiled function

    def call(self, key: int, function: Callable[[], Any]) -> Any:
        """Runs `function` as the compiled function `key` and returns its outputs."""
        noted = self._noted
        self._depth += 1
        try:
            outputs = function()
        finally:
            self._depth -= 1
        traced = self._noted != noted
        if traced:
            self._training.add(key)
        if self._depth == 0 and key in self._training:
            self.stepped(outputs, traced)
        return outputs
