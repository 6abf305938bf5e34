"""Starts the watcher in a process of a trial, before the first line of the script."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from pathlib import Path
from types import ModuleType, TracebackType

from betterhalf import backends
from betterhalf.keras_seams import watch_import
from betterhalf.records import events
from betterhalf.records.codec import decode_line
from betterhalf.records.instructions import (
    INSTRUCTIONS_VARIABLE,
    PARENT_VARIABLE,
    Instructions,
)
from betterhalf.records.trial import Failure, Note
from betterhalf.worker.seeds import replace_seeds
from betterhalf.worker.writing import EventWriter


_MAIN_VARIABLE = "BETTERHALF_MAIN"
_PACKAGE = str(Path(__file__).parent.parent)


def start() -> None:
    """Puts the hooks in place, if this process belongs to a trial.

    The first process that comes here is the script's own: it is watched and tells what
    it sees. Those that the script starts get the policy, the backend and the repairs,
    and tell nothing.

    A script that cannot be watched is not run: Python itself would pass over an error
    here, and hours later there would be a trial of which nothing is known.
    """
    path = os.environ.get(INSTRUCTIONS_VARIABLE)
    if path is None:
        return
    me = str(os.getpid())
    is_main = os.environ.setdefault(_MAIN_VARIABLE, me) == me
    try:
        _start(path, is_main)
    except Exception:
        if not is_main:
            raise
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)


def _start(path: str, is_main: bool) -> None:
    instructions = decode_line(Path(path).read_bytes(), Instructions)
    writer = EventWriter(instructions.events if is_main else os.devnull)
    if is_main:
        writer.write(events.Started, pid=os.getpid())
        _tell_what_the_script_raises(writer)
        _end_with_the_parent()
        watch_import("tf_keras", after=lambda _: _note_keras_2(writer))
        watch_import("jax", after=lambda _: backends.load("jax").prepare())
    if instructions.audit is not None:
        if is_main:
            _start_audit(instructions, writer)
        return
    replace_seeds(instructions, writer)
    watch_import(
        "keras",
        before=lambda: _assert_backend(instructions, writer),
        after=lambda keras: _keras_imported(keras, instructions, writer, is_main),
    )


def _start_audit(instructions: Instructions, writer: EventWriter) -> None:
    # what rules need is loaded for an audit alone
    from betterhalf.worker.auditing import Auditor  # noqa: PLC0415

    if instructions.audit is None:
        raise TypeError("expected instructions of an audit")
    auditor = Auditor(instructions.audit)
    watch_import(
        "keras",
        before=lambda: _assert_backend(instructions, writer),
        after=auditor.watch,
    )


def _keras_imported(
    keras: ModuleType, instructions: Instructions, writer: EventWriter, is_main: bool
) -> None:
    # imported here: it needs keras, and a script may never come to it
    from betterhalf.worker.watching import watch  # noqa: PLC0415

    watch(keras, instructions, writer, is_main)


def _note_keras_2(writer: EventWriter) -> None:
    note = Note(
        code="keras-2",
        text="the script imports tf_keras (Keras 2), whose trainings are not watched",
        todo="use Keras 3: `import keras`, without TF_USE_LEGACY_KERAS",
    )
    writer.write(events.Noted, note=note)


def _assert_backend(instructions: Instructions, writer: EventWriter) -> None:
    wanted = instructions.backend
    if wanted is None:
        return
    chosen = os.environ.get("KERAS_BACKEND")
    os.environ["KERAS_BACKEND"] = wanted
    if chosen not in (None, wanted):
        note = Note(
            code="backend-overridden",
            text=f"the script chose the backend {chosen}; this arm runs on {wanted}",
        )
        writer.write(events.Noted, note=note)


def _tell_what_the_script_raises(writer: EventWriter) -> None:
    show = sys.excepthook

    def excepthook(
        kind: type[BaseException],
        error: BaseException,
        trace: TracebackType | None,
    ) -> None:
        text = _traceback_of_the_script(kind, error, trace)
        failure = Failure(
            kind=kind.__name__,
            message=(str(error).splitlines() or [""])[0],
            traceback=text,
        )
        writer.write(events.Raised, failure=failure)
        if show is sys.__excepthook__:
            sys.stderr.write(text)
        else:
            show(kind, error, trace)

    sys.excepthook = excepthook


def _traceback_of_the_script(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> str:
    """Returns the traceback as Python would show it without us: our frames left out."""
    described = traceback.TracebackException(kind, error, trace)
    chained: traceback.TracebackException | None = described
    while chained is not None:
        frames = [frame for frame in chained.stack if not _is_ours(frame.filename)]
        chained.stack = traceback.StackSummary.from_list(frames)
        chained = chained.__cause__ or chained.__context__
    return "".join(described.format())


def _is_ours(file: str) -> bool:
    return file.startswith(_PACKAGE)


def _end_with_the_parent() -> None:
    """Ends this trial, and what it started, once the experiment's process is gone."""
    parent = os.environ.get(PARENT_VARIABLE)
    if parent is None or not hasattr(os, "getppid"):
        return

    def watch() -> None:
        while os.getppid() == int(parent):
            time.sleep(1.0)
        # psutil is for this moment alone
        from betterhalf.hardware.processes import kill_descendants  # noqa: PLC0415

        kill_descendants()
        if hasattr(os, "killpg") and os.getpgid(0) == os.getpid():
            os.killpg(0, signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=watch, name="betterhalf-parent", daemon=True).start()
