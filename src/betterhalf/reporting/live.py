"""An experiment while it runs: a moving view in a terminal, plain lines elsewhere.

Both write to the console that they are given, which is stderr for a command, so that
stdout holds the answer alone. What the script prints is not shown; it is in the log.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Self, final

from rich.live import Live
from rich.text import Text

from betterhalf.reporting.figures import duration, ratio, seconds
from betterhalf.reporting.progress import Course, Progress
from betterhalf.reporting.samples import step_seconds
from betterhalf.reporting.words import describe_end, one_line


if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from betterhalf.records.events import Event
    from betterhalf.records.plan import Plan, Slot
    from betterhalf.records.trial import Trial


REFRESHES_PER_SECOND = 4
"""As often as the machine is sampled; more would show nothing new."""


@final
class View:
    """Watches an experiment; a context that leaves the terminal as it was.

    Where the console is a terminal, a few lines move below one line for each trial that
    has ended. Elsewhere a line says that a trial begins, and nothing moves.

    ```python
    with View(Console(stderr=True)) as view:
        compare("train.py", observer=view)
    ```

    Args:
        console: of stderr, so that stdout stays free for the answer.
        clock: seconds that never run back.
    """

    def __init__(
        self, console: Console, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console = console
        self._clock = clock
        self._progress: Progress | None = None
        self._live: Live | None = None
        if console.is_terminal and not console.is_dumb_terminal:
            self._live = Live(
                console=console,
                get_renderable=self._render,
                refresh_per_second=REFRESHES_PER_SECOND,
                transient=True,
                redirect_stdout=False,
            )

    def __enter__(self) -> Self:
        """Begins to move."""
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Takes the moving lines away; the cursor is back whatever happened."""
        if self._live is not None:
            self._live.stop()

    @property
    def progress(self) -> Progress | None:
        """Where the experiment stands; absent before its plan."""
        return self._progress

    def on_plan(self, plan: Plan) -> None:
        """Takes the plan that was written."""
        self._progress = Progress(plan)

    def on_trial_began(self, slot: Slot, index: int, total: int) -> None:
        """Shows which trial begins."""
        if self._progress is not None:
            self._progress = self._progress.begin(slot, index, total, self._clock())
        if self._live is None:
            self.on_message(f"trial {index} of {total}: {slot.arm} begins")

    def on_event(self, slot: Slot, event: Event) -> None:
        """Takes what the child of that trial told."""
        if self._progress is not None and self._progress.slot == slot:
            self._progress = self._progress.see(event)

    def on_trial_ended(self, trial: Trial) -> None:
        """Shows how the trial ended."""
        if self._progress is None:
            return
        place = f"trial {self._progress.place} of {self._progress.total}"
        self._progress = self._progress.end(trial)
        self.on_message(f"{place}: {trial.arm} {summarise(trial)}")

    def on_expected_total(self, seconds: float) -> None:
        """Shows about how long the whole takes."""
        self.on_message(f"about {duration(seconds)} in all")

    def on_message(self, text: str) -> None:
        """Shows something that the user should read now."""
        self._console.print(Text(one_line(text)), soft_wrap=True)

    def _render(self) -> Text:
        progress = self._progress
        if progress is None or progress.slot is None:
            return Text("")
        head, *body = describe(progress, self._clock())
        return Text.assemble((head, "bold"), *(f"\n{line}" for line in body))


def describe(progress: Progress, now: float) -> list[str]:
    """Returns a line each: which trial runs, how far it has come, how it compares.

    Args:
        progress: while a trial runs.
        now: by the clock that told when it began.
    """
    name = one_line(progress.slot.arm) if progress.slot else ""
    head = [f"trial {progress.place} of {progress.total}", name]
    left = progress.seconds_left(now)
    if left is not None:
        head.append(f"about {duration(left)} left")
    if progress.course is None:
        body = [f"starting, {duration(now - progress.began_at)}"]
    else:
        body = _describe_course(progress.course)
    lines = ["  ".join(head), "  ".join(body)]
    found = progress.ratio()
    if found is not None:
        lines.append(f"{ratio(found[0])} times as fast as {found[1]} so far")
    return lines


def summarise(trial: Trial) -> str:
    """Returns how a trial ended, how long it took and its time per step."""
    said = f"{describe_end(trial)} ({duration(trial.seconds)}"
    training = trial.judged_training
    measured = step_seconds(training) if training else None
    return f"{said}, {seconds(measured)} per step)" if measured else f"{said})"


def _describe_course(course: Course) -> list[str]:
    of_epochs = f" of {course.planned_epochs}" if course.planned_epochs else ""
    of_steps = f" of {course.steps_per_epoch}" if course.steps_per_epoch else ""
    said = [f"epoch {course.epoch + 1}{of_epochs}", f"step {course.step}{of_steps}"]
    if course.step_seconds is not None:
        said.append(f"{seconds(course.step_seconds)} per step")
    return said
