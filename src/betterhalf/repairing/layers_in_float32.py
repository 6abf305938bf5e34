"""The repair `float32-layer`: what 16 bit gets wrong is computed in float32.

Some of Keras's layers overflow, round or crash in 16 bit on some backends. Their `call`
runs in float32 and what it returns is cast back, as Keras itself does it in
`BatchNormalization`: the layers around notice nothing. Those that look at raw features
get them as they came, before a cast has rounded them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from betterhalf.keras_seams.layers import find_owner
from betterhalf.keras_seams.patching import Patches
from betterhalf.records.trial import Repair
from betterhalf.repairing.dtypes import (
    SIXTEEN_BIT,
    cast_floats,
    computes_in_16bit,
    computing_in_float32,
    own_layers,
    set_to_float32,
    uncast,
)
from betterhalf.repairing.float32_rules import EXACT, FEATURES, RAW_ONLY, RULES, Rule


CODE = "float32-layer"
Tell = Callable[[Any, Repair], None]


class Float32Layers:
    """Replaces `call` of the classes in `RULES` that exist in this Keras.

    Args:
        keras: the imported module.
        tell: called once with each layer and its record.
    """

    def __init__(self, keras: Any, tell: Tell):
        self._keras = keras
        self._tell = tell
        backend = keras.backend.backend()
        self._rules = {
            getattr(keras.layers, name): rule
            for name, rule in RULES.items()
            if backend in rule.backends and hasattr(keras.layers, name)
        }
        self._exact = tuple(getattr(keras.layers, name) for name in EXACT)
        self._raw = tuple(
            [kind for kind, rule in self._rules.items() if rule.raw]
            + [getattr(keras.layers, name) for name in RAW_ONLY]
        )

    def place(self, patches: Patches) -> None:
        """Replaces the `call` of each class."""
        for kind, rule in self._rules.items():
            self._replace_call(patches, kind, rule)
        self._adapt_in_float32(patches)
        self._keep_raw_in_pipelines(patches)
        self._leave_state_uncast(patches)

    def keep_raw(self, layer: Any) -> None:
        """Keeps Keras from casting the inputs of a layer that looks at raw ones."""
        if isinstance(layer, self._raw) and computes_in_16bit(layer):
            layer.autocast = False

    def looks_at_raw(self, layer: Any) -> bool:
        """Whether a layer needs its inputs as exact as they came."""
        return isinstance(layer, (*self._raw, *self._exact))

    def _replace_call(self, patches: Patches, kind: Any, rule: Rule) -> None:
        keras, tell = self._keras, self._tell
        original = kind.call
        parameters = list(_parameters(original))

        @functools.wraps(original)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            dtype = self.compute_dtype
            if dtype not in rule.dtypes or self.variable_dtype != "float32":
                return original(self, *args, **kwargs)
            named = {**dict(zip(parameters, args, strict=False)), **kwargs}
            if not rule.when(self, named):
                return original(self, *args, **kwargs)
            tell(self, set_to_float32(CODE, self, rule.reason))
            return call_in_float32(keras, original, self, args, kwargs)

        patches.replace(kind, "call", call)

    def _adapt_in_float32(self, patches: Patches) -> None:
        """Keeps the statistics of `Normalization` as they were measured."""
        kind = self._keras.layers.Normalization
        for name in ("build", "adapt", "finalize_state"):
            _compute_in_float32(self._keras, patches, kind, name)

    def _keep_raw_in_pipelines(self, patches: Patches) -> None:
        """Keeps preprocessing layers, which may run in tf.data too, from casting.

        In a TensorFlow graph their base class casts what it gets to the compute dtype
        before anything else.
        """
        owner = find_owner(self._keras.layers.Normalization, "__call__")
        if owner is self._keras.layers.Layer:
            return
        original, keras = owner.__call__, self._keras
        preprocessing = tuple(
            kind for kind in (*self._raw, *self._exact) if issubclass(kind, owner)
        )

        @functools.wraps(original)
        def call(self_: Any, inputs: Any, **kwargs: Any) -> Any:
            if not isinstance(self_, preprocessing) or not computes_in_16bit(self_):
                return original(self_, inputs, **kwargs)
            if _is_symbolic(keras, inputs):
                return original(self_, inputs, **kwargs)
            dtype = self_.compute_dtype
            self._tell(self_, set_to_float32(CODE, self_, FEATURES.reason))
            with computing_in_float32(keras, [self_]):
                outputs = original(self_, inputs, **kwargs)
            return cast_floats(keras, outputs, ("float32",), dtype)

        patches.replace(owner, "__call__", call)

    def _leave_state_uncast(self, patches: Patches) -> None:
        """Lets a layer read its variables as stored, and compute in 16 bit still.

        `SpectralNormalization` writes its kernel back, which must not pass through 16
        bit. `Embedding` casts what it has looked up; where no layer around it is mixed
        Keras casts the whole table first, to the same result.
        """
        layers = self._keras.layers
        for kind, reason in (
            (layers.SpectralNormalization, "it writes its 16-bit kernel back"),
            (layers.Embedding, None),
        ):
            self._replace_uncast(patches, kind, reason)

    def _replace_uncast(self, patches: Patches, kind: Any, reason: str | None) -> None:
        original = kind.call
        tell = self._tell

        @functools.wraps(original)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not computes_in_16bit(self):
                return original(self, *args, **kwargs)
            if reason is not None:
                tell(self, set_to_float32(CODE, self, reason))
            with uncast():
                return original(self, *args, **kwargs)

        patches.replace(kind, "call", call)


def _compute_in_float32(keras: Any, patches: Patches, kind: Any, name: str) -> None:
    original = vars(kind)[name]

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not computes_in_16bit(self):
            return original(self, *args, **kwargs)
        with computing_in_float32(keras, [self]):
            return original(self, *args, **kwargs)

    patches.replace(kind, name, method)


def call_in_float32(
    keras: Any, original: Callable[..., Any], layer: Any, args: Any, kwargs: Any
) -> Any:
    """Calls a layer in float32 and casts what it returns to its own compute dtype.

    Args:
        keras: the imported module.
        original: the layer's `call`, not bound.
        layer: computes in 16 bit over float32 variables; so may layers inside it.
        args: of the call.
        kwargs: of the call.
    """
    dtype = layer.compute_dtype
    args = cast_floats(keras, args, SIXTEEN_BIT, "float32")
    kwargs = cast_floats(keras, kwargs, SIXTEEN_BIT, "float32")
    parts = [part for part in own_layers(layer) if computes_in_16bit(part)]
    with computing_in_float32(keras, parts):
        outputs = original(layer, *args, **kwargs)
    return cast_floats(keras, outputs, ("float32",), dtype)


def _is_symbolic(keras: Any, inputs: Any) -> bool:
    tensors = keras.tree.flatten(inputs)
    return any(isinstance(tensor, keras.KerasTensor) for tensor in tensors)


def _parameters(function: Any) -> tuple[str, ...]:
    code = getattr(function, "__wrapped__", function).__code__
    return code.co_varnames[1 : code.co_argcount]
