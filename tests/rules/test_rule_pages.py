"""What the page of a rule claims is run, on each backend that the rule names."""

import os

import pytest
from running_examples import findings_of

from betterhalf.auditing.pages import read_page
from betterhalf.auditing.registry import all_rules


BACKEND = os.environ["KERAS_BACKEND"]
RULES = [
    pytest.param(rule, id=f"{rule.code}-{rule.name}")
    for rule in all_rules()
    if BACKEND in rule.backends and read_page(rule).example
]


@pytest.mark.parametrize("rule", RULES)
def test_the_example_of_a_page_gives_its_rule_alone(rule, tmp_path):
    found = findings_of(read_page(rule).example, tmp_path / "example.py")
    assert {finding.code for finding in found} == {rule.code}, found


@pytest.mark.parametrize("rule", RULES)
def test_what_to_use_instead_gives_nothing(rule, tmp_path):
    assert findings_of(read_page(rule).instead, tmp_path / "instead.py") == ()
