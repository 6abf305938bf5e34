"""The processes of a trial: found whole, and ended whole.

A trial may start workers, launchers and servers, and these may outlive it. What is left
behind would load the machine during the trials that follow.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable

import psutil


_POLL_SECONDS = 0.02
_KILL_SECONDS = 2.0
_KILL_ROUNDS = 5
"""Processes may start others while they are being killed; each round looks again."""


def find_process_tree(pid: int) -> list[psutil.Process]:
    """Returns the processes that belong to the trial of process `pid`.

    These are the process itself, its descendants, and where it leads a session or a
    process group of its own, everyone in there: a process whose parent has ended is no
    longer a descendant but stays in its session. The latter also finds what a trial
    left behind that has ended itself. Zombies are among them: `is_alive` tells.

    Args:
        pid: of a process that this one started.
    """
    found: dict[int, psutil.Process] = {}
    for root in [pid, *_find_companions(pid)]:
        if root in found:
            continue
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(root)
            found[root] = process
            found.update({child.pid: child for child in _find_descendants(process)})
    found.pop(os.getpid(), None)
    return list(found.values())


def is_alive(process: psutil.Process) -> bool:
    """Returns whether `process` still runs; a zombie does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True


def end_process_tree(pid: int, grace_seconds: float = 5.0) -> int:
    """Ends a child of this process with all that it started.

    All are asked to terminate, and killed when the grace is over. The exit status of
    the child is left for its `Popen` to collect. A process `pid` that is not a child of
    this one got the number of a child that has ended, and is left alone.

    Args:
        pid: of a child of this process, which may have ended already.
        grace_seconds: time between the polite request and the kill; 0 kills at once.

    Returns:
        How many processes were running and are not any more.

    Example:
        child = subprocess.Popen(command, start_new_session=True)
        ended = end_process_tree(child.pid, grace_seconds=5.0)
    """
    if _is_stranger(pid):
        return 0
    met = _find_alive(pid)
    if grace_seconds > 0:
        _signal(met, "terminate")
        _wait(met, grace_seconds)
    for _ in range(_KILL_ROUNDS):
        met |= _find_alive(pid)
        left = {process for process in met if is_alive(process)}
        if not left:
            break
        _signal(left, "kill")
        _wait(left, _KILL_SECONDS)
    return sum(not is_alive(process) for process in met)


def kill_descendants() -> None:
    """Kills at once what this process started, in whatever session, but not itself.

    For a trial whose experiment was killed: nobody else is there to do it.
    """
    _signal(find_process_tree(os.getpid()), "kill")


def _find_alive(pid: int) -> set[psutil.Process]:
    return {process for process in find_process_tree(pid) if is_alive(process)}


def _find_companions(pid: int) -> list[int]:
    """Processes in the session or the group that `pid` leads, or led.

    The system does not give the number to anyone else while one of them lives.
    """
    if not hasattr(os, "getsid"):
        return []
    companions: list[int] = []
    for other in psutil.pids():
        with contextlib.suppress(OSError):
            if pid in {os.getsid(other), os.getpgid(other)}:
                companions.append(other)
    return companions


def _find_descendants(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.Error:
        return []


def _is_stranger(pid: int) -> bool:
    try:
        return psutil.Process(pid).ppid() != os.getpid()
    except psutil.Error:
        return False


def _signal(processes: Iterable[psutil.Process], how: str) -> None:
    for process in processes:
        # one that has just ended, or that is not ours to end
        with contextlib.suppress(psutil.Error):
            getattr(process, how)()


def _wait(processes: Iterable[psutil.Process], seconds: float) -> None:
    """Waits without collecting exit statuses, which belong to the caller's `Popen`."""
    deadline = time.monotonic() + seconds
    while any(is_alive(process) for process in processes):
        if time.monotonic() >= deadline:
            return
        time.sleep(_POLL_SECONDS)
