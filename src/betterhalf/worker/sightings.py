"""What passes by while steps are traced: outputs, optimizers, scaled losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from betterhalf.backends import Backend


class Sightings:
    """Remembers what was seen of models and optimizers.

    Args:
        keras: the imported module.
        backend: its adapter.

    Attributes:
        applies: how often the Python code of an optimizer step has run.
        optimizer: the last one whose step ran.
        model: the last model that was called from outside any other.
        scaled: ids of the optimizers whose loss was scaled.
    """

    def __init__(self, keras: Any, backend: Backend):
        self.applies = 0
        self.optimizer: Any = None
        self.model: Any = None
        self.scaled: set[int] = set()
        self._keras = keras
        self._backend = backend
        self._inside = False
        self._dtypes: dict[int, tuple[str, ...]] = {}

    def call(self, model: Any, stateless: bool, proceed: Callable[[], Any]) -> Any:
        """Runs a model's call and looks at the dtypes of what it returns."""
        if self._inside:
            return proceed()
        self._inside = True
        try:
            result = proceed()
        finally:
            self._inside = False
        if id(model) in self._dtypes:
            return result
        outputs = self._keras.tree.flatten(result[0] if stateless else result)
        if not all(map(self._backend.has_values, outputs)):
            return result
        self.model = model
        self._dtypes[id(model)] = tuple(
            self._keras.backend.standardize_dtype(output.dtype)
            for output in outputs
            if hasattr(output, "dtype")
        )
        return result

    def output_dtypes(self, model: Any) -> tuple[str, ...]:
        """Returns the dtypes that a model was seen to return; none if never called."""
        return self._dtypes.get(id(model), ())

    def forget(self, model: Any) -> None:
        """Looks at the outputs of a model anew at its next call."""
        self._dtypes.pop(id(model), None)
