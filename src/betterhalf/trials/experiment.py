"""Runs an experiment: one trial after the other, each saved the moment it ends.

`judging` says which trials are still worth running, and the first of them runs. What
has ended is on the disk before anything else happens, so that Ctrl-C, a crash or a
power cut costs no more than the trial that was running.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, final

import msgspec

from betterhalf.errors import UsageError
from betterhalf.judging import list_remaining
from betterhalf.records import codec
from betterhalf.records.arm import Arm
from betterhalf.records.events import Event
from betterhalf.records.instructions import Instructions
from betterhalf.records.plan import Plan, Slot
from betterhalf.records.trial import Failure, Trial
from betterhalf.trials.affording import (
    begins_full_trainings,
    fit_to_budget,
    say_cost,
    say_unaffordable,
)
from betterhalf.trials.executors import AbstractExecutor
from betterhalf.trials.expecting import expect_total, expect_trial
from betterhalf.trials.logs import Shortener
from betterhalf.trials.observing import Observer
from betterhalf.trials.programs import Program
from betterhalf.trials.recording import make_record
from betterhalf.trials.snapshots import list_changes, take_snapshot
from betterhalf.trials.store import Store, TrialFiles
from betterhalf.trials.usability import FAILED, refuse_unusable
from betterhalf.trials.writing import write_whole


SHORT: Final = 1
"""Stage of trials that end as soon as their speed is known."""


@final
class Sitting:
    """One sitting at an experiment; `run` goes on until nothing is left to run.

    Args:
        plan: as it was written.
        program: what a trial runs.
        store: where everything goes; its lock is held.
        executor: runs a trial.
        observer: is told what happens.
        clock: seconds that never run back.
    """

    def __init__(
        self,
        plan: Plan,
        program: Program,
        store: Store,
        executor: AbstractExecutor,
        observer: Observer,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._plan = plan
        self._program = program
        self._store = store
        self._executor = executor
        self._observer = observer
        self._clock = clock
        self._began = clock()
        self._arms = {arm.name: arm for arm in plan.arms}
        self._shortener = Shortener(program.folder, Path.home())
        self._ended: list[Trial] = []

    def run(self) -> None:
        """Runs what is left of the experiment and saves each trial as it ends.

        It stops early where the reference fails in its first block, and where the
        budget would not last for the next trial; `judging` sees what is missing. What
        full trainings cost is said before the first of them.

        Raises:
            UsageError: the script cannot be compared, or was edited meanwhile.
            KeyboardInterrupt: Ctrl-C; the trial that ran is saved as `interrupted`.
        """
        self._ended = self._read_ended()
        for trial in self._ended[:1]:
            refuse_unusable(self._plan, trial)
        while remaining := list_remaining(self._plan, self._ended):
            slot = remaining[0]
            self._refuse_edited_script()
            if begins_full_trainings(self._ended, slot):
                if not self._begin_full_trainings():
                    return
                remaining = list_remaining(self._plan, self._ended)
            if not self._fits_budget(slot):
                self._tell_budget(len(remaining))
                return
            total = len(self._ended) + len(remaining)
            self._observer.on_trial_began(slot, len(self._ended) + 1, total)
            trial = self._run_trial(slot)
            self._observer.on_trial_ended(trial)
            if trial.outcome == "interrupted":
                self._tell_budget(len(remaining))
                return
            self._ended.append(trial)
            if len(self._ended) == 1:
                refuse_unusable(self._plan, trial)
            if self._stops_all(trial):
                self._observer.on_message(
                    f"{trial.arm} failed, and without it there is no comparison."
                )
                return
            self._tell_expected_total()

    def _read_ended(self) -> list[Trial]:
        """Returns the trials that need not run again.

        Those that stopped the experiment do: what made the reference fail may be gone.
        """
        return [
            trial
            for trial in self._store.read_trials(self._plan)
            if trial.outcome != "interrupted" and not self._stops_all(trial)
        ]

    def _stops_all(self, trial: Trial) -> bool:
        is_reference = self._arms[trial.arm].is_reference
        return is_reference and trial.number == 1 and trial.outcome in FAILED

    def _refuse_edited_script(self) -> None:
        if self._program.hash_now() != self._plan.script_hash:
            raise UsageError(
                f"Expected {self._plan.script} to stay as it is while it is compared. "
                "Received: one that was edited. Put it back and go on with --resume, "
                "or start anew."
            )

    def _run_trial(self, slot: Slot) -> Trial:
        files = self._store.make_room(slot)
        judged = self._find_judged()
        instructions = self._instruct(slot, files, judged)
        write_whole(files.instructions, codec.encode_line(instructions))
        before = take_snapshot(self._program.folder, self._store.folder)
        limit, is_budget = self._limit_seconds()

        def tell(event: Event) -> None:
            self._observer.on_event(slot, event)

        try:
            ending = self._executor.run(
                self._program, files, timeout_seconds=limit, on_event=tell
            )
        finally:
            files.instructions.unlink(missing_ok=True)
        with _holding_back_interrupt():
            after = take_snapshot(self._program.folder, self._store.folder)
            trial = make_record(
                files, slot, ending, judged=judged, shortener=self._shortener
            )
            trial = msgspec.structs.replace(
                trial,
                script_hash=self._plan.script_hash,
                files_shared=list_changes(before, after),
            )
            if is_budget and trial.outcome == "timed-out":
                trial = _as_interrupted(trial)
            self._store.write_trial(trial)
            with contextlib.suppress(OSError):  # it stays where it holds something
                files.folder.rmdir()
        if ending.interrupted:
            self._observer.on_trial_ended(trial)
            raise KeyboardInterrupt
        return trial

    def _instruct(
        self, slot: Slot, files: TrialFiles, judged: int | None
    ) -> Instructions:
        arm: Arm = self._arms[slot.arm]
        limits = self._plan.limits
        return Instructions(
            policy=arm.policy,
            backend=arm.backend,
            raw=arm.raw,
            block=slot.number - 1,
            keep_seeds=self._plan.keep_seeds,
            short=slot.stage == SHORT,
            steady_seconds=limits.steady_seconds,
            steady_steps=limits.steady_steps,
            judged=judged if slot.stage == SHORT else None,
            epochs=self._plan.epochs,
            steps=self._plan.steps,
            events=str(files.events.absolute()),
            folder=str(files.folder.absolute()),
        )

    def _find_judged(self) -> int | None:
        """Returns what the first trial that trained showed to be the judged training.

        None before that: such a trial goes through the whole script.
        """
        return next((t.judged for t in self._ended if t.judged is not None), None)

    def _limit_seconds(self) -> tuple[float | None, bool]:
        """Returns when to end a trial, and whether that is for want of budget."""
        timeout, budget = self._plan.trial_timeout_seconds, self._plan.budget_seconds
        if budget is None:
            return timeout, False
        left = max(budget - (self._clock() - self._began), 0.0)
        return (timeout, False) if timeout and timeout < left else (left, True)

    def _fits_budget(self, slot: Slot) -> bool:
        budget = self._plan.budget_seconds
        if budget is None:
            return True
        used = self._clock() - self._began
        return used + expect_trial(self._ended, slot) < budget

    def _begin_full_trainings(self) -> bool:
        """Says what they cost and fits them to the budget; false if none fits."""
        self._observer.on_message(say_cost(self._plan, self._ended))
        budget = self._plan.budget_seconds
        if budget is None:
            return True
        left = budget - (self._clock() - self._began)
        fitted = fit_to_budget(self._plan, self._ended, left)
        if fitted is None:
            self._observer.on_message(say_unaffordable(self._plan, self._ended, left))
            return False
        if fitted != self._plan:
            self._plan = fitted
            self._store.write_plan(fitted, self._store.read_environment())
        return True

    def _tell_budget(self, left: int) -> None:
        self._observer.on_message(
            f"The budget is used up: {left} of the planned trials have not run. Go on "
            "with --resume."
        )

    def _tell_expected_total(self) -> None:
        remaining = list_remaining(self._plan, self._ended)
        if len(self._ended) == 1 and remaining:
            elapsed = self._clock() - self._began
            self._observer.on_expected_total(
                expect_total(self._ended, remaining, elapsed)
            )


def _as_interrupted(trial: Trial) -> Trial:
    failure = Failure(kind="budget", message="the budget ran out (--budget)")
    return msgspec.structs.replace(trial, outcome="interrupted", failure=failure)


@contextlib.contextmanager
def _holding_back_interrupt() -> Iterator[None]:
    """Lets Ctrl-C wait until a trial that has ended is on the disk."""
    is_main = threading.current_thread() is threading.main_thread()
    if not (is_main and callable(signal.getsignal(signal.SIGINT))):
        yield
        return
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt
