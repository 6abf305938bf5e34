"""Attributes replaced, and put back exactly as they were."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from betterhalf.errors import BetterhalfError


_ABSENT = object()


def find_seam(keras: Any, owner: Any, name: str) -> Any:
    """Returns an attribute that is about to be patched.

    Raises:
        BetterhalfError: this Keras has none of that name.
    """
    found = getattr(owner, name, None)
    if found is None:
        raise BetterhalfError(
            f"keras {keras.__version__} has no `{getattr(owner, '__name__', owner)}."
            f"{name}`, which betterhalf needs. Received: a Keras outside the tested "
            "range; use one that the README names, or report it."
        )
    return found


class Patches:
    """A list of replaced attributes that can be undone in one call.

    Example:

    >>> patches = Patches()
    >>> patches.replace(keras.Model, "fit", my_fit)
    >>> patches.undo()
    """

    def __init__(self):
        self._undone: list[tuple[Any, str, Any]] = []
        self._ends: list[Callable[[], None]] = []

    def when_undone(self, end: Callable[[], None]) -> None:
        """Remembers what else `undo` must end, such as a hook of a framework."""
        self._ends.append(end)

    def replace(self, owner: Any, name: str, value: Any) -> None:
        """Sets `owner.name`, and remembers what stood in `owner` itself.

        An attribute that `owner` only inherits is deleted again by `undo`.
        """
        before = vars(owner).get(name, _ABSENT)
        self._undone.append((owner, name, before))
        setattr(owner, name, value)

    def replace_everywhere(self, package: str, original: Any, value: Any) -> None:
        """Replaces every module attribute of a package that is `original`.

        Keras exports one function under several names and modules; a script may take
        any of them.

        Args:
            package: name of the package, such as `keras`.
            original: the object that is looked for, by identity.
            value: what takes its place.
        """
        for name, module in list(sys.modules.items()):
            if module is None or name.partition(".")[0] != package:
                continue
            for attribute, held in list(vars(module).items()):
                if held is original:
                    self.replace(module, attribute, value)

    def undo(self) -> None:
        """Puts everything back, last first."""
        while self._ends:
            self._ends.pop()()
        while self._undone:
            owner, name, before = self._undone.pop()
            if before is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, before)
