"""Which rules run and which findings count: select, ignore, comments in the code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from betterhalf.auditing.registry import all_rules, say_codes
from betterhalf.auditing.rule import Rule
from betterhalf.errors import UsageError
from betterhalf.records.audit import Finding


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """What the user wants to hear of.

    Attributes:
        select: codes, beginnings of codes such as `BH2`, or names; empty for all rules.
        ignore: the same, each with the reason why its findings do not count.
        lines: for a file and a line the codes that a comment there ignores, each with
            its reason; the code `BH` stands for all.

    Example:

    >>> Choice(select=("BH2",), ignore={"BH203": "the scores stay below 1"})
    """

    select: tuple[str, ...] = ()
    ignore: Mapping[str, str] = field(default_factory=dict)
    lines: Mapping[tuple[str, int], Mapping[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        refuse_unknown((*self.select, *self.ignore))
        for asked, reason in self.ignore.items():
            if not reason.strip():
                raise UsageError(
                    f"Expected a reason why findings of {asked} do not count. "
                    f"Received: none. Write ignore={{'{asked}': 'the reason'}}."
                )

    def rules(self) -> tuple[Rule, ...]:
        """Returns the rules that run."""
        return tuple(
            rule
            for rule in all_rules()
            if not self.select or _matches(rule, self.select)
        )

    def why_ignored(self, finding: Finding) -> str | None:
        """Returns the reason why a finding does not count; `None` if it does."""
        for asked, reason in self.ignore.items():
            if _matches(finding, (asked,)):
                return reason
        here = self.lines.get((finding.file or "", finding.line or 0), {})
        for asked, reason in here.items():
            if _matches(finding, (asked,)):
                return reason
        return None


def refuse_unknown(asked: Sequence[str]) -> None:
    """Raises `UsageError` for a code or name that fits no rule."""
    for each in asked:
        if not any(_matches(rule, (each,)) for rule in all_rules()):
            raise UsageError(
                "Expected codes such as BH201, beginnings such as BH2, or names of "
                f"rules; {say_codes()}. Received: '{each}'."
            )


def _matches(what: Rule | Finding, asked: Iterable[str]) -> bool:
    return any(
        each == what.name or (each.startswith("BH") and what.code.startswith(each))
        for each in asked
    )


EVERYTHING = Choice()
