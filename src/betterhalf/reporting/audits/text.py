"""An audit in a terminal, or in a file as plain text.

Nothing of a record is read as markup: every word goes through `rich.text.Text`. The
last line says how much was found.
"""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from betterhalf.records.audit import SEVERITIES, Audit, LayerRow, Severity
from betterhalf.reporting.audits.account import (
    HEADS,
    cells_of,
    conclude,
    count_findings,
    describe_finding,
    describe_ignored,
    describe_skipped,
    describe_target,
    sort_rows,
)


WIDTH = 80
"""Columns of plain text, as in the other reports."""

ROWS = 24
"""Rows of the dtype table that are shown by default, about a screen."""

_LEFT_OUT = ("compute", "variables")
_STYLES: dict[str, str] = {
    "error": "bold red",
    "warning": "yellow",
    "note": "cyan",
}


def as_text(
    audit: Audit, *, width: int = WIDTH, rows: int | None = ROWS, sort: str = "model"
) -> str:
    """Returns an audit as plain text.

    Args:
        audit: what was found.
        width: columns at which it folds.
        rows: of the dtype table; `None` for all.
        sort: order of the table, of `account.SORTS`.
    """
    stream = io.StringIO()
    console = Console(
        file=stream,
        width=width,
        color_system=None,
        force_terminal=False,
        legacy_windows=False,
    )
    write_text(console, audit, rows=rows, sort=sort)
    return "".join(f"{line.rstrip()}\n" for line in stream.getvalue().splitlines())


def write_text(
    console: Console, audit: Audit, *, rows: int | None = ROWS, sort: str = "model"
) -> None:
    """Writes an audit to a console; its last line says how much was found.

    Args:
        console: colours come only where it is a terminal and `NO_COLOR` is not set.
        audit: what was found.
        rows: of the dtype table; `None` for all, 0 for no table.
        sort: order of the table, of `account.SORTS`.
    """
    console.print(Text(describe_target(audit)), overflow="fold")
    for severity in SEVERITIES:
        _write_findings(console, audit, severity)
    _write_list(console, "Ignored", describe_ignored(audit))
    _write_list(console, "Not run", describe_skipped(audit))
    if rows != 0 and audit.layers:
        _write_table(console, sort_rows(audit, sort), rows)
    console.print()
    counts = count_findings(audit)
    worst = next((each for each in SEVERITIES if counts[each]), None)
    style = _STYLES[worst] if worst else "green"
    console.print(Text(conclude(audit), style=style), overflow="fold")


def _write_findings(console: Console, audit: Audit, severity: Severity) -> None:
    found = [each for each in audit.findings if each.severity == severity]
    if not found:
        return
    console.print(f"\n{severity.capitalize()}s", style="bold")
    for finding in found:
        said = describe_finding(finding)
        console.print(
            Padding(Text(said.head, _STYLES[severity], overflow="fold"), (0, 0, 0, 2))
        )
        lines = [said.text, said.evidence, f"Next: {said.hint}"]
        lines.append(f"If ignored: {said.cost}")
        for line in filter(None, lines):
            console.print(Padding(Text(line, overflow="fold"), (0, 0, 0, 4)))


def _write_list(console: Console, title: str, lines: Sequence[str]) -> None:
    if not lines:
        return
    console.print(f"\n{title}", style="bold")
    for line in lines:
        text = Text(line, style="dim", overflow="fold")
        console.print(Padding(text, (0, 0, 0, 2)))


def _write_table(console: Console, rows: list[LayerRow], limit: int | None) -> None:
    """Writes the first and the last rows; a policy tells the two dtypes it stands for.

    They have columns of their own on the page and in JSON, where there is room.
    """
    console.print()
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for head in HEADS:
        if head not in _LEFT_OUT:
            justify = "right" if head == "parameters" else "left"
            table.add_column(head, justify=justify, overflow="fold")
    table.add_column("", overflow="fold")
    left = 0 if limit is None else max(len(rows) - limit, 0)
    first = len(rows) if not left else (len(rows) - left) // 2
    for position, row in enumerate(rows):
        if position == first and left:
            table.add_row(Text(f"… {left:,} more", style="dim"))
        if not first <= position < first + left:
            cells = dict(zip((*HEADS, ""), cells_of(row), strict=True))
            shown = [cell for head, cell in cells.items() if head not in _LEFT_OUT]
            table.add_row(*map(Text, shown))
    console.print(table)
    if left:
        console.print(Text("--table all shows every row", style="dim"))
