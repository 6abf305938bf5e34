"""What an audit of a model and its training set-up found."""

from __future__ import annotations

from typing import Literal

from betterhalf.records._base import Record
from betterhalf.records.training import Checks


Severity = Literal["error", "warning", "note"]
"""How sure and how bad: wrong numbers or a crash; likely so; worth knowing."""

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""The worst first."""


class Finding(Record, frozen=True, kw_only=True):
    """One place where one rule found its hazard.

    Attributes:
        code: of the rule, such as `BH201`.
        name: of the rule, such as `float16-probabilities`.
        severity: by the evidence, which may differ from the rule's usual one.
        message: one clause, without a final dot.
        hint: what to do.
        cost: what happens if nothing is done.
        layer: path of the layer; absent where it is about no layer.
        file: of the user's code, relative to the working directory where inside it.
        line: in that file, from 1.
        evidence: the numbers that prove it, by name.
    """

    code: str
    name: str
    severity: Severity
    message: str
    hint: str
    cost: str
    layer: str | None = None
    file: str | None = None
    line: int | None = None
    evidence: dict[str, float] = {}

    @property
    def place(self) -> str:
        """Where it is: a path in the model, `file:line`, or the model as a whole."""
        spot = None if self.file is None else f"{self.file}:{self.line}"
        return " at ".join(part for part in (self.layer, spot) if part) or "model"


class Skipped(Record, frozen=True, kw_only=True):
    """A rule that could not run, and why."""

    code: str
    name: str
    reason: str


class Ignored(Record, frozen=True, kw_only=True):
    """A finding that the user asked not to hear of, and the reason given."""

    finding: Finding
    reason: str


class LayerRow(Record, frozen=True, kw_only=True):
    """A row of the dtype table.

    Attributes:
        path: of the layer in the model.
        class_name: such as `Dense`.
        policy: name of its dtype policy.
        compute_dtype: as the policy says.
        variable_dtype: as the policy says.
        output_dtypes: those it was seen to return; empty where it was not called.
        parameters: of the layer and what is inside it.
        flags: such as `output`, `frozen`, `16-bit weights`.
    """

    path: str
    class_name: str
    policy: str
    compute_dtype: str
    variable_dtype: str
    output_dtypes: tuple[str, ...] = ()
    parameters: int = 0
    flags: tuple[str, ...] = ()


class Audit(Record, frozen=True, kw_only=True):
    """Everything that `betterhalf.check` found.

    Attributes:
        target: what was checked: a model's name, or a script, file or factory as given.
        policy: the policy that was put in place for the audit; absent without one.
        findings: the worst first, then by code and place.
        ignored: findings that were asked not to count, with the reasons given.
        skipped: rules that could not run, with the reasons.
        rules: how many rules ran.
        checks: the three classic checks.
        layers: the dtype table, in the order of the model.
    """

    target: str
    policy: str | None = None
    findings: tuple[Finding, ...] = ()
    ignored: tuple[Ignored, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    rules: int = 0
    checks: Checks = Checks()
    layers: tuple[LayerRow, ...] = ()
