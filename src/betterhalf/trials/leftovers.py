"""Processes that a trial started and that left its session.

They are neither descendants nor in the session of a child that has ended, but they have
inherited its environment, and with it the path of its instructions, which no other
trial has.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

import psutil

from betterhalf.hardware.processes import is_alive
from betterhalf.records.instructions import INSTRUCTIONS_VARIABLE


_GRACE_SECONDS = 1.0
_POLL_SECONDS = 0.02


def end_leftovers(instructions: str) -> int:
    """Ends every process whose trial had these instructions; returns how many.

    Args:
        instructions: path of the instructions of the trial, as its child had it.
    """
    met: set[psutil.Process] = set()
    # the second kill is for one that was started during the first
    for how in ("terminate", "kill", "kill"):
        found = set(_find(instructions))
        if not found:
            break
        met |= found
        for process in found:
            with contextlib.suppress(psutil.Error):
                getattr(process, how)()
        deadline = time.monotonic() + _GRACE_SECONDS
        while any(map(is_alive, found)) and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
    return len(met)


def _find(instructions: str) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            mine = process.environ().get(INSTRUCTIONS_VARIABLE) == instructions
            if mine and is_alive(process):
                yield process
