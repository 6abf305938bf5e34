"""The repair `kept-state`: what a layer assigns in `call` is kept, and not rounded.

Under a 16-bit policy Keras reads every variable through a cast. On torch an assignment
writes into that cast copy, which is thrown away; everywhere `assign_add` adds to the
rounded value, so that a counter stops at 2048 (256 in bfloat16), and a running mean
that a layer works out by itself stalls. So assignments go to the variable as it is
stored, and a layer of the user's that works out a new value in `call` does it in
float32.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

from betterhalf.keras_seams.layers import find_owner
from betterhalf.keras_seams.patching import Patches
from betterhalf.records.trial import Repair
from betterhalf.repairing.dtypes import (
    autocast_scope,
    computes_in_16bit,
    is_from_keras,
    names_in,
    set_to_float32,
    uncast,
)
from betterhalf.repairing.layers_in_float32 import call_in_float32


CODE = "kept-state"
_REASON = "its call assigns to variables, which 16 bit rounds"
_ASSIGNS = {"assign", "assign_sub"}
_NOT_IN_CALL = {"__init__", "build", "from_config", "set_weights", "load_own_variables"}


class KeptState:
    """Sends assignments past the cast.

    Args:
        keras: the imported module.
        tell: called once with each layer and its record.
    """

    def __init__(self, keras: Any, tell: Callable[[Any, Repair], None]):
        self._keras = keras
        self._tell = tell
        self._patches: Patches | None = None
        self._known: set[type] = set()

    def place(self, patches: Patches) -> None:
        """Patches the assignments of variables, and how metrics make theirs."""
        self._patches = patches
        for name in ("assign_add", "assign_sub", "_direct_assign"):
            _replace_uncast(patches, find_owner(self._keras.Variable, name), name)
        _keep_metrics_uncast(self._keras, patches)

    def watch(self, layer: Any) -> None:
        """Computes a user's layer in float32 if its class assigns to variables."""
        kind = type(layer)
        if kind in self._known or self._patches is None:
            return
        self._known.add(kind)
        if is_from_keras(kind) or isinstance(layer, self._keras.Model):
            return
        owner = find_owner(kind, "call")
        if not is_from_keras(owner) and _assigns(kind):
            self._replace_call(self._patches, owner)

    def _replace_call(self, patches: Patches, owner: Any) -> None:
        original = vars(owner)["call"]
        keras, tell = self._keras, self._tell
        if getattr(original, "_keeps_state", False):
            return

        @functools.wraps(original)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not computes_in_16bit(self):
                return original(self, *args, **kwargs)
            tell(self, set_to_float32(CODE, self, _REASON))
            return call_in_float32(keras, original, self, args, kwargs)

        vars(call)["_keeps_state"] = True
        patches.replace(owner, "call", call)


def _replace_uncast(patches: Patches, owner: Any, name: str) -> None:
    original = vars(owner)[name]

    @functools.wraps(original)
    def assign(self: Any, value: Any) -> Any:
        scope = autocast_scope()
        if scope is None or scope.dtype is None:
            return original(self, value)
        with uncast():
            return original(self, value)

    patches.replace(owner, name, assign)


def _keep_metrics_uncast(keras: Any, patches: Patches) -> None:
    """Metrics count in float32 wherever they are updated, inside a `call` too."""
    owner = keras.metrics.Metric
    original = owner.add_variable

    @functools.wraps(original)
    def add_variable(self: Any, *args: Any, **kwargs: Any) -> Any:
        variable = original(self, *args, **kwargs)
        variable._autocast = False
        return variable

    patches.replace(owner, "add_variable", add_variable)


def _assigns(kind: type) -> bool:
    """Whether a method of the user's, but for those that make layers, assigns."""
    for owner in kind.__mro__:
        if is_from_keras(owner):
            break
        for name, method in vars(owner).items():
            if name in _NOT_IN_CALL or not isinstance(method, FunctionType):
                continue
            if names_in(method.__code__) & _ASSIGNS:
                return True
    return False
