"""The end of a comparison in a terminal, or in a file as plain text.

Nothing of a record is ever read as markup: every word goes through `rich.text.Text`.
Figures and sentences fold at the width of the console. The edit does not, because a
folded diff cannot be applied, and off a terminal neither does the last sentence, so
that `tail -1` is the answer.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from betterhalf.reporting.account import Account, ArmAccount, Remark, give_account
from betterhalf.reporting.words import classify_diff


if TYPE_CHECKING:
    from collections.abc import Sequence

    from betterhalf.records.plan import Plan
    from betterhalf.records.result import Result, VerdictWord
    from betterhalf.records.trial import Trial


WIDTH = 80
"""Columns of plain text, which is what terminals have had since before this."""

_LABEL = 12
_STYLES: dict[VerdictWord, str] = {
    "keep": "bold green",
    "keep-for-memory": "bold green",
    "speed-only": "bold cyan",
    "inconclusive": "bold yellow",
    "revert": "bold red",
    "reference": "dim",
}
_DIFF_STYLES = {"head": "dim", "add": "green", "take": "red", "same": ""}


def as_text(
    plan: Plan, trials: Sequence[Trial], result: Result, *, width: int = WIDTH
) -> str:
    """Returns the end of a comparison as plain text.

    Args:
        plan: of the experiment.
        trials: those that have ended, in any order.
        result: what was judged of them.
        width: columns at which figures and sentences fold.
    """
    stream = io.StringIO()
    console = Console(
        file=stream,
        width=width,
        color_system=None,
        force_terminal=False,
        legacy_windows=False,
    )
    write_text(console, plan, trials, result)
    return "".join(f"{line.rstrip()}\n" for line in stream.getvalue().splitlines())


def write_text(
    console: Console, plan: Plan, trials: Sequence[Trial], result: Result
) -> None:
    """Writes the end of a comparison to a console; its last line is the answer.

    Args:
        console: colours come only where it is a terminal and `NO_COLOR` is not set.
        plan: of the experiment.
        trials: those that have ended, in any order.
        result: what was judged of them.
    """
    account = give_account(plan, trials, result)
    _write_lines(console, [account.setting, account.note])
    for position, arm in enumerate(account.arms, 1):
        console.print()
        _write_arm(console, position, arm)
    _write_summary(console, account)
    if account.diff:
        _write_diff(console, account.diff)
    if account.best:
        console.print()
        style = _STYLES[account.best_kind] if account.best_kind else ""
        sentence = Text(account.best, style=style)
        console.print(sentence, soft_wrap=not console.is_terminal)


def _write_lines(console: Console, lines: Sequence[str]) -> None:
    for line in lines:
        console.print(Text(line), overflow="fold")


def _write_arm(console: Console, position: int, arm: ArmAccount) -> None:
    title = Text(f"Arm {position}  ", style="bold")
    title.append(arm.title)
    head = Table.grid(expand=True, padding=(0, 2, 0, 0))
    head.add_column(ratio=1, overflow="fold")
    head.add_column(justify="right", overflow="fold")
    head.add_row(title, Text(arm.trials, style="dim"))
    console.print(head)
    body = Table.grid(padding=(0, 2, 0, 0))
    body.add_column(width=_LABEL, no_wrap=True)
    body.add_column(overflow="fold")
    for line in arm.lines:
        body.add_row(Text(line.label), Text(line.text))
    for label, items in (("repaired", arm.repairs), ("not finished", arm.ends)):
        for place, item in enumerate(items):
            body.add_row(Text("" if place else label), Text(item))
    for label, remarks in (("caveat", arm.caveats), ("why", arm.diagnosis)):
        for remark in remarks:
            body.add_row(Text(label, style="yellow"), _remark(remark))
    if body.row_count:
        console.print(Padding(body, (0, 0, 0, 2)))


def _write_summary(console: Console, account: Account) -> None:
    if account.others:
        console.print("\nSummary", style="bold")
        for sentence in account.others:
            console.print(Padding(Text(sentence, overflow="fold"), (0, 0, 0, 2)))
    if account.caveats:
        console.print("\nCaveats", style="bold")
    for remark in account.caveats:
        console.print(Padding(_remark(remark), (0, 0, 0, 2)))


def _write_diff(console: Console, diff: str) -> None:
    console.print("\nThe edit to make", style="bold")
    for kind, line in classify_diff(diff):
        console.print(Text(line, style=_DIFF_STYLES[kind]), soft_wrap=True)


def _remark(remark: Remark) -> Text:
    text = Text(f"{remark.code}  {remark.text}", overflow="fold")
    if remark.todo:
        text.append(f"\nNext: {remark.todo}")
    return text
