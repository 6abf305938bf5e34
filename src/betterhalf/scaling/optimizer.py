"""`LossScaleOptimizer`: Keras's loss scaling, nearly free and without a way to ruin.

It is a subclass of Keras's class with Keras's variables in Keras's order, because Keras
drops the whole saved state of an optimizer when the count differs. So what is new is
kept in what Keras's class has and does not use:

- `iteration` of the wrapper itself (Keras counts with that of the inner optimizer)
  counts the steps that were skipped.
- `step_counter` is negative after bad steps and counts them.
- Whether a step was ever good is told by the iterations of the inner optimizer.

Keras's class reads all three without harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from betterhalf.backends import loss_scaling
from betterhalf.errors import UsageError
from betterhalf.precision.loss_scale import GROWTH_INTERVAL, PATIENCE
from betterhalf.scaling.options import (
    KEY,
    Mode,
    OnFailure,
    Options,
    choose_interval,
    choose_scale,
)
from betterhalf.scaling.state import ScaleState
from betterhalf.scaling.steps import Step
from betterhalf.scaling.telling import Teller, describe_failure


_Keras = keras.optimizers.LossScaleOptimizer


class LossScaleOptimizer(ScaleState, _Keras):
    """Scales the loss, so that float16 gradients do not underflow.

    It takes the place of `keras.optimizers.LossScaleOptimizer` and is one: the same
    methods with the same meaning, the same saved state. The differences are in
    `docs/loss-scaling.md`; the main ones are a floor and a ceiling of the scale, a fast
    search for the first scale that works, and an error when lowering it does not help.

    Args:
        inner_optimizer: a Keras optimizer, or on torch one of `torch.optim`. One with a
            `loss_scale_factor` gets a static scale of that factor.
        initial_scale: the scale of the first step; 2¹⁵ by default.
        dynamic_growth_steps: good steps in a row after which the scale is raised.
        name: of the optimizer.
        growth_interval: another name for `dynamic_growth_steps`.
        growth_factor: what the scale is then multiplied by.
        backoff_factor: what it is multiplied by after a bad step.
        floor: it never falls below; 2⁻¹⁴ by default, or a smaller `initial_scale`.
        ceiling: it never rises above; 2²⁴ by default, or a larger `initial_scale`.
        hysteresis: bad steps in a row that it takes to lower the scale.
        search_factor: what the scale is multiplied by after a bad step as long as no
            step was good.
        patience: bad steps in a row after which training has failed.
        on_failure: `raise` a `LossScaleError` then, or `warn`.
        mode: `dynamic`; `static`, a scale that never moves (steps with infinite
            gradients are skipped still); or `off`, which only passes on.
        kwargs: what Keras's class takes for the sake of old files.

    Raises:
        UsageError: options that make no sense.

    Example:

    >>> optimizer = betterhalf.LossScaleOptimizer(keras.optimizers.Adam(1e-3))
    >>> model.compile(optimizer, "mse")
    """

    # Serialization writes the class's module and name: under these a file opens with
    # Keras's class where this one is not installed, and with this one where it is
    # imported (it is registered under the bare name below).
    __module__ = "keras.optimizers"

    def __init__(
        self,
        inner_optimizer: Any,
        initial_scale: float | None = None,
        dynamic_growth_steps: int = GROWTH_INTERVAL,
        name: str | None = None,
        *,
        growth_interval: int | None = None,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        floor: float | None = None,
        ceiling: float | None = None,
        hysteresis: int = 1,
        search_factor: float = 2.0**-4,
        patience: int = PATIENCE,
        on_failure: OnFailure = "raise",
        mode: Mode | None = None,
        **kwargs: Any,
    ):
        adapter = loss_scaling.load(keras.backend.backend())
        inner_optimizer = adapter.adopt(inner_optimizer)
        factor = getattr(inner_optimizer, "loss_scale_factor", None)
        mode, initial = choose_scale(mode, initial_scale, factor)
        interval = choose_interval(dynamic_growth_steps, growth_interval)
        options = Options(
            mode=mode,
            growth_factor=growth_factor,
            backoff_factor=backoff_factor,
            floor=floor,
            ceiling=ceiling,
            hysteresis=hysteresis,
            search_factor=search_factor,
            patience=patience,
            on_failure=on_failure,
        )
        rule = options.rule(initial, interval)
        super().__init__(inner_optimizer, initial, interval, name=name, **kwargs)
        self.options = options
        self.rule = rule
        self.adapter = adapter
        self.teller = Teller(patience, on_failure)
        self.complaint = describe_failure(patience) if on_failure == "raise" else None

    @classmethod
    def for_policy(
        cls, inner_optimizer: Any, policy: Any = None, **options: Any
    ) -> LossScaleOptimizer:
        """Returns an optimizer that scales if the policy needs it, and else passes on.

        A training loop then is the same for every policy.

        Args:
            inner_optimizer: a Keras optimizer.
            policy: a Keras dtype policy or its name; the global one by default.
            options: of the class; `mode` decides by itself where it is given.

        Example:

        >>> keras.mixed_precision.set_global_policy("mixed_bfloat16")
        >>> betterhalf.LossScaleOptimizer.for_policy(keras.optimizers.Adam()).mode
        'off'
        """
        policy = keras.dtype_policies.get(policy or keras.config.dtype_policy())
        if policy.compute_dtype != "float16":
            options.setdefault("mode", "off")
        return cls(inner_optimizer, **options)

    @property
    def variables(self) -> list[Any]:
        """The state: Keras's list in Keras's order."""
        self.check()
        return self._list_variables()

    def scale_loss(self, loss: Any) -> Any:
        """Returns the loss to take gradients of.

        Args:
            loss: a tensor.
        """
        if self.mode == "off":
            return loss
        scale = self.current_scale() if self.built else self.initial_scale
        return ops.multiply(loss, scale)

    def apply(self, grads: Sequence[Any], trainable_variables: Any = None) -> None:
        """Takes a step, or skips it if a gradient is not finite.

        Args:
            grads: of the scaled loss; `None` where there is none.
            trainable_variables: one for each gradient, or `None` for all of those that
                the optimizer was built with.

        Raises:
            LossScaleError: `patience` steps in a row were bad. Inside a compiled
                function it cannot; see `check`.
        """
        if trainable_variables is not None:
            trainable_variables = list(trainable_variables)
        if not self.built:
            with keras.name_scope(self.name, caller=self):
                self.build(trainable_variables)
        if self.mode == "off":
            self.inner_optimizer.apply(grads, trainable_variables)
        else:
            self.adapter.take(Step(self, list(grads), trainable_variables))

    def step(self) -> None:
        """Takes a step of a `torch.optim` optimizer on the `grad` of its parameters.

        Raises:
            UsageError: the inner optimizer is Keras's, which takes `apply`.
            LossScaleError: as `apply` does.

        Example:

        >>> optimizer = betterhalf.LossScaleOptimizer(torch.optim.Adam(parameters))
        >>> optimizer.scale_loss(loss).backward()
        >>> optimizer.step()
        """
        parameters = getattr(self.inner_optimizer, "parameters", None)
        if parameters is None:
            raise UsageError(
                "expected an optimizer of torch.optim inside. Received: "
                f"{type(self.inner_optimizer).__name__}. Call `apply(gradients, "
                "variables)` instead."
            )
        self.apply([parameter.grad for parameter in parameters], parameters)

    def stateless_apply(
        self, optimizer_variables: Any, grads: Any, trainable_variables: Any
    ) -> tuple[Any, Any]:
        """Takes a step on tensors instead of variables; not with TensorFlow.

        Returns:
            The new trainable variables and the new optimizer variables.
        """
        # past Keras's wrapper, to the method that calls `apply` in a scope
        return super(_Keras, self).stateless_apply(
            optimizer_variables, grads, trainable_variables
        )

    def apply_gradients(self, grads_and_vars: Any) -> Any:
        """See `apply`; returns the iterations."""
        grads, trainable_variables = zip(*grads_and_vars, strict=True)
        self.apply(grads, trainable_variables)
        return self.inner_optimizer._iterations

    def check(self) -> None:
        """Raises, or warns, if training has failed.

        A step in a compiled function of JAX or XLA cannot raise. This can, anywhere
        outside of such a function; the optimizer itself calls it whenever its variables
        are listed (JAX's `fit` does, as each epoch begins) and where `fit` ends.

        Raises:
            LossScaleError: `patience` steps in a row, or more, were bad.
        """
        counter = self.adapter.read_now(self.step_counter) if self.built else None
        if counter is not None:
            self.teller.complain(max(-int(counter), 0))

    def finalize_variable_values(self, var_list: Any) -> None:
        """Ends a training, as `fit` does: says what was skipped, and checks."""
        super().finalize_variable_values(var_list)
        if self.mode != "off":
            steps = self.adapter.read_now(self.inner_optimizer._iterations) or 0
            self.teller.sum_up(int(steps), self.skipped_steps, self.loss_scale)
            self.check()

    def get_config(self) -> dict[str, Any]:
        """Returns a config that Keras's class takes too."""
        config = super().get_config()
        config["inner_optimizer"][KEY] = self.options.config()
        return config

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: Any = None
    ) -> LossScaleOptimizer:
        """Returns an optimizer from a config of this class or of Keras's."""
        inner = dict(config["inner_optimizer"])
        options = inner.pop(KEY, {})
        inner = keras.saving.deserialize_keras_object(inner, custom_objects)
        rest = {key: config[key] for key in config if key != "inner_optimizer"}
        return cls(inner, **rest, **options)


keras.saving.get_custom_objects()["LossScaleOptimizer"] = LossScaleOptimizer
