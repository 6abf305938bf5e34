import pytest

from betterhalf.auditing.choosing import Choice
from betterhalf.errors import UsageError


def test_the_beginning_of_a_code_selects_all_that_begin_so():
    chosen = Choice(select=("BH2",)).rules()
    assert chosen
    assert all(rule.code.startswith("BH2") for rule in chosen)


def test_an_unknown_rule_is_refused_with_those_that_there_are():
    with pytest.raises(UsageError, match=r"there are BH.*Received: 'BH999'"):
        Choice(select=("BH999",))


def test_to_ignore_a_rule_takes_a_reason():
    with pytest.raises(UsageError, match="reason"):
        Choice(ignore={"BH201": " "})
