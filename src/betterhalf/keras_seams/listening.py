"""What can be heard at the seams: the specification of a listener."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from betterhalf.keras_seams.patching import Patches


class Listener:
    """Hears what Keras does; every method does nothing unless it is overridden.

    The `around_*` methods must call `proceed` exactly once and return what it returns,
    unless they say otherwise.
    Listeners are nested: the first one installed is outermost.
    """

    def place(self, patches: Patches) -> None:
        """Replaces attributes that only this listener needs; undone with the rest."""

    def after_layer_made(self, layer: Any, dtype_given: bool) -> None:
        """`Layer.__init__` has run; the rest of the subclass's own has not.

        Args:
            layer: its attributes beyond those of `Layer` may be missing.
            dtype_given: whether a `dtype` came with the call.
        """

    def on_layer_policy(self, layer: Any, before: Any) -> None:
        """`layer.dtype_policy` was set; `before` is the policy that it replaced."""

    def before_train_function(self, model: Any) -> None:
        """The model is built as far as it can be, and its step not yet compiled."""

    def around_compile(
        self, model: Any, arguments: dict[str, Any], proceed: Callable[[], Any]
    ) -> Any:
        """`model.compile`; `arguments` may be changed before `proceed()`."""
        return proceed()

    def around_fit(
        self, model: Any, arguments: dict[str, Any], proceed: Callable[[], Any]
    ) -> Any:
        """`model.fit`; `arguments` may be changed before `proceed()`."""
        return proceed()

    def around_evaluate(
        self, model: Any, arguments: dict[str, Any], proceed: Callable[[], Any]
    ) -> Any:
        """`model.evaluate`, the validation inside `fit` included."""
        return proceed()

    def around_train_on_batch(
        self, model: Any, arguments: dict[str, Any], proceed: Callable[[], Any]
    ) -> Any:
        """`model.train_on_batch`."""
        return proceed()

    def around_call(
        self, model: Any, stateless: bool, proceed: Callable[[], Any]
    ) -> Any:
        """A model is called, on JAX and TensorFlow in a trace.

        Args:
            model: the model, which may be a part of another.
            stateless: by `stateless_call`, so that what `proceed` returns begins with
                the outputs and `proceed` may be called again.
            proceed: goes on with the call.
        """
        return proceed()

    def on_scale_loss(self, optimizer: Any) -> None:
        """`optimizer.scale_loss` runs; on JAX and TensorFlow in a trace."""

    def around_apply(self, step: ApplyCall, proceed: Callable[[], Any]) -> Any:
        """The outermost `apply` or `stateless_apply` of an optimizer.

        Args:
            step: what is being called.
            proceed: goes on with the call.
        """
        return proceed()

    def on_policy(self, name: str) -> str | None:
        """The script sets the global policy; returns another to set instead."""
        return None

    def after_clear_session(self) -> None:
        """`clear_session` has reset the global policy."""

    def on_set_backend(self, name: str) -> None:
        """The script calls `keras.config.set_backend`; raise to refuse."""


class ApplyCall:
    """One call of `apply` or `stateless_apply`.

    Attributes:
        optimizer: the outermost optimizer.
        stateless: whether it is `stateless_apply`.
        arguments: as they came, in order.
    """

    def __init__(self, optimizer: Any, stateless: bool, arguments: tuple[Any, ...]):
        self.optimizer = optimizer
        self.stateless = stateless
        self.arguments = arguments
