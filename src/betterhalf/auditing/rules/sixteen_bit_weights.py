"""BH101: weights stored in 16 bit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

from betterhalf.auditing.rule import Rule
from betterhalf.auditing.view import ModelView
from betterhalf.precision.facts import RESOLUTION, SIXTEEN_BIT
from betterhalf.records.audit import Finding


@final
class SixteenBitWeights(Rule):
    """## What it does
    Finds weights that are stored in float16 or bfloat16, as under the policies
    `float16` and `bfloat16`, whose names lack the `mixed_`.

    ## Why is this bad?
    A step of training changes a weight by a small part of its size. In bfloat16 a
    change below 1/256 of the weight is lost when it is added, in float16 one below
    1/2048, and the moments of the optimizer are rounded likewise. The loss stalls.
    `mixed_bfloat16` and `mixed_float16` compute in 16 bit too, at the same speed, and
    keep the weights in float32. Nor does `compile` scale the loss under `float16`.

    ## Known problems
    A model that is only used for inference may have 16-bit weights on purpose; where
    the model is not compiled, this is a warning.

    ## Example
    ```python
    import keras

    keras.config.set_dtype_policy("bfloat16")
    last = keras.layers.Dense(1, dtype="float32")
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8), last])
    model.compile("adam", "mse")
    ```

    ## Use instead
    ```python
    import keras

    keras.config.set_dtype_policy("mixed_bfloat16")
    last = keras.layers.Dense(1, dtype="float32")
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8), last])
    model.compile("adam", "mse")
    ```

    ## References
    - [keras-team/keras#11860](https://github.com/keras-team/keras/issues/11860)
    - [tensorflow/tensorflow#37926](https://github.com/tensorflow/tensorflow/issues/37926)
    """

    code = "BH101"
    name = "sixteen-bit-weights"
    severity = "error"
    since = "0.1.0"
    kinds = ("K12",)
    hint = (
        "set a policy that begins with `mixed_`, and load the weights again in float32"
    )
    cost = "small updates are rounded away: training stalls at a higher loss"

    def check(self, view: ModelView) -> Iterator[Finding]:
        """Yields one finding a dtype, for the first layer that has it."""
        for dtype in SIXTEEN_BIT:
            layers = [
                layer
                for layer in view.layers
                if any(w.dtype == dtype and w.trainable for w in layer.weights)
            ]
            if layers:
                yield self.finding(
                    layers[0],
                    f"the weights of {len(layers)} layers are stored in {dtype}, under "
                    f"the policy `{layers[0].policy}`",
                    severity=None if view.compiled else "warning",
                    layers=len(layers),
                    relative_change_lost=RESOLUTION[dtype] / 2,
                )
