"""Each rule against views that its case file builds: no Keras is needed for that.

A case file `tests/rules/cases/<rule>.py` has `FOUND`, views in which the rule must find
something, and `SILENT`, views in which it must not, each under a few words that say
what it is; `SEVERITIES` may name the severity of cases.
"""

import importlib.util
from pathlib import Path

import pytest

from betterhalf.auditing.registry import all_rules


FOLDER = Path(__file__).parents[2] / "rules" / "cases"


def load(rule):
    """Returns the case file of a rule as a module."""
    path = FOLDER / f"{rule.name.replace('-', '_')}.py"
    spec = importlib.util.spec_from_file_location(f"cases_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cases(kind):
    return [
        pytest.param(rule, name, view, id=f"{rule.code}-{name}")
        for rule in all_rules()
        for name, view in getattr(load(rule), kind).items()
    ]


@pytest.mark.parametrize(("rule", "name", "view"), cases("FOUND"))
def test_what_a_rule_must_find_is_found(rule, name, view):
    assert rule.why_skipped(view) is None
    found = list(rule.check(view))
    assert found
    expected = getattr(load(rule), "SEVERITIES", {}).get(name)
    assert expected is None or {each.severity for each in found} == {expected}


@pytest.mark.parametrize(("rule", "name", "view"), cases("SILENT"))
def test_where_nothing_is_wrong_a_rule_is_silent(rule, name, view):
    del name
    assert rule.why_skipped(view) is not None or list(rule.check(view)) == []


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_a_rule_has_more_silent_cases_than_found_ones(rule):
    module = load(rule)
    assert len(module.SILENT) > len(module.FOUND)


def test_there_is_no_case_file_without_a_rule():
    names = {rule.name.replace("-", "_") for rule in all_rules()}
    assert {path.stem for path in FOLDER.glob("*.py")} == names
