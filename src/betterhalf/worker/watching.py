"""Joins those who listen at Keras's seams: policy, repairs, files, the watcher."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from betterhalf import backends
from betterhalf.keras_seams import Listener, install
from betterhalf.records import events
from betterhalf.records.instructions import Instructions
from betterhalf.records.trial import Note, Repair
from betterhalf.repairing import Repairs
from betterhalf.worker.files import TrialFiles
from betterhalf.worker.policy import PolicyKeeper
from betterhalf.worker.trainings import TrainingWatcher
from betterhalf.worker.writing import EventWriter


def watch(
    keras: ModuleType, instructions: Instructions, writer: EventWriter, is_main: bool
) -> None:
    """Puts the arm's policy in place and listens to everything that follows.

    Args:
        keras: just imported by the script, which has not gone on yet.
        instructions: of this trial.
        writer: where events go.
        is_main: false in a process that the script started.
    """
    written: set[Any] = set()

    def tell_repair(repair: Repair) -> None:
        if repair not in written:
            written.add(repair)
            writer.write(events.Repaired, repair=repair)

    def tell_note(note: Note) -> None:
        if note not in written:
            written.add(note)
            writer.write(events.Noted, note=note)

    keeper = PolicyKeeper(keras, instructions, tell_note)
    listeners: list[Listener] = [keeper]
    if is_main:
        backend = backends.load(keras.backend.backend())
        listeners.append(TrainingWatcher(keras, backend, instructions, writer))
    if not instructions.raw:
        listeners.append(Repairs(keras, tell_repair, tell_note))
    install(keras, listeners)
    TrialFiles(keras, instructions.folder).redirect()
    keeper.set()
