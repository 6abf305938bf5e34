"""What the variables of the wrapper say: its scale, its counters, what is saved."""

from __future__ import annotations

from typing import Any

from keras import ops

from betterhalf.precision.loss_scale import LossScaleRule
from betterhalf.scaling.options import Mode, Options


class ScaleState:
    """The readings of a `LossScaleOptimizer`.

    Attributes:
        options: what the user chose.
        rule: how the scale moves.
        adapter: what the backend does in its own way.
    """

    options: Options
    rule: LossScaleRule
    adapter: Any
    inner_optimizer: Any
    dynamic_scale: Any
    initial_scale: float
    built: bool
    _iterations: Any
    _variables: list[Any]

    @property
    def mode(self) -> Mode:
        """`dynamic`, `static` or `off`."""
        return self.options.mode

    @property
    def skips(self) -> Any:
        """The variable that counts skipped steps."""
        return self._iterations

    @property
    def own_variables(self) -> list[Any]:
        """The variables of the wrapper alone."""
        return self._variables

    @property
    def skipped_steps(self) -> int:
        """How many steps were skipped so far; on JAX in `fit`, up to the last epoch."""
        return int(self.adapter.read_now(self.skips) or 0)

    @property
    def loss_scale(self) -> float:
        """What the loss is multiplied by now; on JAX in `fit`, after the last epoch."""
        if self.mode == "off":
            return 1.0
        scale = self.adapter.read_now(self.dynamic_scale) if self.built else None
        return self.rule.clip(self.initial_scale if scale is None else scale)

    def _list_variables(self) -> list[Any]:
        return self._variables + self.inner_optimizer.variables

    def save_own_variables(self, store: Any) -> None:
        """Saves the state; never a place to complain, for it is what gets saved."""
        for index, variable in enumerate(self._list_variables()):
            store[str(index)] = variable.numpy()

    def current_scale(self) -> Any:
        """Returns the scale as a tensor; a state of Keras's may hold 0 or infinity."""
        return ops.clip(self.dynamic_scale.value, self.rule.floor, self.rule.ceiling)
