"""The run store: a folder with everything that an experiment leaves behind.

`plan.json`, then for each trial `trials/<arm>-<n>.jsonl` while it runs and
`trials/<arm>-<n>.json` once it has ended, its `.log` beside it, and `result.json`. A
file that is there is whole. Nothing is ever deleted: what a killed experiment left half
done is moved to `aside/`.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, final

import msgspec

from betterhalf import __version__
from betterhalf.errors import BetterhalfError, StoreError
from betterhalf.precision.arms import spell_slug
from betterhalf.records import codec
from betterhalf.records.environment import Environment
from betterhalf.records.plan import Plan, Slot
from betterhalf.records.result import Result
from betterhalf.records.trial import Trial
from betterhalf.trials.locking import lock
from betterhalf.trials.writing import write_whole


WRITTEN_BY = f"betterhalf {__version__}"

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialFiles:
    """Where one trial leaves what.

    Attributes:
        record: `.json`, there once the trial has ended.
        events: `.jsonl`, appended to by the child.
        log: what the child printed.
        folder: files that the script saves through Keras.
        instructions: for the child, while it runs.
    """

    record: Path
    events: Path
    log: Path
    folder: Path
    instructions: Path

    @property
    def every(self) -> tuple[Path, ...]:
        """All of them."""
        return self.record, self.events, self.log, self.folder, self.instructions


@final
class Store:
    """Reads and writes one run store.

    Args:
        folder: of the store; it need not exist yet.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._trials = folder / "trials"

    @property
    def plan_file(self) -> Path:
        """Where the plan is; a folder without it is no run store."""
        return self.folder / "plan.json"

    def locked(self) -> AbstractContextManager[None]:
        """Returns a context in which no other process writes to this store."""
        return lock(self.folder / "lock")

    def write_plan(self, plan: Plan, environment: Environment | None) -> None:
        """Writes the plan, with the environment that it was made in."""
        write_whole(
            self.plan_file, codec.encode_file("plan", plan, WRITTEN_BY, environment)
        )

    def read_plan(self) -> Plan:
        """Returns the plan.

        Raises:
            StoreError: the folder has none, or it cannot be used.
        """
        return _read(self.plan_file, "plan", Plan)

    def read_environment(self) -> Environment | None:
        """Returns the environment that the plan was made in."""
        content = _read_bytes(self.plan_file)
        return codec.read_environment(content, self.plan_file.name)

    def write_trial(self, trial: Trial) -> None:
        """Writes the record of a trial that has ended."""
        content = codec.encode_file("trial", trial, WRITTEN_BY, trial.environment)
        write_whole(self.locate(_slot_of(trial)).record, content)

    def read_trials(self, plan: Plan) -> list[Trial]:
        """Returns the trials of `plan` that have ended, in its order.

        A record that is damaged, or of another trial than its name says, counts as one
        that is not there.

        Raises:
            StoreError: a record was written by a newer release.
        """
        read = [(slot, _read_trial(self.locate(slot).record)) for slot in plan.order]
        return [trial for slot, trial in read if trial and _slot_of(trial) == slot]

    def write_result(self, result: Result) -> None:
        """Writes the result, with the environment of the plan."""
        content = codec.encode_file(
            "result", result, WRITTEN_BY, self.read_environment()
        )
        write_whole(self.folder / "result.json", content)

    def read_result(self) -> Result | None:
        """Returns the result, `None` before there is one."""
        file = self.folder / "result.json"
        return _read(file, "result", Result) if file.exists() else None

    def locate(self, slot: Slot) -> TrialFiles:
        """Returns where the trial of `slot` leaves what."""
        kind = "" if slot.stage == 1 else "full-"
        stem = f"{spell_slug(slot.arm)}-{kind}{slot.number}"
        return TrialFiles(
            record=self._trials / f"{stem}.json",
            events=self._trials / f"{stem}.jsonl",
            log=self._trials / f"{stem}.log",
            folder=self._trials / stem,
            instructions=self._trials / f"{stem}.instructions",
        )

    def make_room(self, slot: Slot) -> TrialFiles:
        """Returns where the trial of `slot` leaves what; nothing is there yet.

        What a trial before left there, half done, is moved to `aside/`: its checkpoints
        must not feed the trial that takes its place.

        Raises:
            BetterhalfError: the disk is full or cannot be written, or the store itself
                is gone: trials in a folder without a plan would be run for nothing.
        """
        files = self.locate(slot)
        left = [path for path in files.every if path.exists()]
        try:
            if left:
                self._put_aside(files.folder.name, left)
            self._trials.mkdir(exist_ok=True)
            files.folder.mkdir()
        except OSError as error:
            raise BetterhalfError(
                f"Expected to make {files.folder.name} in {files.folder.parent}. "
                f"Received: {error.strerror or error}. Make room or permit it, then "
                "go on with --resume."
            ) from error
        return files

    def _put_aside(self, stem: str, left: list[Path]) -> None:
        number = 1
        while (place := self.folder / "aside" / f"{stem}-{number}").exists():
            number += 1
        place.mkdir(parents=True)
        for path in left:
            path.rename(place / path.name)


def _slot_of(trial: Trial) -> Slot:
    return Slot(arm=trial.arm, number=trial.number, stage=trial.stage)


def _read_trial(file: Path) -> Trial | None:
    if not file.exists():
        return None
    content = _read_bytes(file)
    try:
        return codec.decode_file(content, "trial", Trial, file.name)
    except StoreError:
        if _is_newer(content):
            raise
        return None


def _is_newer(content: bytes) -> bool:
    try:
        return msgspec.json.decode(content, type=codec.Envelope).version > codec.VERSION
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return False


def _read(file: Path, kind: str, form: type[T]) -> T:
    return codec.decode_file(_read_bytes(file), kind, form, file.name)


def _read_bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise StoreError(
            f"Expected {file.name} of a run store in '{file.parent}'. Received: "
            f"{error.strerror}. Name a folder that betterhalf compare wrote."
        ) from error
