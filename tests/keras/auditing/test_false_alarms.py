"""Clean models of every shape: nothing above a note, on each backend and policy."""

import os

import numpy as np
import pytest
from clean_models import SHAPES, cnn

import betterhalf
from betterhalf.auditing.from_keras import read_model
from betterhalf.auditing.running import run_rules
from betterhalf.errors import UsageError


BACKEND = os.environ["KERAS_BACKEND"]
POLICIES = ("float32", "mixed_float16", "mixed_bfloat16")
SMALL = ("MobileNetV2", "ResNet50", "VGG16")
"""Those that are read fastest; the rest belong to the long tier."""

LARGE = (
    "ConvNeXtTiny",
    "DenseNet121",
    "EfficientNetB0",
    "EfficientNetV2B0",
    "InceptionResNetV2",
    "InceptionV3",
    "MobileNet",
    "MobileNetV3Small",
    "NASNetMobile",
    "ResNet50V2",
    "Xception",
)


def alarms(audit):
    return [each for each in audit.findings if each.severity != "note"]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_a_model_made_right_by_hand_is_clean(keras, shape, policy):
    keras.config.set_dtype_policy(policy)
    model, batch = shape(keras, dtype="float32")
    assert alarms(betterhalf.check(model, batch)) == []


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_a_model_made_right_by_enable_is_clean(keras, shape, policy):
    with betterhalf.enable(policy):
        model, batch = shape(keras)
        assert alarms(betterhalf.check(model, batch)) == []


def check_application(keras, family, policy):
    """Audits an application whose head is float32, compiled, with a batch."""
    if (family, BACKEND) == ("NASNetMobile", "torch"):
        pytest.skip("keras.applications refuses NASNetMobile on torch")
    keras.config.set_dtype_policy(policy)
    body = getattr(keras.applications, family)(
        weights=None, include_top=False, pooling="avg", input_shape=(96, 96, 3)
    )
    head = keras.layers.Dense(8, activation="softmax", dtype="float32")
    model = keras.Sequential([body, head])
    model.compile("adam", "categorical_crossentropy", metrics=["accuracy"])
    x = np.random.default_rng(0).uniform(0, 255, (2, 96, 96, 3)).astype("float32")
    view = read_model(keras, model, (x, np.eye(8)[:2]), traces_step=False)
    return alarms(run_rules(view))


@pytest.mark.parametrize("family", SMALL)
def test_applications_are_clean(keras, family):
    assert check_application(keras, family, "mixed_bfloat16") == []


@pytest.mark.long
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("family", [*SMALL, *LARGE])
def test_all_applications_are_clean(keras, family, policy):
    assert check_application(keras, family, policy) == []


def test_an_audit_leaves_a_model_as_it_was(keras):
    model, batch = cnn(keras, dtype="float32")
    model.fit(*batch, verbose=0)
    variables = [*model.variables, *model.optimizer.variables]
    before = [keras.ops.convert_to_numpy(each).copy() for each in variables]
    betterhalf.check(model, batch)
    after = [keras.ops.convert_to_numpy(each) for each in variables]
    assert all(map(np.array_equal, before, after))


def test_a_batch_that_no_precision_can_take_is_refused(keras):
    model, (x, y) = cnn(keras, dtype="float32")
    with pytest.raises(UsageError, match="Received: float32 \\(8, 16, 16, 2\\)"):
        betterhalf.check(model, (x[..., :2], y))
