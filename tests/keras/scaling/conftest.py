"""Ways to take steps, and weights to take them on."""

import numpy as np
import pytest


@pytest.fixture
def keras():
    """Keras with its policy put back; to clear its session takes half a second."""
    import keras as module

    yield module
    module.config.set_dtype_policy("float32")


def make_variables(keras, *values):
    return [keras.Variable(np.asarray(value, "float32")) for value in values]


class Trainer:
    """Takes steps eagerly, or inside a compiled function of the backend."""

    def __init__(self, keras, optimizer, variables, way):
        optimizer.build(variables)
        self.keras, self.optimizer, self.variables = keras, optimizer, variables
        self._apply = self._compile() if way == "compiled" else self._apply_at_once

    def step(self, *gradients):
        tensors = [
            each
            if each is None or not isinstance(each, (np.ndarray, list))
            else self.keras.ops.convert_to_tensor(np.asarray(each, "float32"))
            for each in gradients
        ]
        self._apply(tensors)

    def _apply_at_once(self, gradients):
        # without variables Keras's class of 3.10 takes no step, and does not say so
        self.optimizer.apply(gradients, self.variables)

    def _compile(self):
        backend = self.keras.backend.backend()
        if backend == "tensorflow":
            import tensorflow as tf

            return tf.function(self._apply_at_once)
        if backend == "torch":
            return self._apply_at_once  # its decision is on the host either way
        import jax

        stateless = jax.jit(self.optimizer.stateless_apply)

        def apply(gradients):
            state = self.optimizer.variables
            new_weights, new_state = stateless(
                [v.value for v in state], gradients, [v.value for v in self.variables]
            )
            for variable, value in zip(
                [*self.variables, *state], [*new_weights, *new_state], strict=True
            ):
                variable.assign(value)

        return apply

    def everything(self):
        """All that a step may touch: weights, then the inner optimizer's state."""
        state = [*self.variables, *self.optimizer.inner_optimizer.variables]
        return [np.array(self.keras.ops.convert_to_numpy(each)) for each in state]


@pytest.fixture(params=["eager", "compiled"])
def trainer(keras, request):
    """A function that makes a `Trainer`."""

    def make(optimizer, *values):
        return Trainer(keras, optimizer, make_variables(keras, *values), request.param)

    return make
