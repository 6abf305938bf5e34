from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betterhalf.judging import wording
from betterhalf.reporting import figures


anything = st.floats(allow_nan=True, allow_infinity=True)
positive = st.floats(min_value=1e-4, max_value=999.0)


def read(text: str) -> float:
    return float(text.replace("−", "-").replace(",", ""))


@given(st.floats(min_value=-1e9, max_value=1e9))
def test_a_number_reads_back_to_three_digits(value: float) -> None:
    assert read(figures.number(value)) == pytest.approx(value, rel=5.1e-3, abs=0.51e-2)


@given(anything)
def test_a_number_has_a_true_minus_and_no_exponent(value: float) -> None:
    text = figures.number(value)
    assert "-" not in text
    assert "e+" not in text


@given(st.floats(min_value=-1e-7, max_value=-1e-12))
def test_a_negative_number_that_rounds_to_nothing_has_no_sign(value: float) -> None:
    assert figures.number(value, 2) == "0.00"


def test_what_is_no_number_is_said() -> None:
    assert figures.number(math.nan) == "unknown"
    assert figures.number(math.inf) == "∞"
    assert figures.number(-math.inf) == "−∞"


@given(
    st.floats(min_value=1e-6, max_value=1e6), st.floats(min_value=0.005, max_value=0.9)
)
def test_the_ends_of_an_interval_can_be_told_apart(middle: float, half: float) -> None:
    text = figures.interval(middle, middle * (1 - half), middle * (1 + half))
    low, high = text.partition("[")[2].rstrip("]").split(" … ")
    assert read(low) < read(high)


def test_an_interval_writes_its_unit_once_and_equal_decimals() -> None:
    assert figures.interval(41.2, 40.83, 41.91, "ms") == "41.2 ms [40.8 … 41.9]"
    assert (
        figures.interval(0.104, -0.007, 0.215, sign=True) == "+0.104 [−0.007 … +0.215]"
    )


def test_a_missing_interval_is_said() -> None:
    assert figures.interval(1.5, math.nan, math.nan) == "1.50, no interval"
    assert figures.ratio_interval(1.5, math.nan, math.nan) == "1.50, no interval"


@given(positive, positive, positive)
def test_a_speed_up_reads_as_the_sentence_has_it(
    estimate: float, low: float, high: float
) -> None:
    assert figures.ratio_interval(estimate, low, high) == wording.say_interval(
        estimate, low, high
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (42e-6, "42.0 µs"),
        (0.0412, "41.2 ms"),
        (12.34, "12.3 s"),
        (252.0, "4.20 min"),
        (9000.0, "2.50 h"),
        (math.nan, "unknown s"),
    ],
)
def test_a_time_is_in_the_unit_that_suits_it(value: float, text: str) -> None:
    assert figures.seconds(value) == text


def test_the_ends_of_a_time_are_in_the_unit_of_its_estimate() -> None:
    assert figures.seconds_interval(0.9, 0.8, 1.1) == "900 ms [800 … 1,100]"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.2, "0 s"), (-3.0, "0 s"), (40, "40 s"), (760, "13 min"), (9000, "2.5 h")],
)
def test_a_wait_has_no_false_precision(value: float, text: str) -> None:
    assert figures.duration(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(12, "12.0 B"), (642 * 1024**2, "642 MiB"), (1.21 * 1024**3, "1.21 GiB")],
)
def test_memory_is_in_the_unit_that_suits_it(value: float, text: str) -> None:
    assert figures.size(value) == text


def test_a_share_is_a_percentage() -> None:
    assert figures.percent(0.95) == "95 %"
    assert figures.percent(-0.0123, 1) == "−1.2 %"
