"""Appends events to the file that the parent reads."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

from betterhalf.records.codec import encode_line


class EventWriter:
    """Writes each event with one system call: a killed child leaves whole lines.

    Only a disk that is nearly full takes a part of a line; then the rest is tried
    until the system says so with an `OSError`, for a line that is torn without a word
    would spoil the next one too.

    A process that was forked off writes nothing: its parent is the one that is watched.

    Args:
        path: of the file of events; it is created.
    """

    def __init__(self, path: str):
        self._began = time.perf_counter()
        self._owner = os.getpid()
        self._lock = threading.Lock()
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self._file = os.open(path, flags, 0o644)

    def seconds(self) -> float:
        """Returns the seconds since the process began to be watched."""
        return time.perf_counter() - self._began

    def write(self, form: type[Any], **fields: Any) -> None:
        """Appends an event of type `form`, stamped with the time.

        Example:

        >>> writer.write(events.Noted, note=note)
        """
        if os.getpid() != self._owner:
            return
        line = encode_line(form(at=self.seconds(), **fields))
        with self._lock:
            while line:
                line = line[os.write(self._file, line) :]
