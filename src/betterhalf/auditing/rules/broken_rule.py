"""BH901: a rule of betterhalf's raised."""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

from betterhalf.auditing.rule import Rule
from betterhalf.auditing.view import ModelView
from betterhalf.records.audit import Finding


@final
class BrokenRule(Rule):
    """## What it does
    Says that another rule raised an error, so that what it would have found is not
    known. The other rules are not touched by it.

    ## Why is this bad?
    It is a fault of betterhalf, not of the model.

    ## Known problems
    None.

    ## Example
    It cannot be shown: a rule that is known to raise is put right.

    ## Use instead
    Ignore the rule that raised, `--ignore CODE=reason`, and report it.

    ## References
    None.
    """

    code = "BH901"
    name = "broken-rule"
    severity = "warning"
    since = "0.1.0"
    hint = "report it with the model, and leave the rule out with `--ignore` meanwhile"
    cost = "what that rule would find is not known"

    def check(self, view: ModelView) -> Iterator[Finding]:
        """Yields nothing: `running` makes its findings."""
        del view
        yield from ()
