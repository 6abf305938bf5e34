"""On torch a step waits for the device once more than a step without loss scaling."""

import numpy as np
import pytest

import betterhalf


WAITING = {"tolist", "item", "cpu", "numpy", "__bool__", "__float__", "__int__"}


@pytest.fixture
def count(keras):
    """A function that counts the waits of one step, of which a model takes 8."""
    if keras.backend.backend() != "torch":
        pytest.skip("torch alone decides on the host")
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    class Calls(TorchFunctionMode):
        def __init__(self):
            super().__init__()
            self.waits = 0

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.waits += getattr(func, "__name__", "") in WAITING
            return func(*args, **(kwargs or {}))

    class Scalars(TorchDispatchMode):
        waits = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.waits += func.name() == "aten::_local_scalar_dense"
            return func(*args, **(kwargs or {}))

    def take_steps(optimizer, mode):
        variables = [keras.Variable(np.ones(3, "float32")) for _ in range(5)]
        gradients = [keras.ops.ones(3) for _ in variables]
        optimizer.apply(gradients, variables)
        with mode:
            for _ in range(8):
                optimizer.apply(gradients, variables)
        return mode.waits / 8

    return lambda make: max(
        take_steps(make(keras.optimizers.Adam()), mode()) for mode in (Calls, Scalars)
    )


def test_a_step_on_torch_waits_at_most_once_more_than_without(count, keras):
    alone = count(lambda inner: inner)
    assert count(betterhalf.LossScaleOptimizer) - alone == 1
    assert count(keras.optimizers.LossScaleOptimizer) - alone > 1
