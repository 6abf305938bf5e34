"""Records the calls of layers for a while, real ones and those of a trace."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from betterhalf.keras_seams.patching import Patches


@contextmanager
def recorded_calls(
    keras: Any,
    on_call: Callable[[Any, tuple[Any, ...], dict[str, Any], Any], None],
    on_error: Callable[[Any, Exception], None] = lambda operation, error: None,
) -> Iterator[None]:
    """Reports each call of a layer, and of an operation of a graph, while entered.

    Args:
        keras: the imported module.
        on_call: called with the layer or operation, its arguments as they came, before
            any cast, and what it returned; the innermost calls come first.
        on_error: called with a layer or operation whose call raised and with what it
            raised, the innermost first; who called it may go on all the same.
    """
    patches = Patches()
    busy: list[Any] = []

    def record(owner: Any, is_recorded: Callable[[Any], bool]) -> None:
        original = owner.__call__

        @functools.wraps(original)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not is_recorded(self) or (busy and busy[-1] is self):
                return original(self, *args, **kwargs)
            busy.append(self)
            try:
                outputs = original(self, *args, **kwargs)
            except Exception as error:
                on_error(self, error)
                raise
            finally:
                busy.pop()
            on_call(self, args, kwargs, outputs)
            return outputs

        patches.replace(owner, "__call__", call)

    layer = keras.layers.Layer
    try:
        record(keras.Operation, lambda each: not isinstance(each, layer))
        record(layer, lambda each: True)
        if "__call__" in vars(keras.Model):  # where models are listened to
            record(keras.Model, lambda each: True)
        yield
    finally:
        patches.undo()
