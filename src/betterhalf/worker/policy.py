"""Keeps the arm's policy in force, whatever the script sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from betterhalf.keras_seams import Listener
from betterhalf.records.instructions import Instructions
from betterhalf.records.trial import Note


class PolicyKeeper(Listener):
    """Sets the arm's global policy, and overrides and notes the script's own.

    A `dtype=` that the script gives to a layer is respected.

    Args:
        keras: the imported module.
        instructions: of this trial.
        on_note: called for what was overridden.
    """

    def __init__(
        self, keras: Any, instructions: Instructions, on_note: Callable[[Note], None]
    ):
        self._keras = keras
        self._policy = instructions.policy
        self._backend = instructions.backend
        self._on_note = on_note
        self._setting = False

    def set(self) -> None:
        """Makes the arm's policy the global one."""
        self._setting = True
        try:
            self._keras.config.set_dtype_policy(self._policy)
        finally:
            self._setting = False

    def on_policy(self, name: str) -> str | None:
        """Replaces the policy that the script asks for."""
        if self._setting:
            return None
        if name != self._policy:
            self._on_note(
                Note(
                    code="policy-overridden",
                    text=(
                        f"the script sets the global policy to {name}; "
                        f"this arm keeps {self._policy}"
                    ),
                )
            )
        return self._policy

    def after_clear_session(self) -> None:
        """Puts the policy back: `clear_session` resets it."""
        self.set()

    def on_set_backend(self, name: str) -> None:
        """Refuses: objects of two backends in one process cannot be compared.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError(
            "expected one backend a process. Received: "
            f"keras.config.set_backend({name!r}), which reloads Keras under us. "
            "Set KERAS_BACKEND before `import keras` instead, or name the backend in "
            f"the arm: {self._policy}@{name}."
        )
