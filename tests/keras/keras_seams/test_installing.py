"""Listeners hear what Keras does, and Keras is exactly itself again afterwards."""

import sys
import types

import pytest

from betterhalf.errors import BetterhalfError
from betterhalf.keras_seams import Listener, install


class Recorder(Listener):
    def __init__(self):
        self.heard = []

    def around_compile(self, model, arguments, proceed):
        self.heard.append(("compile", sorted(arguments)))
        return proceed()

    def around_fit(self, model, arguments, proceed):
        self.heard.append(("fit", arguments.get("epochs")))
        return proceed()

    def around_evaluate(self, model, arguments, proceed):
        self.heard.append("evaluate")
        return proceed()

    def around_train_on_batch(self, model, arguments, proceed):
        self.heard.append("train_on_batch")
        return proceed()

    def around_call(self, model, stateless, proceed):
        self.heard.append("call")
        return proceed()

    def around_apply(self, step, proceed):
        self.heard.append(("apply", type(step.optimizer).__name__))
        return proceed()

    def on_scale_loss(self, optimizer):
        self.heard.append(("scale_loss", type(optimizer).__name__))

    def on_policy(self, name):
        self.heard.append(("policy", name))

    def after_clear_session(self):
        self.heard.append("clear_session")


def _state(keras):
    """Every attribute of Keras that could be patched, by identity."""
    owners = {
        f"{kind.__module__}.{kind.__qualname__}": kind
        for kind in (
            *keras.Model.__mro__,
            *keras.optimizers.LossScaleOptimizer.__mro__,
        )
        if kind.__module__.startswith("keras")
    }
    modules = {
        name: module
        for name, module in sys.modules.items()
        if name.partition(".")[0] == "keras" and module is not None
    }
    return {
        (name, attribute): id(value)
        for name, owner in {**owners, **modules}.items()
        for attribute, value in vars(owner).items()
    }


def _model(keras):
    return keras.Sequential([keras.Input((8,)), keras.layers.Dense(2)])


def test_removing_restores_every_attribute(keras, data):
    before = _state(keras)
    installation = install(keras, [Recorder()])
    assert _state(keras) != before
    model = _model(keras)
    model.compile("adam", "mse")
    model.fit(*data, verbose=0)
    installation.remove()
    after = _state(keras)
    changed = [key for key in before if after.get(key) != before[key]]
    assert changed == []


def test_compile_fit_and_evaluate_are_heard_by_name(keras, data):
    recorder = Recorder()
    installation = install(keras, [recorder])
    try:
        model = _model(keras)
        model.compile("sgd", "mse")
        model.fit(*data, 32, 2, verbose=0)
        model.evaluate(*data, verbose=0)
        model.train_on_batch(*data)
    finally:
        installation.remove()
    assert ("compile", ["loss", "optimizer"]) in recorder.heard
    assert ("fit", 2) in recorder.heard
    assert "evaluate" in recorder.heard
    assert "train_on_batch" in recorder.heard
    assert "call" in recorder.heard


def test_of_a_wrapped_optimizer_only_the_wrapper_is_heard(keras, data):
    recorder = Recorder()
    installation = install(keras, [recorder])
    try:
        keras.config.set_dtype_policy("mixed_float16")
        model = _model(keras)
        model.compile("sgd", "mse")
        model.fit(*data, verbose=0)
    finally:
        installation.remove()
    applied = {name for kind, name in _pairs(recorder) if kind == "apply"}
    scaled = {name for kind, name in _pairs(recorder) if kind == "scale_loss"}
    assert applied == {"LossScaleOptimizer"}
    assert scaled == {"LossScaleOptimizer"}


def _pairs(recorder):
    return [heard for heard in recorder.heard if isinstance(heard, tuple)]


def test_an_optimizer_that_is_defined_later_and_overrides_everything_is_heard(
    keras, data
):
    recorder = Recorder()
    installation = install(keras, [recorder])

    class Later(keras.optimizers.SGD):
        def scale_loss(self, loss):
            return loss

        def apply(self, grads, trainable_variables=None):
            """Takes no step at all, so the parent's `apply` is never called."""

    applied = vars(Later)["apply"]
    try:
        model = _model(keras)
        model.compile(Later(), "mse", jit_compile=False)
        model.fit(*data, verbose=0)
    finally:
        installation.remove()
    assert ("apply", "Later") in recorder.heard
    assert ("scale_loss", "Later") in recorder.heard
    assert vars(Later)["apply"] is not applied


def test_a_fit_is_the_same_fit_with_and_without_listeners(keras, data):
    losses = []
    for listeners in ([], [Recorder(), Listener()]):
        installation = install(keras, listeners)
        try:
            keras.utils.set_random_seed(5)
            model = _model(keras)
            model.compile("adam", "mse")
            losses.append(model.fit(*data, epochs=3, verbose=0).history["loss"])
        finally:
            installation.remove()
    assert losses[0] == losses[1]


def test_the_script_cannot_leave_the_policy_that_a_listener_keeps(keras):
    class Keeper(Listener):
        def on_policy(self, name):
            return "mixed_bfloat16"

    installation = install(keras, [Keeper()])
    try:
        for set_policy in (
            keras.config.set_dtype_policy,
            keras.mixed_precision.set_global_policy,
            keras.mixed_precision.set_dtype_policy,
        ):
            set_policy("float32")
            assert keras.config.dtype_policy().name == "mixed_bfloat16"
    finally:
        installation.remove()


def test_clear_session_is_heard_under_both_its_names(keras):
    recorder = Recorder()
    installation = install(keras, [recorder])
    try:
        keras.utils.clear_session()
        keras.backend.clear_session()
    finally:
        installation.remove()
    assert recorder.heard.count("clear_session") == 2


def test_keras_still_knows_its_own_compile(keras, data, tmp_path):
    """Keras saves the compile settings only if `compile` is not overridden."""
    installation = install(keras, [Recorder()])
    try:
        model = _model(keras)
        model.compile("adam", "mse")
        model.fit(*data, verbose=0)
        model.save(tmp_path / "model.keras")
        again = keras.models.load_model(tmp_path / "model.keras")
        assert again.compiled
    finally:
        installation.remove()


def test_an_old_keras_is_refused_by_its_version():
    old = types.SimpleNamespace(__version__="3.8.0")
    with pytest.raises(BetterhalfError, match=r"Received: keras 3\.8\.0"):
        install(old, [])


def test_a_missing_seam_is_named_and_nothing_stays_patched(keras, monkeypatch):
    before = _state(keras)
    monkeypatch.delattr(keras.utils, "clear_session")
    with pytest.raises(BetterhalfError, match="clear_session"):
        install(keras, [Recorder()])
    monkeypatch.undo()
    assert _state(keras) == before
