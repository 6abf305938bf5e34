"""BH201: probabilities are computed in 16 bit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

from betterhalf.auditing.heads import squashing_of
from betterhalf.auditing.needs import OUTPUTS
from betterhalf.auditing.rule import Rule
from betterhalf.auditing.view import ModelView
from betterhalf.precision.facts import RESOLUTION, SIXTEEN_BIT
from betterhalf.records.audit import Finding


@final
class SixteenBitProbabilities(Rule):
    """## What it does
    Finds outputs of a model that a softmax or a sigmoid makes in float16 or bfloat16.

    ## Why is this bad?
    A probability near 1 is rounded to 1, and the gradient of a sample that is wrong
    with confidence is exactly zero: from a logit of 9 in float16, and of 7 in
    bfloat16. A cast behind it brings nothing back. On TensorFlow the stable
    cross-entropy that uses the logits is lost besides, so that the loss differs from
    the float32 one. Models of `keras.applications` end so under a mixed policy.

    ## Known problems
    Where the model's own code makes the output, the rule goes by the calls of softmax
    and sigmoid that are written in it.

    ## Example
    ```python
    import keras

    keras.config.set_dtype_policy("mixed_bfloat16")
    model = keras.Sequential(
        [keras.Input((4,)), keras.layers.Dense(3, activation="softmax")]
    )
    model.compile("adam", "categorical_crossentropy")
    ```

    ## Use instead
    ```python
    import keras

    keras.config.set_dtype_policy("mixed_bfloat16")
    model = keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.Dense(3, activation="softmax", dtype="float32"),
        ]
    )
    model.compile("adam", "categorical_crossentropy")
    ```

    ## References
    - [keras-team/keras-cv#752](https://github.com/keras-team/keras-cv/issues/752)
    - [tensorflow/tensorflow#34406](https://github.com/tensorflow/tensorflow/issues/34406)
    """

    code = "BH201"
    name = "sixteen-bit-probabilities"
    severity = "error"
    since = "0.1.0"
    kinds = ("K46", "K47", "K48")
    hint = 'give the last layer dtype="float32", or return logits from a float32 layer'
    cost = (
        "samples that are wrong with confidence teach nothing: their gradient is zero"
    )
    needs = (OUTPUTS,)

    def check(self, view: ModelView) -> Iterator[Finding]:
        """Yields a finding for each output."""
        for output in view.outputs:
            if output.dtype not in SIXTEEN_BIT:
                continue
            squashing = squashing_of(view, output)
            if squashing:
                yield self.finding(
                    output,
                    f"the output `{output.name}` is a {squashing} in {output.dtype}",
                    smallest_difference_from_1=RESOLUTION[output.dtype] / 2,
                )
