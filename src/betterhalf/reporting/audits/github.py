"""An audit as commands of GitHub Actions: shown beside the lines of a change."""

from __future__ import annotations

from typing import Final

from betterhalf.records.audit import Audit, Finding, Severity


_COMMANDS: Final[dict[Severity, str]] = {
    "error": "error",
    "warning": "warning",
    "note": "notice",
}


def as_github(audit: Audit) -> str:
    """Returns a workflow command a line, the worst finding first.

    Args:
        audit: what was found.
    """
    return "".join(f"{_command(finding)}\n" for finding in audit.findings)


def _command(finding: Finding) -> str:
    title = f"{finding.code} {finding.name}"
    properties = {"file": finding.file, "line": finding.line, "title": title}
    told = ",".join(
        f"{name}={_escape_property(str(value))}"
        for name, value in properties.items()
        if value is not None
    )
    layer = f"{finding.layer}: " if finding.layer else ""
    text = f"{layer}{finding.message}. {finding.hint}"
    return f"::{_COMMANDS[finding.severity]} {told}::{_escape(text)}"


def _escape(text: str) -> str:
    """Returns text as the runner decodes it; see its toolkit's `command.ts`."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
