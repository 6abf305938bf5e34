from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from betterhalf.records.events import TrainingBegan, WindowClosed
from betterhalf.records.training import Window
from betterhalf.reporting.live import View, describe


if TYPE_CHECKING:
    from types import SimpleNamespace

    from betterhalf.records.plan import Plan


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def show(plan: Plan, make: SimpleNamespace, console: Console, clock: Clock) -> View:
    view = View(console, clock)
    with view:
        view.on_plan(plan)
        for place, slot in enumerate(plan.order[:2], 1):
            view.on_trial_began(slot, place, 9)
            clock.now += 3.0
            view.on_trial_ended(make.trial(slot.arm, slot.number))
            if place == 1:
                view.on_expected_total(300.0)
        slot = plan.order[4]
        view.on_trial_began(slot, 5, 9)
        view.on_event(
            slot,
            TrainingBegan(at=1.0, ordinal=0, kind="fit", model="m", planned_epochs=15),
        )
        sample = Window(epoch=2, steps=120, seconds=120 * 0.0412, steady=True)
        view.on_event(slot, WindowClosed(at=2.0, ordinal=0, window=sample))
        view.on_event(plan.order[0], WindowClosed(at=2.0, ordinal=0, window=sample))
    return view


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


def test_off_a_terminal_every_trial_has_a_line_at_both_ends(
    plan: Plan, make: SimpleNamespace
) -> None:
    stream = io.StringIO()
    show(plan, make, Console(file=stream, width=40), Clock())
    assert stream.getvalue().splitlines() == [
        "trial 1 of 9: float32 begins",
        "trial 1 of 9: float32 finished (31 s, 64.4 ms per step)",
        "about 5 min in all",
        "trial 2 of 9: mixed_bfloat16 begins",
        "trial 2 of 9: mixed_bfloat16 finished (31 s, 41.6 ms per step)",
        "trial 5 of 9: mixed_bfloat16 begins",
    ]


def test_what_moves_says_where_the_experiment_stands(
    plan: Plan, make: SimpleNamespace
) -> None:
    clock = Clock()
    view = show(plan, make, Console(file=io.StringIO()), clock)
    assert view.progress is not None
    assert describe(view.progress, clock.now) == [
        "trial 5 of 9  mixed_bfloat16  about 3 min left",
        "epoch 3 of 15  step 120  41.2 ms per step",
        "1.56 times as fast as float32 so far",
    ]


def test_a_trial_that_has_not_trained_yet_is_starting(plan: Plan) -> None:
    clock = Clock()
    view = View(Console(file=io.StringIO()), clock)
    view.on_plan(plan)
    view.on_trial_began(plan.order[0], 1, 9)
    clock.now = 4.0
    assert view.progress is not None
    assert describe(view.progress, clock.now) == [
        "trial 1 of 9  float32",
        "starting, 4 s",
    ]


def test_on_a_terminal_the_cursor_comes_back(plan: Plan, make: SimpleNamespace) -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=80)
    show(plan, make, console, Clock())
    written = stream.getvalue()
    assert written.rindex("\x1b[?25h") > written.rindex("\x1b[?25l")
    assert "begins" not in written
    assert "trial 1 of 9: float32 finished" in written


def test_the_cursor_comes_back_after_an_error(plan: Plan) -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=80)
    with pytest.raises(KeyboardInterrupt), View(console):
        raise KeyboardInterrupt
    assert "\x1b[?25h" in stream.getvalue()


def test_a_message_cannot_steer_the_terminal() -> None:
    stream = io.StringIO()
    View(Console(file=stream)).on_message("seen\x1b[2J [bold]x[/]")
    assert stream.getvalue() == "seen\ufffd[2J [bold]x[/]\n"
