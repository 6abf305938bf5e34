"""Reasons to doubt an experiment as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from betterhalf.judging.caveats.noise import find_in_experiment
from betterhalf.judging.looks import FULL, SHORT, Book
from betterhalf.judging.wording import say_count
from betterhalf.records.result import Caveat


if TYPE_CHECKING:
    from collections.abc import Iterator

    from betterhalf.records.plan import Slot


MOST_FILES = 5
"""Files that a caveat names before it counts."""


def find(book: Book, remaining: tuple[Slot, ...]) -> Iterator[Caveat]:
    """Yields what concerns all arms alike."""
    if remaining:
        yield Caveat(
            code="incomplete",
            text=f"{say_count(len(remaining), 'trial')} of the plan has yet to run."
            if len(remaining) == 1
            else f"{len(remaining)} trials of the plan have yet to run.",
            todo="betterhalf compare --resume, with the same script and arguments.",
        )
    yield from _check_script(book)
    yield from _check_environments(book)
    yield from _check_files(book)
    began = any(trial.stage == FULL for trial in book.trials)
    yield from find_in_experiment(book, FULL if began else SHORT)


def _check_script(book: Book) -> Iterator[Caveat]:
    planned = book.plan.script_hash
    changed = sorted(
        f"{trial.arm}-{trial.number}"
        for trial in book.trials
        if trial.script_hash not in {None, planned}
    )
    if changed:
        yield Caveat(
            code="script-changed",
            text=f"{book.plan.script} was edited before {', '.join(changed)} ran.",
            todo="Start a new comparison: these trials trained something else.",
        )


def _check_environments(book: Book) -> Iterator[Caveat]:
    """Versions and devices must be alike within a backend; what differs is named."""
    for arm in (arm for arm in book.plan.arms if arm.is_reference):
        names = {other.name for other in book.plan.arms if other.backend == arm.backend}
        seen = [t.environment for t in book.trials if t.arm in names and t.environment]
        differing = [
            name
            for name in ("python", "platform", "packages", "devices", "variables")
            if len({repr(getattr(environment, name)) for environment in seen}) > 1
        ]
        if differing:
            yield Caveat(
                code="environments-differ",
                text=f"Trials on {arm.backend} ran with different "
                f"{' and '.join(differing)}.",
                todo="Run all trials of a comparison in one environment.",
            )


def _check_files(book: Book) -> Iterator[Caveat]:
    files = sorted({name for trial in book.trials for name in trial.files_shared})
    if files:
        more = f" and {len(files) - MOST_FILES} more" if len(files) > MOST_FILES else ""
        yield Caveat(
            code="files-shared",
            text=f"Trials changed {', '.join(files[:MOST_FILES])}{more} in the working "
            "directory, where later trials may read it.",
            todo="Let the script write to a folder of its own for each process.",
        )
