"""An audit as HTML, as a notebook shows it: no script but the one that sorts."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import jinja2

from betterhalf.records.audit import SEVERITIES, Audit
from betterhalf.reporting.audits.account import (
    HEADS,
    cells_of,
    conclude,
    describe_finding,
    describe_ignored,
    describe_skipped,
    describe_target,
)


def as_html(audit: Audit) -> str:
    """Returns an audit as a fragment of HTML; all text is escaped.

    Args:
        audit: what was found.
    """
    groups = [
        (
            severity,
            [describe_finding(f) for f in audit.findings if f.severity == severity],
        )
        for severity in SEVERITIES
    ]
    return _template().render(
        target=describe_target(audit),
        groups=[(severity, found) for severity, found in groups if found],
        ignored=describe_ignored(audit),
        skipped=describe_skipped(audit),
        heads=(*HEADS, ""),
        rows=[cells_of(row) for row in audit.layers],
        conclusion=conclude(audit),
    )


@cache
def _template() -> jinja2.Template:
    source = files("betterhalf.reporting") / "assets" / "audit.html.jinja"
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.from_string(source.read_text("utf-8"))
