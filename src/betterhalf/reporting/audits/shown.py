"""An audit that shows itself: in a terminal by rich, in a notebook as HTML."""

from __future__ import annotations

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from betterhalf.records import audit as records
from betterhalf.reporting.audits.html import as_html
from betterhalf.reporting.audits.text import as_text


class Audit(records.Audit, frozen=True, kw_only=True):
    """What `betterhalf.check` returns: the record, with a face.

    Example:

    >>> audit = betterhalf.check(model, (x, y))
    >>> print(audit)
    >>> audit.worst
    'error'
    """

    @property
    def worst(self) -> records.Severity | None:
        """The worst severity found; `None` where nothing was."""
        return self.findings[0].severity if self.findings else None

    def __str__(self) -> str:
        return as_text(self)

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> RenderResult:
        yield Text(as_text(self, width=options.max_width))

    def _repr_html_(self) -> str:
        return as_html(self)


def show(audit: records.Audit) -> Audit:
    """Returns the same audit as one that shows itself."""
    return Audit(**{name: getattr(audit, name) for name in audit.__struct_fields__})


__all__ = ["Audit", "show"]
