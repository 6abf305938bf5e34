"""The catalogue of rules as a whole."""

import inspect
import re
from pathlib import Path

import pytest

from betterhalf.auditing import pages, rules
from betterhalf.auditing.registry import all_rules, find_rule
from betterhalf.auditing.rule import ALL_BACKENDS
from betterhalf.errors import UsageError
from betterhalf.records.audit import SEVERITIES


ROOT = Path(__file__).parents[3]
CODES = (Path(rules.__file__).parent / "codes.txt").read_text().splitlines()
EACH = pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
CATALOGUE = (ROOT / "docs" / "repairs.md").read_text()


def test_codes_and_names_are_unique():
    codes = [rule.code for rule in all_rules()]
    names = [rule.name for rule in all_rules()]
    assert len(set(codes)) == len(codes)
    assert len(set(names)) == len(names)


def test_every_code_that_was_ever_used_is_written_down():
    assert [f"{rule.code} {rule.name}" for rule in all_rules()] == [
        line for line in CODES if not line.endswith(" (removed)")
    ]


@EACH
def test_a_rule_is_described_in_full(rule):
    assert re.fullmatch(r"BH[1-79]\d\d", rule.code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", rule.name)
    assert rule.severity in SEVERITIES
    assert re.fullmatch(r"\d+\.\d+\.\d+", rule.since)
    assert set(rule.backends) <= set(ALL_BACKENDS)
    for text in (rule.hint, rule.cost):
        assert text
        assert not text.endswith(".")
    for kind in rule.kinds:
        assert re.search(rf"\b{kind}\b", CATALOGUE), kind


@EACH
def test_a_rule_is_called_as_its_file_and_class_are(rule):
    kind = type(rule)
    assert kind.__module__.rpartition(".")[2] == rule.name.replace("-", "_")
    words = re.findall(r"[A-Z][a-z0-9]*", kind.__name__)
    assert "-".join(words).lower() == rule.name.replace("-", "-")
    assert getattr(kind, "__final__", False)


@EACH
def test_the_page_of_a_rule_has_every_heading(rule):
    page = pages.read_page(rule)
    assert tuple(page.sections) == pages.HEADINGS
    assert all(page.sections.values())
    if rule.code != "BH901":
        assert page.example
        assert page.instead
        assert page.example != page.instead


@EACH
def test_a_rule_is_short(rule):
    source = inspect.getsource(type(rule))
    page = type(rule).__doc__ or ""
    assert len(source.splitlines()) - len(page.splitlines()) < 90


@EACH
def test_the_page_in_docs_is_the_one_of_the_rule(rule):
    written = (ROOT / "docs" / "rules" / f"{rule.name}.md").read_text()
    assert written == pages.write_page(rule), "run `python tools/write_rule_pages.py`"


def test_there_is_no_page_without_a_rule():
    names = {f"{rule.name}.md" for rule in all_rules()} | {"index.md"}
    assert {path.name for path in (ROOT / "docs" / "rules").glob("*.md")} == names


def test_a_rule_is_found_by_code_and_by_name():
    assert find_rule("bh201") is find_rule("sixteen-bit-probabilities")


def test_a_wrong_code_is_refused_with_the_nearest():
    with pytest.raises(UsageError, match="Did you mean BH201"):
        find_rule("BH2O1")
