"""BH301: float16 layers are trained without loss scaling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

from betterhalf.auditing.needs import OPTIMIZER
from betterhalf.auditing.rule import Rule
from betterhalf.auditing.view import ModelView, OptimizerView
from betterhalf.precision.facts import SMALLEST
from betterhalf.records.audit import Finding


@final
class UnscaledFloat16(Rule):
    """## What it does
    Finds trainable layers that compute in float16 under an optimizer that scales no
    loss.

    ## Why is this bad?
    A gradient below 6e-8 is zero in float16, and many are: the first layers of a
    network may not move at all. `compile` wraps the optimizer in a
    `LossScaleOptimizer` only if the policy of the model object is called exactly
    `mixed_float16`. It does not for layers that were given the policy one by one, for a
    subclassed model under float32, for a `DTypePolicyMap`, for a model that was loaded
    while the global policy was float32, or for optimizers that a `compile` of your own
    takes.

    ## Known problems
    Where every gradient happens to be large, nothing is lost. bfloat16 needs no
    scaling, and is not looked at.

    ## Example
    ```python
    import keras

    model = keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.Dense(8, dtype="mixed_float16"),
            keras.layers.Dense(1),
        ]
    )
    model.compile("adam", "mse")
    ```

    ## Use instead
    ```python
    import keras

    model = keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.Dense(8, dtype="mixed_float16"),
            keras.layers.Dense(1),
        ]
    )
    adam = keras.optimizers.Adam()
    model.compile(keras.optimizers.LossScaleOptimizer(adam), "mse")
    ```

    ## References
    - [keras-team/keras#19244](https://github.com/keras-team/keras/issues/19244)
    - [tensorflow/tensorflow#59826](https://github.com/tensorflow/tensorflow/issues/59826)
    """

    code = "BH301"
    name = "unscaled-float16"
    severity = "error"
    since = "0.1.0"
    kinds = ("K15", "K16", "K17", "K18", "K20")
    hint = (
        "wrap the optimizer in `betterhalf.LossScaleOptimizer`, and in a train step of "
        "your own call its `scale_loss`"
    )
    cost = "gradients below 6e-8 become zero, and layers stop learning"
    needs = (OPTIMIZER,)

    def check(self, view: ModelView) -> Iterator[Finding]:
        """Yields a finding for each optimizer in use that scales nothing."""
        float16 = [
            layer
            for layer in view.layers
            if layer.compute_dtype == "float16"
            and any(weight.trainable for weight in layer.weights)
        ]
        if not float16:
            return
        for optimizer in view.optimizers:
            if not optimizer.scales and self._is_used(view, optimizer):
                yield self.finding(
                    None,
                    f"`{optimizer.attribute}` ({optimizer.class_name}) trains "
                    f"{len(float16)} layers that compute in float16, such as "
                    f"`{float16[0].path}`, and scales no loss",
                    layers=len(float16),
                    smallest_gradient=SMALLEST["float16"],
                )

    def _is_used(self, view: ModelView, optimizer: OptimizerView) -> bool:
        if view.step is not None and view.step.applied:
            return optimizer.attribute in view.step.applied
        if view.train_step is None or view.train_step.calls_super:
            return optimizer.compiled
        named = {each.removeprefix("self.") for each in view.train_step.applied}
        return not named or optimizer.attribute in named
