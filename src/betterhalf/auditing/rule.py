"""The form of a rule: a code, a page, and a check that yields findings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from betterhalf.auditing.needs import Need
from betterhalf.auditing.sources import Place
from betterhalf.auditing.view import LayerView, ModelView, OutputView
from betterhalf.records.audit import Finding, Severity


ALL_BACKENDS = ("tensorflow", "jax", "torch")


class Rule(ABC):
    """A hazard that can be seen in a `ModelView`.

    Each rule is the one class of its file in `rules/`; the file is called as the rule
    is. The docstring is its page, with the headings of `pages.HEADINGS`, and its first
    test: *Example* is run and must give this rule alone, *Use instead* nothing at all.

    Attributes:
        code: `BHnnn`, of the family that fits (see `docs/check.md`); never used again.
        name: the bad pattern in a few words, such as `float16-probabilities`.
        severity: the usual one; a finding may have another, by its evidence.
        since: release that has it first.
        kinds: failure kinds of `docs/repairs.md` that it covers, such as `K46`.
        hint: what to do.
        cost: what happens if nothing is done.
        backends: on which the hazard exists; on others the rule is skipped.
        needs: what it cannot do without; see `needs`.
        repaired_by_enable: whether `betterhalf.enable` puts right every case; the rule
            is skipped where that is in force.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    severity: ClassVar[Severity]
    since: ClassVar[str]
    kinds: ClassVar[tuple[str, ...]] = ()
    hint: ClassVar[str]
    cost: ClassVar[str]
    backends: ClassVar[tuple[str, ...]] = ALL_BACKENDS
    needs: ClassVar[tuple[Need, ...]] = ()
    repaired_by_enable: ClassVar[bool] = False

    @abstractmethod
    def check(self, view: ModelView) -> Iterator[Finding]:
        """Yields a finding for each place where the hazard is.

        Args:
            view: has what `needs` names.
        """

    def why_skipped(self, view: ModelView) -> str | None:
        """Returns why the rule cannot run on a view; `None` if it can."""
        if view.backend not in self.backends:
            return f"it does not happen on {view.backend}"
        if self.repaired_by_enable and view.environment.enabled:
            return "betterhalf.enable is in force and puts it right"
        return next((n.reason for n in self.needs if not n.is_met(view)), None)

    def finding(
        self,
        where: LayerView | OutputView | Place | None,
        message: str,
        *,
        at: Place | None = None,
        severity: Severity | None = None,
        hint: str | None = None,
        cost: str | None = None,
        **evidence: float | None,
    ) -> Finding:
        """Returns a finding of this rule.

        Args:
            where: the layer, the output or the line; `None` for the model as a whole.
            message: one clause without a final dot, with names in backticks.
            at: the line of the user's code, where `where` is a layer; by default the
                one that made the layer.
            severity: where the evidence asks for another than usual.
            hint: where the usual one does not fit.
            cost: likewise.
            **evidence: the numbers that prove it, by name; `None` is left out.
        """
        layer, line = _locate(where)
        line = at or line
        return Finding(
            code=self.code,
            name=self.name,
            severity=severity or self.severity,
            message=message,
            hint=hint or self.hint,
            cost=cost or self.cost,
            layer=layer,
            file=line.file if line else None,
            line=line.line if line else None,
            evidence={
                name: float(value)
                for name, value in evidence.items()
                if value is not None
            },
        )


def _locate(
    where: LayerView | OutputView | Place | None,
) -> tuple[str | None, Place | None]:
    if isinstance(where, LayerView):
        return where.path, where.made_at
    if isinstance(where, OutputView):
        return (where.layers[0] if where.layers else None), where.made_at
    return None, where
