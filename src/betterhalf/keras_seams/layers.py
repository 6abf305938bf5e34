"""Hears layers as they are made and change their policy, and steps before they compile.

Only listeners that override a method are called, and without any nothing is patched.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from betterhalf.keras_seams.listening import Listener
from betterhalf.keras_seams.patching import Patches


def patch_layers(keras: Any, patches: Patches, listeners: Sequence[Listener]) -> None:
    """Patches the making of a layer and the setter of its policy."""
    owner = keras.layers.Layer
    if made := _overriding(listeners, "after_layer_made"):
        _patch_making(owner, patches, made)
    if changed := _overriding(listeners, "on_layer_policy"):
        _patch_policy_setter(owner, patches, changed)


def patch_train_function(
    keras: Any, patches: Patches, listeners: Sequence[Listener]
) -> None:
    """Patches `make_train_function`, which every way to train calls first."""
    hooks = _overriding(listeners, "before_train_function")
    if not hooks:
        return
    name = "make_train_function"
    owner = find_owner(keras.Model, name)
    original = getattr(owner, name)

    @functools.wraps(original)
    def make_train_function(self: Any, force: bool = False) -> Any:
        if self.train_function is None or force:
            for hook in hooks:
                hook(self)
        return original(self, force=force)

    patches.replace(owner, name, make_train_function)


def find_owner(kind: Any, name: str) -> Any:
    """Returns the class that defines an attribute of `kind`, or `kind` itself."""
    return next((each for each in kind.__mro__ if name in vars(each)), kind)


def _overriding(listeners: Sequence[Listener], name: str) -> list[Callable[..., None]]:
    plain = getattr(Listener, name)
    return [
        getattr(listener, name)
        for listener in listeners
        if getattr(type(listener), name) is not plain
    ]


def _patch_making(
    owner: Any, patches: Patches, hooks: Sequence[Callable[..., None]]
) -> None:
    original = owner.__init__

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        for hook in hooks:
            hook(self, kwargs.get("dtype") is not None)

    # Keras reads the arguments of a layer off this, without following `__wrapped__`
    vars(init)["__signature__"] = inspect.signature(original)
    patches.replace(owner, "__init__", init)


def _patch_policy_setter(
    owner: Any, patches: Patches, hooks: Sequence[Callable[..., None]]
) -> None:
    original = vars(owner)["dtype_policy"]

    def set_policy(self: Any, value: Any) -> None:
        before = self.dtype_policy
        original.fset(self, value)
        for hook in hooks:
            hook(self, before)

    patches.replace(owner, "dtype_policy", original.setter(set_policy))
