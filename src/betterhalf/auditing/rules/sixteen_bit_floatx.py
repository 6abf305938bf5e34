"""BH102: `floatx` is a 16-bit dtype."""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

from betterhalf.auditing.rule import Rule
from betterhalf.auditing.view import ModelView
from betterhalf.precision.facts import LARGEST, SIXTEEN_BIT
from betterhalf.records.audit import Finding


@final
class SixteenBitFloatx(Rule):
    """## What it does
    Finds `keras.config.set_floatx("float16")`, an old recipe for half precision, and
    the same with bfloat16.

    ## Why is this bad?
    `floatx` is the dtype of losses and metrics. In float16 the square of an error of
    300 is infinite already. Layers follow it only where no policy was set, and then
    with their weights.

    ## Known problems
    None.

    ## Example
    ```python
    import keras

    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    keras.config.set_floatx("float16")
    model.compile("adam", "mse")
    ```

    ## Use instead
    ```python
    import keras

    keras.config.set_dtype_policy("mixed_float16")
    model = keras.Sequential(
        [keras.Input((4,)), keras.layers.Dense(1, dtype="float32")]
    )
    model.compile("adam", "mse")
    ```

    ## References
    - [keras-team/keras#9582](https://github.com/keras-team/keras/issues/9582)
    - [tensorflow/tensorflow#38457](https://github.com/tensorflow/tensorflow/issues/38457)
    """

    code = "BH102"
    name = "sixteen-bit-floatx"
    severity = "error"
    since = "0.1.0"
    kinds = ("K13",)
    hint = "take `set_floatx` out, and set a policy that begins with `mixed_`"
    cost = "losses and metrics overflow or are rounded, whatever the layers compute in"

    def check(self, view: ModelView) -> Iterator[Finding]:
        """Yields one finding."""
        floatx = view.environment.floatx
        if floatx not in SIXTEEN_BIT:
            return
        line = next((e.at for e in reversed(view.events) if e.kind == "floatx"), None)
        yield self.finding(
            line,
            f"`keras.config.floatx()` is {floatx}, in which losses and metrics are "
            "computed",
            largest_squared_error=LARGEST[floatx],
        )
