"""Puts listeners between Keras and a script, and takes them out again."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from betterhalf.errors import BetterhalfError
from betterhalf.keras_seams.layers import patch_layers, patch_train_function
from betterhalf.keras_seams.listening import Listener
from betterhalf.keras_seams.optimizers import patch_optimizers
from betterhalf.keras_seams.patching import Patches, find_seam


OLDEST_KERAS = (3, 10)
"""3.8 and older fail on current JAX; 3.10 is the oldest that is tested."""

_MODEL_METHODS = ("compile", "fit", "evaluate", "train_on_batch")


class Installation:
    """Listeners in place; `remove` restores Keras exactly."""

    def __init__(
        self, patches: Patches, listeners: Sequence[Listener], aside: bool = False
    ):
        self._patches = patches
        self.listeners = tuple(listeners)
        if not aside:
            _IN_PLACE.append(self)

    def remove(self) -> None:
        """Puts every attribute of Keras back as it was."""
        self._patches.undo()
        if self in _IN_PLACE:
            _IN_PLACE.remove(self)


_IN_PLACE: list[Installation] = []


def in_place() -> tuple[Installation, ...]:
    """Returns the installations that own this process, the first one first."""
    return tuple(_IN_PLACE)


def install(
    keras: Any, listeners: Sequence[Listener], *, aside: bool = False
) -> Installation:
    """Installs listeners at the hook points of an imported Keras.

    Args:
        keras: the module.
        listeners: heard in this order; the first is outermost.
        aside: they only look on: `in_place` does not list them, so that
            `betterhalf.enable` in the same process does all that it would.

    Returns:
        The installation, to be removed again.

    Raises:
        BetterhalfError: this Keras is too old, or one of its seams is missing.
    """
    _check_version(keras)
    patches = Patches()
    try:
        for name in _MODEL_METHODS:
            _patch_method(keras, patches, name, listeners)
        for name in ("__call__", "stateless_call"):
            _patch_call(keras, patches, name, listeners)
        patch_optimizers(keras, patches, listeners)
        _patch_policy(keras, patches, listeners)
        patch_layers(keras, patches, listeners)
        patch_train_function(keras, patches, listeners)
        for listener in listeners:
            listener.place(patches)
    except BaseException:
        patches.undo()
        raise
    return Installation(patches, listeners, aside)


def _check_version(keras: Any) -> None:
    version = str(keras.__version__)
    numbers = tuple(int(part) for part in version.split(".")[:2])
    if numbers < OLDEST_KERAS:
        raise BetterhalfError(
            "expected Keras 3.10 or newer. "
            f"Received: keras {version}. Upgrade with `pip install -U keras`."
        )


def _patch_method(
    keras: Any, patches: Patches, name: str, listeners: Sequence[Listener]
) -> None:
    # on the class that defines it: Keras compares `type(model).compile` with that one
    owner = next(
        (each for each in keras.Model.__mro__ if name in vars(each)), keras.Model
    )
    original = find_seam(keras, owner, name)
    signature = inspect.signature(original)
    around = [getattr(listener, f"around_{name}") for listener in listeners]

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(self, *args, **kwargs)
        arguments = _named_arguments(signature, bound)

        def proceed() -> Any:
            return original(self, **arguments)

        call = proceed
        for hook in reversed(around):
            call = functools.partial(hook, self, arguments, call)
        return call()

    patches.replace(owner, name, method)


def _named_arguments(
    signature: inspect.Signature, bound: inspect.BoundArguments
) -> dict[str, Any]:
    named = dict(bound.arguments)
    for parameter in signature.parameters.values():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            named.update(named.pop(parameter.name, {}))
    named.pop(next(iter(signature.parameters)))
    return named


def _patch_call(
    keras: Any, patches: Patches, name: str, listeners: Sequence[Listener]
) -> None:
    original = find_seam(keras, keras.Model, name)
    around = [
        listener.around_call
        for listener in listeners
        if type(listener).around_call is not Listener.around_call
    ]
    if not around:
        return
    stateless = name == "stateless_call"

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        call = functools.partial(original, self, *args, **kwargs)
        for hook in reversed(around):
            call = functools.partial(hook, self, stateless, call)
        return call()

    # on Model, not on Layer which defines it: only models are listened to
    patches.replace(keras.Model, name, method)


def _patch_policy(keras: Any, patches: Patches, listeners: Sequence[Listener]) -> None:
    set_policy = find_seam(keras, keras.config, "set_dtype_policy")
    clear = find_seam(keras, keras.utils, "clear_session")

    @functools.wraps(set_policy)
    def set_dtype_policy(policy: Any) -> None:
        for listener in listeners:
            other = listener.on_policy(_policy_name(policy))
            policy = policy if other is None else other
        set_policy(policy)

    @functools.wraps(clear)
    def clear_session(*args: Any, **kwargs: Any) -> None:
        clear(*args, **kwargs)
        for listener in listeners:
            listener.after_clear_session()

    patches.replace_everywhere("keras", set_policy, set_dtype_policy)
    patches.replace_everywhere("keras", clear, clear_session)
    _patch_set_backend(keras, patches, listeners)


def _patch_set_backend(
    keras: Any, patches: Patches, listeners: Sequence[Listener]
) -> None:
    original: Callable[[str], None] | None = getattr(keras.config, "set_backend", None)
    if original is None:
        return  # came with Keras 3.6; where it is missing there is nothing to refuse

    @functools.wraps(original)
    def set_backend(backend: str) -> None:
        for listener in listeners:
            listener.on_set_backend(backend)
        original(backend)

    patches.replace_everywhere("keras", original, set_backend)


def _policy_name(policy: Any) -> str:
    return str(getattr(policy, "name", policy))
