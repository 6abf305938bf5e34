from __future__ import annotations

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize(
    "name", ["differences", "intervals", "looks", "power", "proportions", "ratios"]
)
def test_the_examples_in_the_docstrings_are_true(name):
    outcome = doctest.testmod(import_module(f"betterhalf.statistics.{name}"))
    assert outcome.attempted > 0
    assert outcome.failed == 0
