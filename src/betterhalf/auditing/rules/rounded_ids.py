"""BH203: ids reach an `Embedding` after a cast to 16 bit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

from betterhalf.auditing.needs import OBSERVED
from betterhalf.auditing.rule import Rule
from betterhalf.auditing.view import LayerView, ModelView
from betterhalf.precision.facts import EXACT_INTEGERS, SIXTEEN_BIT
from betterhalf.records.audit import Finding, Severity


_LOOKS_UP = (
    *("Embedding", "IntegerLookup", "CategoryEncoding"),
    *("Hashing", "HashedCrossing", "Discretization"),
)


@final
class RoundedIds(Rule):
    """## What it does
    Finds layers that look up ids, such as `Embedding`, and get them in float16 or
    bfloat16: behind a `Sequential` without `Input`, through the door of a subclassed
    model, or through a `Reshape`, `Lambda` or `Concatenate`.

    ## Why is this bad?
    Every layer under a mixed policy casts the floats that it gets, layers that only
    move them too, and a `Sequential` without an `Input` makes one of the dtype that its
    first layer computes in. Ids above 2048 in float16, and above 256 in bfloat16, then
    read the row of a neighbour; above 65504 they are infinite. The model trains, and is
    worse.

    ## Known problems
    Where no id can be that large, nothing is wrong yet: then it is a note.

    ## Example
    ```python
    import keras
    import numpy as np

    keras.config.set_dtype_policy("mixed_float16")
    model = keras.Sequential(
        [
            keras.layers.Embedding(5000, 4),
            keras.layers.Flatten(),
            keras.layers.Dense(1, dtype="float32"),
        ]
    )
    model.compile("adam", "mse")
    model.fit(np.array([[3001], [17]]), np.ones((2, 1)))
    ```

    ## Use instead
    ```python
    import keras
    import numpy as np

    keras.config.set_dtype_policy("mixed_float16")
    model = keras.Sequential(
        [
            keras.Input((1,), dtype="int32"),
            keras.layers.Embedding(5000, 4),
            keras.layers.Flatten(),
            keras.layers.Dense(1, dtype="float32"),
        ]
    )
    model.compile("adam", "mse")
    model.fit(np.array([[3001], [17]]), np.ones((2, 1)))
    ```

    ## References
    - [keras-team/keras#19332](https://github.com/keras-team/keras/issues/19332)
    """

    code = "BH203"
    name = "rounded-ids"
    severity = "error"
    since = "0.1.0"
    kinds = ("K01", "K07", "K08")
    hint = (
        'feed ids as integers, through `keras.Input(..., dtype="int32")`, and let no '
        "layer under a 16-bit policy touch them first"
    )
    cost = "other rows are looked up than were meant; the model is silently worse"
    needs = (OBSERVED,)

    def check(self, view: ModelView) -> Iterator[Finding]:
        """Yields a finding for each layer that looks up rounded ids."""
        for layer in view.layers_of(*_LOOKS_UP):
            dtype = next(
                (t.dtype for t in layer.inputs if t.dtype in SIXTEEN_BIT), None
            )
            if dtype is None:
                continue
            exact, largest = EXACT_INTEGERS[dtype], self._largest(layer, view)
            yield self.finding(
                layer,
                f"`{layer.class_name}` gets its ids in {dtype}, which is exact up to "
                f"{exact:,}",
                severity=self._by_size(largest, exact),
                exact_up_to=exact,
                largest_id=largest,
            )

    def _largest(self, layer: LayerView, view: ModelView) -> float | None:
        """Returns the largest id that there can be, as far as it is known."""
        size = layer.config.get("input_dim") or layer.config.get("num_tokens")
        seen = [array.largest for array in view.inputs if array.integral]
        if isinstance(size, int):
            return float(size - 1)
        return max(seen, default=None)

    def _by_size(self, largest: float | None, exact: int) -> Severity:
        if largest is None:
            return "warning"
        return "error" if largest > exact else "note"
