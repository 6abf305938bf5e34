"""Makes the record of a trial from what the trial left behind: events, log, ending."""

from __future__ import annotations

import msgspec
import psutil

from betterhalf.records.plan import Slot
from betterhalf.records.trial import Failure, Trial
from betterhalf.trials.endings import Ending
from betterhalf.trials.folding import fold, read_events
from betterhalf.trials.logs import Shortener, read_end, take_tail
from betterhalf.trials.store import TrialFiles


def make_record(
    files: TrialFiles,
    slot: Slot,
    ending: Ending,
    *,
    judged: int | None,
    shortener: Shortener,
) -> Trial:
    """Returns the record of the trial that has just ended.

    Args:
        files: where its events and its log are.
        slot: its place in the plan.
        ending: how its process ended.
        judged: ordinal of the training that counts; found anew where absent.
        shortener: takes absolute paths out of everything that is kept.
    """
    log = shortener.shorten(read_end(files.log))
    told = files.events.read_bytes() if files.events.exists() else b""
    trial = fold(
        read_events(told.splitlines()),
        slot,
        ending,
        judged=judged,
        log=log,
        memory_bytes=psutil.virtual_memory().total,
    )
    return msgspec.structs.replace(
        trial,
        log_tail=take_tail(log),
        failure=_shorten_failure(trial.failure, shortener),
        notes=tuple(
            msgspec.structs.replace(note, text=shortener.shorten(note.text))
            for note in trial.notes
        ),
    )


def _shorten_failure(failure: Failure | None, shortener: Shortener) -> Failure | None:
    if failure is None:
        return None
    told = failure.traceback
    return Failure(
        kind=failure.kind,
        message=shortener.shorten(failure.message),
        traceback=None if told is None else shortener.shorten(told),
    )
