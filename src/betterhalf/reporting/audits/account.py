"""What is said of an audit, in the same words in a terminal and on a page."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from betterhalf.records.audit import (
    SEVERITIES,
    Audit,
    Finding,
    LayerRow,
    Severity,
)
from betterhalf.reporting.checks import describe_checks
from betterhalf.reporting.figures import number
from betterhalf.reporting.words import counted, listed, one_line


HEADS = ("layer", "class", "policy", "compute", "variables", "output", "parameters")
"""Columns of the dtype table; the last one, with the flags, has no head."""

SORTS = {
    "model": None,
    "layer": "path",
    "class": "class_name",
    "policy": "policy",
    "compute": "compute_dtype",
    "output": "output_dtypes",
    "parameters": "parameters",
}
"""What the table can be sorted by, and the field that it is; `model` is its order."""


class Said(NamedTuple):
    """One finding in words.

    Attributes:
        head: code, name and place.
        text: what was found.
        evidence: the numbers; empty without any.
        hint: what to do.
        cost: what happens otherwise.
    """

    head: str
    text: str
    evidence: str
    hint: str
    cost: str


def describe_finding(finding: Finding) -> Said:
    """Returns a finding in words, each on one line."""
    numbers = [
        f"{name.replace('_', ' ')} {number(value)}"
        for name, value in finding.evidence.items()
    ]
    return Said(
        head=one_line(f"{finding.code} {finding.name}  {finding.place}"),
        text=one_line(finding.message),
        evidence=one_line(", ".join(numbers)),
        hint=one_line(finding.hint),
        cost=one_line(finding.cost),
    )


def describe_target(audit: Audit) -> str:
    """Returns what was checked, and the three classic checks, in one line."""
    under = f" under {audit.policy}" if audit.policy else ""
    return one_line(f"{audit.target}{under}: {describe_checks(audit.checks)}")


def count_findings(audit: Audit) -> dict[Severity, int]:
    """Returns how many findings there are of each severity."""
    return {
        severity: sum(each.severity == severity for each in audit.findings)
        for severity in SEVERITIES
    }


def conclude(audit: Audit) -> str:
    """Returns the last line: how much was found, by how many rules.

    >>> conclude(Audit(target="train.py", rules=31))
    'Nothing was found by 31 rules.'
    """
    counts = [counted(n, s) for s, n in count_findings(audit).items() if n]
    rules = counted(audit.rules, "rule")
    said = f"{listed(counts)}, {rules}" if counts else f"Nothing was found by {rules}"
    if audit.ignored:
        said += f", {counted(len(audit.ignored), 'finding')} ignored"
    return f"{said}."


def describe_skipped(audit: Audit) -> list[str]:
    """Returns why rules did not run, those of one reason together."""
    by_reason: dict[str, list[str]] = defaultdict(list)
    for each in audit.skipped:
        by_reason[each.reason].append(each.code)
    return [
        one_line(f"{listed(codes)}: {reason}") for reason, codes in by_reason.items()
    ]


def describe_ignored(audit: Audit) -> list[str]:
    """Returns what was ignored, and the reasons that were given."""
    return [
        one_line(f"{each.finding.code}  {each.finding.place}: {each.reason}")
        for each in audit.ignored
    ]


def sort_rows(audit: Audit, by: str = "model") -> list[LayerRow]:
    """Returns the rows of the dtype table in an order of `SORTS`."""
    field = SORTS[by]
    if field is None:
        return list(audit.layers)
    rows = sorted(audit.layers, key=lambda row: getattr(row, field))
    return rows[::-1] if field == "parameters" else rows


def cells_of(row: LayerRow) -> list[str]:
    """Returns a row of the dtype table in words, its flags the last cell."""
    return [
        one_line(row.path),
        one_line(row.class_name),
        one_line(row.policy),
        row.compute_dtype,
        row.variable_dtype,
        ", ".join(row.output_dtypes),
        f"{row.parameters:,}",
        ", ".join(row.flags),
    ]
