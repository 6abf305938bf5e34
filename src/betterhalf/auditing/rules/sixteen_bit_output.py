"""BH202: an output that is no probability leaves the model in 16 bit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

from betterhalf.auditing.heads import squashing_of
from betterhalf.auditing.needs import OUTPUTS
from betterhalf.auditing.rule import Rule
from betterhalf.auditing.view import ModelView
from betterhalf.precision.facts import LARGEST, SIXTEEN_BIT
from betterhalf.records.audit import Finding


@final
class SixteenBitOutput(Rule):
    """## What it does
    Finds logits and other values that leave the model in float16 or bfloat16.

    ## Why is this bad?
    The losses of `compile` cast them to float32, so training is mostly right. But
    `predict` returns 16-bit arrays: the mean of 70,000 ones in bfloat16 is 0.004 in
    NumPy, and the sum of 210,000 in float16 infinite.

    ## Known problems
    A note, because nothing may be wrong; other rules find what is.

    ## Example
    ```python
    import keras

    keras.config.set_dtype_policy("mixed_bfloat16")
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    ```

    ## Use instead
    ```python
    import keras

    keras.config.set_dtype_policy("mixed_bfloat16")
    model = keras.Sequential(
        [keras.Input((4,)), keras.layers.Dense(1, dtype="float32")]
    )
    model.compile("adam", "mse")
    ```

    ## References
    - [jax-ml/ml_dtypes#63](https://github.com/jax-ml/ml_dtypes/issues/63)
    - [numpy/numpy#22208](https://github.com/numpy/numpy/issues/22208)
    """

    code = "BH202"
    name = "sixteen-bit-output"
    severity = "note"
    since = "0.1.0"
    kinds = ("K55", "K56")
    hint = 'give the last layer dtype="float32", or cast what `predict` returns'
    cost = "NumPy sums and averages of predictions overflow or stand still"
    needs = (OUTPUTS,)

    def check(self, view: ModelView) -> Iterator[Finding]:
        """Yields a finding for each output that is no probability."""
        for output in view.outputs:
            if output.dtype in SIXTEEN_BIT and not squashing_of(view, output):
                yield self.finding(
                    output,
                    f"the output `{output.name}` leaves the model in {output.dtype}",
                    largest=LARGEST[output.dtype],
                )
