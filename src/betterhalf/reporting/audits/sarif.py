"""An audit in SARIF 2.1.0, which code hosts and editors read (an OASIS standard)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

import msgspec

from betterhalf import __version__
from betterhalf.records.audit import Audit, Finding, Ignored


SCHEMA: Final = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
    "sarif-schema-2.1.0.json"
)


def as_sarif(audit: Audit) -> str:
    """Returns a log of one run; ignored findings are in it, as suppressed.

    Args:
        audit: what was found.
    """
    found = [*audit.findings, *(each.finding for each in audit.ignored)]
    results = [
        *(_result(finding) for finding in audit.findings),
        *(_suppressed(each) for each in audit.ignored),
    ]
    driver = {"name": "betterhalf", "version": __version__, "rules": _rules(found)}
    run = {
        "tool": {"driver": driver},
        "columnKind": "utf16CodeUnits",
        "results": results,
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return msgspec.json.format(msgspec.json.encode(log), indent=2).decode() + "\n"


def _rules(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """Returns each rule that found something, once."""
    rules = {finding.code: finding for finding in findings}
    return [
        {
            "id": code,
            "name": finding.name,
            "shortDescription": {"text": finding.name.replace("-", " ")},
            "help": {"text": f"{finding.hint}. If ignored: {finding.cost}."},
        }
        for code, finding in sorted(rules.items())
    ]


def _result(finding: Finding) -> dict[str, Any]:
    return {
        "ruleId": finding.code,
        "level": finding.severity,
        "message": {"text": f"{finding.message}. {finding.hint}."},
        "locations": _locations(finding),
        "properties": {"evidence": finding.evidence},
    }


def _suppressed(ignored: Ignored) -> dict[str, Any]:
    suppression = {"kind": "external", "justification": ignored.reason}
    return {**_result(ignored.finding), "suppressions": [suppression]}


def _locations(finding: Finding) -> list[dict[str, Any]]:
    """Returns the one place of a finding: a line, a layer or both."""
    place: dict[str, Any] = {}
    if finding.file is not None:
        place["physicalLocation"] = {
            "artifactLocation": {"uri": quote(finding.file)},
            "region": {"startLine": max(finding.line or 1, 1)},
        }
    if finding.layer is not None:
        place["logicalLocations"] = [
            {"fullyQualifiedName": finding.layer, "kind": "object"}
        ]
    return [place] if place else []
