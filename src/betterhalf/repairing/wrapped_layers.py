"""The repair `wrapped-layer`: what is inside one of Keras's layers follows it.

`TimeDistributed(Dense(4), dtype="float32")` computes its Dense under the global policy,
and `lstm.dtype_policy = "mixed_float16"` leaves the cell as it was. Inner layers that
agreed with the layer around them, and were given no policy of their own, go with it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from betterhalf.records.trial import Repair
from betterhalf.repairing.dtypes import is_from_keras, own_layers, path_of, policy_name


CODE = "wrapped-layer"


class WrappedLayers:
    """Hands a policy on to the layers inside.

    Args:
        keras: the imported module.
        tell: called once with each layer and its record.
    """

    def __init__(self, keras: Any, tell: Callable[[Any, Repair], None]):
        self._keras = keras
        self._tell = tell
        self._given: weakref.WeakSet[Any] = weakref.WeakSet()

    def remember(self, layer: Any, dtype_given: bool) -> None:
        """Remembers which layers were given a policy of their own."""
        if dtype_given:
            self._given.add(layer)

    def follow_change(self, layer: Any, before: Any) -> None:
        """Hands on a policy that was set on a layer."""
        if self._hands_on(layer):
            for inner in own_layers(layer)[1:]:
                if inner.dtype_policy.name == before.name:
                    self._set(inner, layer)

    def follow_all(self, model: Any) -> None:
        """Hands on the policies with which the layers of a model were made."""
        for layer in own_layers(model):
            if layer in self._given and self._hands_on(layer):
                for inner in own_layers(layer)[1:]:
                    if inner not in self._given:
                        self._set(inner, layer)

    def _hands_on(self, layer: Any) -> bool:
        return is_from_keras(type(layer)) and not isinstance(layer, self._keras.Model)

    def _set(self, inner: Any, outer: Any) -> None:
        before, after = policy_name(inner), policy_name(outer)
        if before == after or inner.variable_dtype != outer.variable_dtype:
            return
        inner.dtype_policy = outer.dtype_policy
        self._tell(
            inner,
            Repair(
                code=CODE,
                where=path_of(inner),
                before=before,
                after=after,
                reason="it is a part of a layer with this policy",
            ),
        )
