"""Who watches an experiment: a live view, a log, or nobody."""

from __future__ import annotations

from typing import Protocol, final

from betterhalf.records.events import Event
from betterhalf.records.plan import Plan, Slot
from betterhalf.records.trial import Trial


class Observer(Protocol):
    """Is told what happens in an experiment, in the thread that runs it.

    What an observer raises ends the experiment; what has ended before is on the disk.
    """

    def on_plan(self, plan: Plan) -> None:
        """The plan is written; nothing has started yet."""

    def on_trial_began(self, slot: Slot, index: int, total: int) -> None:
        """The trial `slot` begins, number `index` from 1 of `total`."""

    def on_event(self, slot: Slot, event: Event) -> None:
        """The child of the running trial told something."""

    def on_trial_ended(self, trial: Trial) -> None:
        """A trial has ended, and its record is written."""

    def on_expected_total(self, seconds: float) -> None:
        """After the first trial: about how long the whole experiment takes."""

    def on_message(self, text: str) -> None:
        """Something that the user should read now."""


@final
class NoObserver(Observer):
    """Lets everything pass."""
