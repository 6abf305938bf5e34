"""What every source of samples can do; a source that is absent does only this."""

from __future__ import annotations

from typing import Any


class Source:
    """Reads some quantities of the machine, again and again, from one thread.

    A source never raises for what a machine cannot tell: the quantity is left out of
    `names`, and `missing` says why.

    Attributes:
        names: of the quantities, with their unit; known once it is made.
        missing: reasons why quantities are absent, or failed at times.
    """

    def __init__(self) -> None:
        self.names: tuple[str, ...] = ()
        self.missing: list[str] = []

    def read(self) -> dict[str, float]:
        """Returns quantities by name; a name that is left out could not be read."""
        return {}

    def summarise(self) -> dict[str, Any]:
        """Returns fields of `Timeline` that only the whole of the samples can tell."""
        return {}

    def close(self) -> None:
        """Gives back what the source holds; called once, at the end."""

    def _note(self, reason: str) -> None:
        if reason not in self.missing:
            self.missing.append(reason)
