from __future__ import annotations

from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betterhalf.judging.wording import (
    say_change,
    say_count,
    say_interval,
    say_margin,
    say_percent,
    say_ratio,
    say_seconds,
)
from betterhalf.records.result import MetricComparison


def _metric(name="accuracy", reference_mean=0.9, **fields):
    values = {
        "source": "evaluate",
        "mode": "max",
        "mean": 0.9,
        "difference": -0.002,
        "low": -0.009,
        "high": 0.005,
        "level": 0.028,
        "margin": 0.005,
        "smallest_margin_supported": 0.009,
        "outcome": "inconclusive",
    }
    return MetricComparison(
        name=name, reference_mean=reference_mean, **(values | fields)
    )


@pytest.mark.parametrize(
    ("value", "said"),
    [(1.553, "1.55"), (0.1, "0.10"), (0.0349, "0.035"), (12.0, "12.00")],
)
def test_ratios_have_two_telling_digits(value, said):
    assert say_ratio(value) == said


def test_an_interval_stands_in_brackets_if_there_is_one():
    assert say_interval(1.55, 1.51, 1.58) == "1.55 [1.51 … 1.58]"
    assert say_interval(1.55, nan, nan) == "1.55"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.0206, "20.6 ms"),
        (0.2, "200 ms"),
        (0.0023, "2.30 ms"),
        (3.14159, "3.14 s"),
        (59.99, "1 min 0 s"),
        (75.0, "1 min 15 s"),
        (3599.9, "1 h 0 min"),
        (7300.0, "2 h 2 min"),
    ],
)
def test_times_stand_in_the_unit_that_suits_them(seconds, said):
    assert say_seconds(seconds) == said


@given(st.floats(1e-6, 1e5))
def test_a_time_never_shows_sixty_of_its_unit(seconds):
    assert " 60 " not in f" {say_seconds(seconds)} "
    assert not say_seconds(seconds).startswith(("60", "1000 ms"))


def test_small_shares_keep_a_digit():
    assert say_percent(0.63) == "63 %"
    assert say_percent(0.0123) == "1.2 %"


def test_counts_agree_with_their_noun():
    assert say_count(1, "trial") == "1 trial"
    assert say_count(0, "trial") == "0 trials"


def test_differences_of_accuracies_are_points():
    assert say_change(_metric()) == "−0.20 [−0.90 … +0.50] points"
    percent = _metric(reference_mean=91.0, difference=0.104, low=-0.007, high=0.215)
    assert say_change(percent) == "+0.10 [−0.01 … +0.21] points"


def test_other_differences_are_plain():
    loss = _metric("loss", 1.6, difference=0.0, low=nan, high=nan)
    assert say_change(loss) == "0"
    wide = _metric("loss", 1.6, difference=12.0, low=-150.0, high=174.0)
    assert say_change(wide) == "+12 [−150 … +174]"
    narrow = _metric("loss", 1.6, difference=1e-6, low=1e-6, high=1e-6)
    assert say_change(narrow) == "+0.0000010 [+0.0000010 … +0.0000010]"


def test_a_margin_is_said_as_it_was_meant():
    assert say_margin(_metric(), relative=False) == "0.5 points"
    loss = _metric("loss", 1.6, margin=0.016)
    assert say_margin(loss, relative=True) == "1 %"
    assert say_margin(loss, relative=False) == "0.016"
    assert say_margin(_metric("loss", 0.0, margin=0.0), relative=True) == "0"
