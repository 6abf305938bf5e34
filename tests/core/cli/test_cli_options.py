from __future__ import annotations

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from betterhalf.cli._options import Duration, GroupedCommand, option


amounts = st.integers(min_value=0, max_value=10_000)


@given(amounts, amounts, amounts, amounts)
def test_a_duration_is_the_sum_of_its_parts(
    days: int, hours: int, minutes: int, seconds: int
) -> None:
    total = 86400 * days + 3600 * hours + 60 * minutes + seconds
    text = f"{days}d{hours}h{minutes}m{seconds}s"
    if total:
        assert Duration().convert(text, None, None) == total
    else:
        with pytest.raises(click.BadParameter):
            Duration().convert(text, None, None)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("30m", 1800), ("2h", 7200), ("1.5h", 5400)]
)
def test_durations_read_as_people_type_them(text: str, seconds: float) -> None:
    assert Duration().convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "30", "30x", "m", "-5m", "1h 30m", "nan", "inf"])
def test_what_is_no_duration_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(click.BadParameter, match=f"such as 90s.*Received: '{text}'"):
        Duration().convert(text, None, None)


def test_options_stand_in_their_groups(capsys: pytest.CaptureFixture[str]) -> None:
    @click.command(cls=GroupedCommand)
    @option("--one", group="First", help="Is one.")
    @option("--two", group="Second", help="Is two.")
    @option("--three", group="First", help="Is three.")
    @click.argument("name")
    def command(**_: object) -> None:
        """Does nothing."""

    command.main(["--help"], standalone_mode=False)
    shown = capsys.readouterr().out
    order = ["First:", "--one", "--three", "Second:", "--two", "Other:", "--help"]
    places = [shown.index(word) for word in order]
    assert places == sorted(places)
