from __future__ import annotations

import io
from types import SimpleNamespace
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from betterhalf.records.result import Caveat, Result
from betterhalf.reporting.text import as_text, write_text


if TYPE_CHECKING:
    import pytest

    from betterhalf.records.plan import Plan
    from betterhalf.records.trial import Trial


def test_the_last_line_is_the_sentence_of_the_best_arm(
    plan: Plan, trials: list[Trial], result: Result
) -> None:
    lines = as_text(plan, trials, result).splitlines()
    assert lines[-1] == (
        "mixed_bfloat16 trains 1.55 times as fast as float32. SPEED ONLY."
    )


def test_a_long_last_sentence_stays_whole_off_a_terminal(make: SimpleNamespace) -> None:
    arm = make.arm_result("mixed_bfloat16", sentence="word " * 40 + "end.")
    text = as_text(make.plan(), [], make.result(arms=(arm,)))
    assert text.splitlines()[-1].endswith("end. SPEED ONLY.")


def test_the_edit_can_be_applied_as_it_stands(make: SimpleNamespace) -> None:
    line = "+keras.config.set_dtype_policy('mixed_bfloat16')  # " + "x" * 90
    diff = f"--- train.py\n+++ train.py\n@@ -1 +1,2 @@\n import keras\n{line}\n"
    assert diff in as_text(make.plan(), [], make.result(diff=diff))


@settings(max_examples=30, deadline=None)
@given(st.text(max_size=120), st.integers(min_value=60, max_value=120))
def test_no_line_is_wider_than_the_terminal(
    make: SimpleNamespace, name: str, width: int
) -> None:
    caveat = Caveat(code="odd", text=name, todo=name)
    arm = make.arm_result("float32", caveats=(caveat,))
    result = make.result(script=name, arms=(arm,), caveats=(caveat,), diff=None)
    text = as_text(make.plan(), make.trials(), result, width=width)
    assert max(cell_len(line) for line in text.splitlines()) <= width
    assert "\x1b" not in text


def test_every_line_of_a_whole_report_fits_into_eighty_columns(
    plan: Plan, trials: list[Trial], result: Result
) -> None:
    text = as_text(plan, trials, result)
    assert max(len(line) for line in text.splitlines()) <= 80


def test_what_looks_like_markup_is_shown_as_it_is(make: SimpleNamespace) -> None:
    caveat = Caveat(code="odd", text="layer [bold red]x[/] :smile: \x1b[31m is odd")
    text = as_text(make.plan(), [], make.result(caveats=(caveat,)))
    assert "layer [bold red]x[/] :smile: \ufffd[31m is odd" in text


def show(terminal: bool, result: Result, plan: Plan) -> str:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=terminal, width=80)
    write_text(console, plan, [], result)
    return stream.getvalue()


def test_colour_comes_only_on_a_terminal(
    plan: Plan, result: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b[1;36m" in show(True, result, plan)
    assert "\x1b" not in show(False, result, plan)


def test_no_color_is_respected(
    plan: Plan, result: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "36m" not in show(True, result, plan)


def test_repairs_caveats_and_causes_are_listed(
    plan: Plan, trials: list[Trial], result: Result
) -> None:
    text = as_text(plan, trials, result)
    assert "repaired      loss-scaling" in text
    assert "caveat        spreads-differ" in text
    assert "Next: betterhalf compare --runs 5 narrows the interval." in text
    assert "why           emulated-float16" in text
