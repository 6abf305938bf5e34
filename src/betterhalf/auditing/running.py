"""Runs the rules over a view; one that raises does not hide the others."""

from __future__ import annotations

import traceback
from collections.abc import Iterator

from betterhalf.auditing.choosing import EVERYTHING, Choice
from betterhalf.auditing.registry import find_rule
from betterhalf.auditing.rule import Rule
from betterhalf.auditing.table import read_checks, read_rows
from betterhalf.auditing.view import ModelView
from betterhalf.records.audit import SEVERITIES, Audit, Finding, Ignored, Skipped


def run_rules(
    view: ModelView,
    *,
    target: str | None = None,
    policy: str | None = None,
    choice: Choice = EVERYTHING,
) -> Audit:
    """Returns what the rules find in a view.

    Args:
        view: of a model.
        target: what was checked; the model's name if absent.
        policy: that was put in place for the audit.
        choice: which rules run and which findings count.
    """
    findings: list[Finding] = []
    ignored: list[Ignored] = []
    skipped: list[Skipped] = []
    rules = choice.rules()
    for rule in rules:
        reason = rule.why_skipped(view)
        if reason is not None:
            skipped.append(Skipped(code=rule.code, name=rule.name, reason=reason))
            continue
        for finding in _check(rule, view):
            why = choice.why_ignored(finding)
            if why is None:
                findings.append(finding)
            else:
                ignored.append(Ignored(finding=finding, reason=why))
    return Audit(
        target=view.name if target is None else target,
        policy=policy,
        findings=tuple(sorted(findings, key=_order)),
        ignored=tuple(ignored),
        skipped=tuple(skipped),
        rules=len(rules) - len(skipped),
        checks=read_checks(view),
        layers=read_rows(view),
    )


def _check(rule: Rule, view: ModelView) -> Iterator[Finding]:
    try:
        yield from rule.check(view)
    except Exception as error:  # whatever is wrong with one rule, the others stand
        where = traceback.extract_tb(error.__traceback__)[-1]
        yield find_rule("BH901").finding(
            None,
            f"rule {rule.code} raised {type(error).__name__}: {error} "
            f"({where.name}, line {where.lineno})",
        )


def _order(finding: Finding) -> tuple[int, str, str, int]:
    return (
        SEVERITIES.index(finding.severity),
        finding.code,
        finding.layer or finding.file or "",
        finding.line or 0,
    )
