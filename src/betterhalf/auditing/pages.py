"""The page of a rule: its docstring, read into sections."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from typing import NamedTuple

from betterhalf.auditing.rule import ALL_BACKENDS, Rule


HEADINGS = (
    "What it does",
    "Why is this bad?",
    "Known problems",
    "Example",
    "Use instead",
    "References",
)
"""In this order, all of them; as ruff has them."""

FAMILIES = {
    "1": "1 · policy set-up",
    "2": "2 · numerics",
    "3": "3 · loss and scaling",
    "4": "4 · optimizer and training loop",
    "5": "5 · custom code",
    "6": "6 · no speed to gain",
    "7": "7 · saving and loading",
    "9": "9 · environment",
}
"""What the first digit of a code stands for."""

_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_CODE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Page(NamedTuple):
    """What is written about a rule.

    Attributes:
        sections: text by heading, in order.
        example: the program that the rule finds; empty where it cannot be shown.
        instead: the program put right.
    """

    sections: dict[str, str]
    example: str
    instead: str


def read_page(rule: Rule) -> Page:
    """Returns the page of a rule."""
    _, *parts = _HEADING.split(inspect.cleandoc(type(rule).__doc__ or ""))
    sections = {
        heading: text.strip()
        for heading, text in zip(parts[::2], parts[1::2], strict=True)
    }
    return Page(
        sections, _program(sections, "Example"), _program(sections, "Use instead")
    )


def write_page(rule: Rule) -> str:
    """Returns the page as Markdown, with what its class says of the rule above it."""
    facts = [
        f"`{rule.code}` · {rule.severity} · since {rule.since}",
        f"Backends: {', '.join(rule.backends)}.",
    ]
    if rule.kinds:
        facts.append(
            f"Failure kinds of the [catalogue](../repairs.md): {', '.join(rule.kinds)}."
        )
    if rule.repaired_by_enable:
        facts.append("[`betterhalf.enable`](../enable.md) puts it right by itself.")
    facts += [f"Hint: {rule.hint}.", f"If ignored: {rule.cost}."]
    head = f"# {rule.name} ({rule.code})\n\n" + "\n\n".join(facts)
    body = "\n\n".join(
        f"## {heading}\n\n{text}" for heading, text in read_page(rule).sections.items()
    )
    return f"{head}\n\n{body}\n"


def write_index(rules: Sequence[Rule]) -> str:
    """Returns the list of all rules as Markdown.

    Args:
        rules: in the order of the list.
    """
    lines = [
        "# The rules of `betterhalf.check`",
        "",
        "Made by `tools/write_rule_pages.py` from the docstrings of the rules.",
    ]
    for family, title in FAMILIES.items():
        own = [rule for rule in rules if rule.code[2] == family]
        if not own:
            continue
        lines += [
            "",
            f"## {title}",
            "",
            "| code | rule | severity | backends | kinds |",
        ]
        lines.append("|---|---|---|---|---|")
        lines += [
            f"| {rule.code} | [{rule.name}]({rule.name}.md) | {rule.severity} | "
            f"{_backends(rule)} | {', '.join(rule.kinds)} |"
            for rule in own
        ]
    return "\n".join(lines) + "\n"


def _backends(rule: Rule) -> str:
    return "all" if rule.backends == ALL_BACKENDS else ", ".join(rule.backends)


def _program(sections: dict[str, str], heading: str) -> str:
    found = _CODE.search(sections.get(heading, ""))
    return found.group(1) if found else ""
