"""What `enable` sees of loops of torch's, and what it leaves to an arm of `compare`."""

import os
import warnings

import numpy as np
import pytest

import betterhalf
from betterhalf.keras_seams import Listener, install


@pytest.fixture(autouse=True)
def disabled(keras):
    yield
    betterhalf.disable()


def _step(keras, policy, scaler=False):
    """Returns what is said in two steps of a native loop."""
    import torch

    betterhalf.disable()
    keras.utils.clear_session()
    betterhalf.enable(policy)
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.add(keras.layers.Dense(1))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    scaling = torch.amp.GradScaler("cpu", enabled=scaler)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(2):
            loss = model(np.ones((2, 2), "float32")).float().sum()
            scaling.scale(loss).backward()
            if scaler:
                scaling.step(optimizer)
                scaling.update()
            else:
                optimizer.step()
    return [str(each.message) for each in said if "torch.optim" in str(each.message)]


only_torch = pytest.mark.skipif(
    os.environ["KERAS_BACKEND"] != "torch", reason="a loop of torch's"
)


@only_torch
def test_a_native_loop_that_scales_nothing_is_told_once(keras):
    said = _step(keras, "mixed_float16")
    assert len(said) == 1
    assert "scale_loss" in said[0]


@only_torch
def test_a_native_loop_under_a_scaler_or_without_float16_is_not_told(keras):
    assert _step(keras, "mixed_float16", scaler=True) == []
    assert _step(keras, "mixed_bfloat16") == []


@only_torch
def test_disable_takes_the_hook_of_torch_out(keras):
    from torch.optim import optimizer

    before = len(optimizer._global_optimizer_pre_hooks)
    betterhalf.enable("mixed_float16")
    assert len(optimizer._global_optimizer_pre_hooks) == before + 1
    betterhalf.disable()
    assert len(optimizer._global_optimizer_pre_hooks) == before


def test_an_arm_keeps_its_policy_and_stays_unrepaired(keras):
    heard = []

    class Arm(Listener):
        def on_policy(self, name):
            heard.append(name)
            return "mixed_bfloat16"

    arm = install(keras, [Arm()])
    try:
        enabled = betterhalf.enable("mixed_float16")
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        assert heard == ["mixed_float16"]
        assert enabled.policy == keras.config.dtype_policy().name == "mixed_bfloat16"
        assert model.layers[-1].compute_dtype == "bfloat16"
        assert betterhalf.repairs(model) == ()
    finally:
        arm.remove()
