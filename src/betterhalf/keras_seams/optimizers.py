"""Hears the steps of optimizers, also of classes that are defined later."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from betterhalf.keras_seams.listening import ApplyCall, Listener
from betterhalf.keras_seams.patching import Patches, find_seam


_STEPS = ("apply", "stateless_apply")
_NAMES = (*_STEPS, "scale_loss")


def patch_optimizers(
    keras: Any, patches: Patches, listeners: Sequence[Listener]
) -> None:
    """Patches what takes a step and what scales a loss, in each class that defines it.

    A class that overrides them and does not call its parent, as one that scales losses
    does, would not be heard otherwise.
    """
    base = keras.optimizers.Optimizer
    depth = threading.local()

    def patch(kind: Any, names: Sequence[str]) -> None:
        for name in names:
            original = find_seam(keras, kind, name)
            if name in _STEPS:
                method = _hear_step(original, name, listeners, depth)
            else:
                method = _hear_scaling(original, listeners)
            patches.replace(kind, name, method)

    def patch_own(kind: Any) -> None:
        patch(kind, [name for name in _NAMES if name in vars(kind)])

    def patch_new(cls: Any, **arguments: Any) -> None:
        super(base, cls).__init_subclass__(**arguments)
        patch_own(cls)

    patch(base, _NAMES)  # some of which it may only inherit
    for kind in _list_below(base):
        patch_own(kind)
    patches.replace(base, "__init_subclass__", classmethod(patch_new))


def _list_below(kind: Any) -> Iterator[Any]:
    for below in kind.__subclasses__():
        yield below
        yield from _list_below(below)


def _hear_step(
    original: Callable[..., Any],
    name: str,
    listeners: Sequence[Listener],
    depth: threading.local,
) -> Callable[..., Any]:
    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        call = functools.partial(original, self, *args, **kwargs)
        if getattr(depth, "busy", False):
            return call()  # an inner optimizer, or `apply` inside `stateless_apply`
        step = ApplyCall(self, name == "stateless_apply", (*args, *kwargs.values()))
        for listener in reversed(listeners):
            call = functools.partial(listener.around_apply, step, call)
        depth.busy = True
        try:
            return call()
        finally:
            depth.busy = False

    return method


def _hear_scaling(
    original: Callable[..., Any], listeners: Sequence[Listener]
) -> Callable[..., Any]:
    @functools.wraps(original)
    def scale_loss(self: Any, loss: Any) -> Any:
        for listener in listeners:
            listener.on_scale_loss(self)
        return original(self, loss)

    return scale_loss
