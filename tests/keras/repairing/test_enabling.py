"""`enable` sets a policy that stays, and `disable` leaves no trace of it."""

import sys

import numpy as np
import pytest

import betterhalf
from betterhalf.errors import UsageError


@pytest.fixture(autouse=True)
def disabled(keras):
    yield
    betterhalf.disable()


def _state(keras):
    owners = [kind for kind in vars(keras.layers).values() if isinstance(kind, type)]
    owners += [
        *keras.Model.__mro__,
        *keras.optimizers.LossScaleOptimizer.__mro__,
        *keras.Variable.__mro__,
        keras.metrics.Metric,
        *(v for v in vars(keras.regularizers).values() if isinstance(v, type)),
    ]
    owners += [m for name, m in sys.modules.items() if name.startswith("keras") and m]
    return {
        (repr(owner), name): id(value)
        for owner in owners
        if "keras" in getattr(owner, "__module__", getattr(owner, "__name__", ""))
        for name, value in vars(owner).items()
    }


def test_disable_restores_every_attribute(keras):
    before = _state(keras)
    betterhalf.enable("mixed_float16")
    assert _state(keras) != before
    betterhalf.disable()
    after = _state(keras)
    assert [key for key in before if after.get(key) != before[key]] == []
    assert keras.config.dtype_policy().name == "float32"


def test_an_unknown_policy_changes_nothing(keras):
    before = _state(keras)
    with pytest.raises(UsageError, match=r"mixed_bfloat16.*Received: 'mixed16'"):
        betterhalf.enable("mixed16")
    assert _state(keras) == before


def test_auto_says_in_one_line_what_it_chose(keras, caplog):
    enabled = betterhalf.enable()
    assert keras.config.dtype_policy().name == enabled.policy
    assert [enabled.policy in record.message for record in caplog.records] == [True]
    assert enabled.choice.reason


def test_layers_that_exist_are_warned_of(keras):
    keras.layers.Dense(1)
    with pytest.warns(UserWarning, match="layers exist already"):
        betterhalf.enable("mixed_bfloat16")


def test_the_context_ends_with_the_block(keras):
    with betterhalf.enable("mixed_bfloat16"):
        keras.utils.clear_session()
        assert keras.config.dtype_policy().name == "mixed_bfloat16"
    assert keras.config.dtype_policy().name == "float32"


def test_repairs_are_listed_by_layer_with_the_reason(keras):
    betterhalf.enable("mixed_float16")
    model = keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.Dense(4),
            keras.layers.UnitNormalization(name="unit"),
            keras.layers.Dense(1, name="last"),
        ]
    )
    model.compile("adam", "mse")
    model.predict(np.ones((2, 4), "float32"), verbose=0)
    found = {repair.where: repair for repair in betterhalf.repairs(model)}
    assert found["sequential/last"].code == "float32-output"
    assert found["unit"].code == "float32-layer"
    assert found["unit"].reason


def _train(keras, policy):
    keras.utils.set_random_seed(4)
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((8,)),
            layers.Dense(16, dtype=policy),
            layers.BatchNormalization(dtype=policy),
            layers.Dropout(0.2, dtype=policy),
            layers.Dense(2, dtype="float32"),
        ]
    )
    model.compile(keras.optimizers.Adam(0.01), "mse")
    x = np.random.default_rng(0).normal(size=(64, 8)).astype("float32")
    model.fit(x, x[:, :2], epochs=2, batch_size=16, verbose=0)
    return model.get_weights()


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_a_model_that_needs_no_repair_trains_to_the_same_bits(keras, policy):
    plain, control = _train(keras, policy), _train(keras, policy)
    keras.utils.clear_session()
    betterhalf.enable("float32")
    enabled = _train(keras, policy)
    for first, second, third in zip(plain, control, enabled, strict=True):
        np.testing.assert_array_equal(first, second)
        np.testing.assert_array_equal(first, third)
