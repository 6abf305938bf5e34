"""Modules that answer as Keras does, as far as policies and dtypes go.

A script that runs on them shows under which policy each layer was made, and what dtype
the outputs of each compiled model have.
"""

from __future__ import annotations

import sys
from types import ModuleType


WEIGHTLESS = ("Activation", "Softmax", "Flatten")


class FakeKeras:
    """One Keras, with the global policy that a script leaves in it."""

    def __init__(self):
        self.policy = "float32"
        self.layers: list[FakeLayer] = []
        self.compiled: list[FakeModel] = []

    def set_policy(self, policy: str) -> None:
        self.policy = policy

    def reset(self) -> None:
        self.policy = "float32"

    def make_layer(self, kind: str):
        def make(*_: object, dtype: str | None = None, **__: object) -> FakeLayer:
            layer = FakeLayer(kind, self.policy, dtype)
            self.layers.append(layer)
            return layer

        return make

    def install(self, monkeypatch) -> None:
        """Puts itself where `import keras` and `import tensorflow` look."""
        for name in [name for name in sys.modules if _is_faked(name)]:
            monkeypatch.delitem(sys.modules, name)
        for root in ("keras", "tensorflow.keras", "tf_keras"):
            self._install_root(root, monkeypatch)
        tensorflow = ModuleType("tensorflow")
        tensorflow.__path__ = []
        tensorflow.keras = sys.modules["tensorflow.keras"]
        monkeypatch.setitem(sys.modules, "tensorflow", tensorflow)

    def _install_root(self, root: str, monkeypatch) -> None:
        layers = _AnyLayer(f"{root}.layers", self)
        models = {
            "Sequential": lambda layers=(): FakeModel(self, list(layers)),
            "Model": lambda inputs, outputs: FakeModel(self, outputs=outputs),
        }
        setters = dict.fromkeys(
            ("set_global_policy", "set_dtype_policy"), self.set_policy
        )
        parts = {
            "layers": layers,
            "models": _module(f"{root}.models", **models),
            "mixed_precision": _module(f"{root}.mixed_precision", **setters),
            "config": _module(f"{root}.config", **setters),
            "backend": _module(f"{root}.backend", clear_session=self.reset),
            "utils": _module(
                f"{root}.utils",
                clear_session=self.reset,
                set_random_seed=lambda seed: None,
            ),
        }
        for name, part in parts.items():
            monkeypatch.setitem(sys.modules, f"{root}.{name}", part)
        keras = _module(root, Input=FakeTensor, **models, **parts)
        keras.__path__ = []
        monkeypatch.setitem(sys.modules, root, keras)


class FakeLayer:
    """A layer that knows the policy it was made under and the dtype it was given."""

    def __init__(self, kind: str, policy: str, dtype: str | None):
        self.kind = kind
        self.dtype = dtype or policy
        self.feeds_from: FakeLayer | None = None

    def __call__(self, tensor: FakeTensor) -> FakeTensor:
        self.feeds_from = tensor.layer
        return FakeTensor(layer=self)


class FakeTensor:
    """What a layer returns."""

    def __init__(self, shape: object = None, layer: FakeLayer | None = None):
        self.layer = layer


class FakeModel:
    """A Sequential or functional model."""

    def __init__(self, keras: FakeKeras, layers=None, outputs=None):
        self._keras = keras
        self.layers = layers
        self._outputs = outputs

    def add(self, layer: object) -> None:
        self.layers.append(layer)

    def compile(self, *_: object, **__: object) -> None:
        self._keras.compiled.append(self)

    def fit(self, *_: object, **__: object) -> None:
        pass

    def output_dtypes(self) -> list[str]:
        """Returns the dtypes of what makes the outputs, back to weights."""
        if self.layers is not None:
            return _to_weights(list(reversed(self.layers)))
        outputs = self._outputs if isinstance(self._outputs, list) else [self._outputs]
        found: list[str] = []
        for output in outputs:
            chain, layer = [], output.layer
            while layer is not None:
                chain.append(layer)
                layer = layer.feeds_from
            found += _to_weights(chain)
        return found


class _AnyLayer(ModuleType):
    def __init__(self, name: str, keras: FakeKeras):
        super().__init__(name)
        self._keras = keras

    def __getattr__(self, kind: str):
        if kind.startswith("_"):
            raise AttributeError(kind)
        return FakeTensor if kind == "Input" else self._keras.make_layer(kind)


def _to_weights(chain: list[object]) -> list[str]:
    found: list[str] = []
    for layer in chain:
        if not isinstance(layer, FakeLayer):
            break
        found.append(layer.dtype)
        if layer.kind not in WEIGHTLESS:
            break
    return found


def _module(name: str, **contents: object) -> ModuleType:
    module = ModuleType(name)
    module.__dict__.update(contents)
    return module


def _is_faked(name: str) -> bool:
    return name.partition(".")[0] in ("keras", "tensorflow", "tf_keras")
