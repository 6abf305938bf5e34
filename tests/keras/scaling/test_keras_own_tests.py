"""The tests that Keras ships for its class, with this one in its place.

One of them, `test_downscaling`, takes four bad steps first and expects Keras's four
halvings; the fast search for the first scale is switched off for it. What they skip on
JAX for Keras's class, steps outside of `stateless_apply`, runs here.
"""

import pytest

import betterhalf


shipped = pytest.importorskip("keras.src.optimizers.loss_scale_optimizer_test")


class LossScaleOptimizer(betterhalf.LossScaleOptimizer):
    __module__ = "keras.optimizers"

    def __init__(self, *args, **kwargs):
        kwargs.setdefault("search_factor", 0.5)
        super().__init__(*args, **kwargs)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
class TestShipped(shipped.LossScaleOptimizerTest):
    @pytest.fixture(autouse=True)
    def _in_place_of_keras_s(self, monkeypatch):
        slow = self._testMethodName.startswith("test_downscaling")
        chosen = LossScaleOptimizer if slow else betterhalf.LossScaleOptimizer
        monkeypatch.setattr(shipped, "LossScaleOptimizer", chosen)

    def _skip_test_for_stateless(self, stateless):
        if stateless:  # TensorFlow has no such thing, for any optimizer
            super()._skip_test_for_stateless(stateless)
