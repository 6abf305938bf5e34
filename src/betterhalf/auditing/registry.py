"""The table of rules: one a file of `rules/`, found by looking into the folder."""

from __future__ import annotations

import inspect
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from betterhalf.auditing import rules
from betterhalf.auditing.rule import Rule
from betterhalf.errors import UsageError


@cache
def all_rules() -> tuple[Rule, ...]:
    """Returns every rule, by code.

    Raises:
        TypeError: a file that holds no rule, or more than one.
    """
    names = [each.name for each in iter_modules(rules.__path__) if each.name[0] != "_"]
    found = [_rule_in(import_module(f"{rules.__name__}.{name}")) for name in names]
    return tuple(sorted(found, key=lambda rule: rule.code))


def find_rule(given: str) -> Rule:
    """Returns the rule of a code or a name.

    Args:
        given: such as `BH201`, or `float16-probabilities`.

    Raises:
        UsageError: there is none of that code or name.
    """
    known: dict[str, Rule] = {}
    for rule in all_rules():
        known[rule.code.lower()] = known[rule.name] = rule
    wanted = given.strip().lower()
    if wanted in known:
        return known[wanted]
    near = get_close_matches(wanted, known, n=1)
    hint = (
        f" Did you mean {known[near[0]].code} ({known[near[0]].name})?" if near else ""
    )
    raise UsageError(
        f"Expected the code or the name of a rule; {say_codes()}. "
        f"Received: '{given}'.{hint}"
    )


def say_codes() -> str:
    """Returns the clause of an error that tells which codes there are."""
    return f"there are {', '.join(rule.code for rule in all_rules())}"


def _rule_in(module: ModuleType) -> Rule:
    found = [
        value
        for value in vars(module).values()
        if inspect.isclass(value)
        and issubclass(value, Rule)
        and value.__module__ == module.__name__
    ]
    if len(found) != 1:
        raise TypeError(
            f"expected one rule in {module.__name__}. Received: {len(found)}."
        )
    return found[0]()
