"""BH302: a training step of the user's own never scales its loss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

from betterhalf.auditing.rule import Rule
from betterhalf.auditing.sources import Place
from betterhalf.auditing.view import ModelView, TrainStepView
from betterhalf.records.audit import Finding


_TAKES = ("gradient", "backward", "value_and_grad", "grad", "minimize")


@final
class UnscaledTrainStep(Rule):
    """## What it does
    Finds a `train_step` or a training loop of your own whose optimizer scales losses,
    and that never calls `optimizer.scale_loss`.

    ## Why is this bad?
    A `LossScaleOptimizer` divides every gradient by its scale, whether or not the loss
    was multiplied by it. Without the call the steps of SGD are 32,768 times too small,
    those of Adam lose precision, and small gradients are zero all the same.

    ## Known problems
    Where no step can be traced, it goes by the source of the step and of the functions
    of yours that it calls; a loss that is scaled elsewhere is not seen there.

    ## Example
    ```python
    import keras
    import numpy as np


    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.first = keras.layers.Dense(8)
            self.last = keras.layers.Dense(1, dtype="float32")

        def call(self, x):
            return self.last(self.first(x))

        def stateless_loss(self, trainable, fixed, x, y):
            prediction, fixed = self.stateless_call(trainable, fixed, x)
            return keras.losses.MeanSquaredError()(y, prediction), fixed

        def train_step(self, *given):
            x, y = given[-1]
            if keras.backend.backend() == "tensorflow":
                import tensorflow as tf

                with tf.GradientTape() as tape:
                    loss = self.compute_loss(x, y, self(x))
                gradients = tape.gradient(loss, self.trainable_variables)
                self.optimizer.apply(gradients, self.trainable_variables)
                return {"loss": loss}
            if keras.backend.backend() == "torch":
                self.zero_grad()
                loss = self.compute_loss(x, y, self(x))
                loss.backward()
                gradients = [v.value.grad for v in self.trainable_variables]
                self.optimizer.apply(gradients, self.trainable_variables)
                return {"loss": loss}
            import jax

            trainable, fixed, slots, metrics = given[0]
            (loss, fixed), gradients = jax.value_and_grad(
                self.stateless_loss, has_aux=True
            )(trainable, fixed, x, y)
            trainable, slots = self.optimizer.stateless_apply(
                slots, gradients, trainable
            )
            return {"loss": loss}, (trainable, fixed, slots, metrics)


    keras.config.set_dtype_policy("mixed_float16")
    model = Own()
    model.compile("sgd", "mse")
    model.fit(np.ones((4, 2)), np.ones((4, 1)))
    ```

    ## Use instead
    ```python
    import keras
    import numpy as np


    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.first = keras.layers.Dense(8)
            self.last = keras.layers.Dense(1, dtype="float32")

        def call(self, x):
            return self.last(self.first(x))

        def stateless_loss(self, trainable, fixed, slots, x, y):
            prediction, fixed = self.stateless_call(trainable, fixed, x)
            loss = keras.losses.MeanSquaredError()(y, prediction)
            with keras.StatelessScope(zip(self.optimizer.variables, slots)):
                loss = self.optimizer.scale_loss(loss)
            return loss, fixed

        def train_step(self, *given):
            x, y = given[-1]
            if keras.backend.backend() == "tensorflow":
                import tensorflow as tf

                with tf.GradientTape() as tape:
                    loss = self.compute_loss(x, y, self(x))
                    scaled = self.optimizer.scale_loss(loss)
                gradients = tape.gradient(scaled, self.trainable_variables)
                self.optimizer.apply(gradients, self.trainable_variables)
                return {"loss": loss}
            if keras.backend.backend() == "torch":
                self.zero_grad()
                loss = self.compute_loss(x, y, self(x))
                self.optimizer.scale_loss(loss).backward()
                gradients = [v.value.grad for v in self.trainable_variables]
                self.optimizer.apply(gradients, self.trainable_variables)
                return {"loss": loss}
            import jax

            trainable, fixed, slots, metrics = given[0]
            (loss, fixed), gradients = jax.value_and_grad(
                self.stateless_loss, has_aux=True
            )(trainable, fixed, slots, x, y)
            trainable, slots = self.optimizer.stateless_apply(
                slots, gradients, trainable
            )
            return {"loss": loss}, (trainable, fixed, slots, metrics)


    keras.config.set_dtype_policy("mixed_float16")
    model = Own()
    model.compile("sgd", "mse")
    model.fit(np.ones((4, 2)), np.ones((4, 1)))
    ```

    ## References
    - [keras-team/keras#19479](https://github.com/keras-team/keras/issues/19479)
    - [keras-team/keras#20894](https://github.com/keras-team/keras/issues/20894)
    """

    code = "BH302"
    name = "unscaled-train-step"
    severity = "error"
    since = "0.1.0"
    kinds = ("K21",)
    hint = "add `loss = optimizer.scale_loss(loss)` before the gradients are taken"
    cost = "every step is as many times too small as the loss scale, at first 32,768"

    def check(self, view: ModelView) -> Iterator[Finding]:
        """Yields a finding for each optimizer whose loss nobody scales."""
        for optimizer in view.optimizers:
            if optimizer.wrapper and optimizer.attribute in self._unscaled(view):
                scale = optimizer.scale or optimizer.config.get("initial_scale")
                yield self.finding(
                    self._line(view.train_step),
                    f"the loss is never scaled for `{optimizer.attribute}`, which "
                    "divides its gradients by the loss scale",
                    loss_scale=scale or None,
                )

    def _unscaled(self, view: ModelView) -> set[str]:
        """Returns the optimizers that take steps on losses that were not scaled."""
        if view.step is not None and view.step.applied:
            return set(view.step.applied) - set(view.step.scaled)
        step = view.train_step
        if step is None or step.calls_super or not step.takes_gradients:
            return set()
        if step.scaled:  # each optimizer may go by another name there
            applied = set(step.applied) - set(step.scaled)
        else:
            applied = set(step.applied) or {"self.optimizer"}
        return {each.removeprefix("self.") for each in applied}

    def _line(self, step: TrainStepView | None) -> Place | None:
        if step is None:
            return None
        takes = next(step.code.calls_named(*_TAKES), None)
        return takes or next(iter(step.code.functions), None)
