"""How one trial is run; the experiment does not know where.

`LocalExecutor` starts a child process on this machine. Tests write another that starts
none, so that order, resuming and failure are tested in milliseconds.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, final

from betterhalf.errors import BetterhalfError
from betterhalf.hardware.processes import end_process_tree
from betterhalf.hardware.sampling import Sampler
from betterhalf.records.events import Event, Left
from betterhalf.records.instructions import INSTRUCTIONS_VARIABLE, PARENT_VARIABLE
from betterhalf.trials.endings import Ending
from betterhalf.trials.folding import read_events
from betterhalf.trials.leftovers import end_leftovers
from betterhalf.trials.programs import Program
from betterhalf.trials.store import TrialFiles
from betterhalf.worker import hook_folder


_POLL_SECONDS: Final = 0.2
"""Five looks a second are live enough, and cost nothing that a clock could see."""
_GRACE_SECONDS: Final = 5.0
"""Between the request to end and the kill: a script may have something to save."""
_LEAVE_SECONDS: Final = 10.0
"""A child that has said that it leaves is gone at once, unless it hangs at its exit."""
_READ_BYTES: Final = 1 << 20


class AbstractExecutor(ABC):
    """Runs trials, one after the other."""

    @abstractmethod
    def run(
        self,
        program: Program,
        files: TrialFiles,
        *,
        timeout_seconds: float | None,
        on_event: Callable[[Event], None],
    ) -> Ending:
        """Runs one trial to its end, whatever that is, and leaves nothing running.

        Ctrl-C ends the trial, and is told in `Ending.interrupted` instead of raised.

        Args:
            program: what the trial runs.
            files: where it leaves what; the instructions are there.
            timeout_seconds: a trial that takes longer is ended.
            on_event: called with each event of the child while it runs.
        """


@final
class LocalExecutor(AbstractExecutor):
    """Runs a trial as a child process, literally as the user would start it.

    The child has a session of its own, no stdin, and its output in the log.

    Args:
        environ: of the children; that of this process if absent.
        hook: folder for the head of `PYTHONPATH`; the worker's if absent.
    """

    def __init__(
        self, environ: Mapping[str, str] | None = None, hook: str | None = None
    ) -> None:
        self._environ = dict(os.environ if environ is None else environ)
        self._hook = hook_folder() if hook is None else hook

    def run(
        self,
        program: Program,
        files: TrialFiles,
        *,
        timeout_seconds: float | None,
        on_event: Callable[[Event], None],
    ) -> Ending:
        """Runs one trial as a child of this process."""
        environ = self._make_environ(files)
        # of an experiment that was killed: they would load the machine, and write here
        end_leftovers(str(files.instructions))
        began = time.monotonic()
        process = _start(program, files, environ)
        sampler = Sampler(process.pid, _POLL_SECONDS, environ)
        watch = _Watch(process, files.events, on_event, began)
        ended_by, interrupted, left_behind = "itself", False, 0
        try:
            sampler.start()
            ended_by = watch.until_end(timeout_seconds)
        except KeyboardInterrupt:
            interrupted = True
            ended_by = "itself" if process.poll() is not None else "interrupt"
        finally:
            seconds = time.monotonic() - began
            own = 1 if process.poll() is None else 0
            ended, pressed = _end_all(process, str(files.instructions))
            interrupted, left_behind = interrupted or pressed, max(ended - own, 0)
            timeline = sampler.stop()
        return Ending(
            exit_code=process.returncode,
            seconds=seconds,
            ended_by=ended_by,
            interrupted=interrupted,
            left_behind=left_behind,
            timeline=timeline,
        )

    def _make_environ(self, files: TrialFiles) -> dict[str, str]:
        before = self._environ.get("PYTHONPATH")
        return {
            **self._environ,
            INSTRUCTIONS_VARIABLE: str(files.instructions),
            PARENT_VARIABLE: str(os.getpid()),
            "PYTHONPATH": os.pathsep.join(filter(None, (self._hook, before))),
        }


def _start(
    program: Program, files: TrialFiles, environ: dict[str, str]
) -> subprocess.Popen[bytes]:
    try:
        with files.log.open("wb") as log:
            return subprocess.Popen(
                program.command,
                cwd=program.folder,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
    except OSError as error:
        raise BetterhalfError(
            f"Expected to start {program.name}. Received: {error.strerror or error}."
        ) from error


def _end_all(process: subprocess.Popen[bytes], instructions: str) -> tuple[int, bool]:
    """Ends all that is left of a trial, at once on a second Ctrl-C.

    Returns:
        How many processes were ended, and whether Ctrl-C was pressed meanwhile.
    """
    ended, pressed = 0, False
    while True:
        try:
            ended += end_process_tree(process.pid, 0.0 if pressed else _GRACE_SECONDS)
            ended += end_leftovers(instructions)
            # a process that waits for a hung driver cannot be killed
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE_SECONDS)
        except KeyboardInterrupt:
            pressed = True
        else:
            return ended, pressed


@final
class _Watch:
    """Follows a child and what it tells."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        events: Path,
        on_event: Callable[[Event], None],
        began: float,
    ) -> None:
        self._process = process
        self._tail = EventTail(events)
        self._on_event = on_event
        self._began = began
        self._left_at: float | None = None

    def until_end(self, timeout_seconds: float | None) -> Literal["itself", "timeout"]:
        """Returns once the process has ended or has to be ended."""
        while True:
            has_ended = self._wait()
            for event in self._tail.read():
                if isinstance(event, Left):
                    self._left_at = time.monotonic()
                self._on_event(event)
            now = time.monotonic()
            if has_ended or (
                self._left_at is not None and now - self._left_at > _LEAVE_SECONDS
            ):
                return "itself"
            if timeout_seconds is not None and now - self._began > timeout_seconds:
                return "timeout"

    def _wait(self) -> bool:
        try:
            self._process.wait(_POLL_SECONDS)
        except subprocess.TimeoutExpired:
            return False
        return True


@dataclass(slots=True)
class EventTail:
    """Reads events as they are appended to a file; a line that is not whole waits."""

    file: Path
    offset: int = 0

    def read(self) -> list[Event]:
        """Returns the events that came since the last call."""
        try:
            with self.file.open("rb") as file:
                file.seek(self.offset)
                content = file.read(_READ_BYTES)
        except OSError:
            return []
        whole = content[: content.rfind(b"\n") + 1]
        if not whole and len(content) == _READ_BYTES:
            whole = content  # no event is that long: noise must not hold up the rest
        self.offset += len(whole)
        return list(read_events(whole.splitlines()))
