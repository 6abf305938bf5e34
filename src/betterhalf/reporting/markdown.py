"""The report as Markdown, for a pull request or a page of notes.

Two rules keep what a script called its layers from becoming markup: names and codes
stand in code spans with a fence longer than any inside, and prose has every character
escaped that GitHub's Markdown gives a meaning to.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from betterhalf.reporting.account import (
    Account,
    ArmAccount,
    Remark,
    give_account,
    tabulate,
)
from betterhalf.reporting.words import one_line


if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from betterhalf.records.plan import Plan
    from betterhalf.records.result import Result
    from betterhalf.records.trial import Trial
    from betterhalf.reporting.arm_lines import Line


_SPECIAL = re.compile(r"[\\`*\[\]<>|~&$]|(?<![^\W_])_|_(?![^\W_])")


def as_markdown(plan: Plan, trials: Sequence[Trial], result: Result) -> str:
    """Returns the report as Markdown that reads well as plain text too.

    Args:
        plan: of the experiment.
        trials: those that have ended, in any order.
        result: what was judged of them.
    """
    account = give_account(plan, trials, result)
    blocks = [f"## betterhalf compare {code(account.script)}"]
    if account.best:
        blocks.append(f"**{escape(account.best)}**")
    blocks += [escape(sentence) for sentence in account.others]
    blocks.append(_table(account))
    blocks.append(f"{escape(account.setting)}. {escape(account.note)}")
    if account.caveats:
        blocks.append("\n".join(_remarks(account.caveats)))
    if account.diff:
        blocks += ["### The edit to make", fence(account.diff, "diff")]
    blocks.append("### The arms")
    blocks += [_arm(position, arm) for position, arm in enumerate(account.arms, 1)]
    blocks += _ending(account)
    return "\n\n".join(blocks) + "\n"


def escape(text: str) -> str:
    """Returns prose on one line in which nothing is markup."""
    escaped = _SPECIAL.sub(r"\\\g<0>", one_line(text))
    escaped = re.sub(r"^([-+=#])", r"\\\1", escaped)
    return re.sub(r"^(\d+)([.)])(?=\s|$)", r"\1\\\2", escaped)


def code(text: str) -> str:
    """Returns a code span of `text`, fenced so that no backtick inside ends it."""
    inner = one_line(text)
    ticks = "`" * (_longest_run(inner) + 1)
    space = " " if inner.startswith("`") or inner.endswith("`") else ""
    return f"{ticks}{space}{inner}{space}{ticks}"


def fence(text: str, language: str) -> str:
    """Returns a code block of `text`, fenced so that no line inside ends it."""
    ticks = "`" * max(_longest_run(text) + 1, 3)
    return f"{ticks}{language}\n{text}\n{ticks}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


def _table(account: Account) -> str:
    names, figures = tabulate(account.arms)
    heads = ["arm", "verdict", *names, "trials"]
    rows = [heads, ["---"] * len(heads)]
    for arm, cells in zip(account.arms, figures, strict=True):
        verdict = arm.verdict if arm.kind == "reference" else f"**{arm.verdict}**"
        shown = [escape(cell) for cell in cells]
        rows.append([_cell_code(arm.name), verdict, *shown, escape(arm.trials)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell_code(name: str) -> str:
    """A pipe ends a table's cell even inside a code span."""
    return code(name).replace("|", "\\|")


def _arm(position: int, arm: ArmAccount) -> str:
    head = f"#### {position}. {code(arm.name)}"
    if arm.kind == "reference":
        head += " (reference)"
    lines = [f"- trials: {escape(arm.trials)}", *_lines(arm.lines)]
    lines += [f"- repaired: {escape(item)}" for item in arm.repairs]
    lines += [f"- not finished: {escape(item)}" for item in arm.ends]
    lines += _remarks(arm.caveats)
    lines += _remarks(arm.diagnosis)
    return f"{head}\n\n" + "\n".join(lines)


def _lines(lines: Iterable[Line]) -> list[str]:
    return [f"- {escape(line.label)}: {escape(line.text)}" for line in lines]


def _remarks(remarks: Iterable[Remark]) -> list[str]:
    return [
        f"- {code(remark.code)} {escape(remark.text)}"
        + (f" Next: {escape(remark.todo)}" if remark.todo else "")
        for remark in remarks
    ]


def _ending(account: Account) -> list[str]:
    blocks = []
    if account.environment:
        blocks += ["### Environment", "\n".join(_lines(account.environment))]
    blocks += [
        "### How to reproduce",
        fence(account.command, "sh"),
        "The script's own arguments are not recorded; add them behind its name.",
    ]
    return blocks
