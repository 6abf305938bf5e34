"""The processes of the trial, taken together."""

from __future__ import annotations

import contextlib
import math
import os
import time

import psutil

from betterhalf.hardware.processes import find_process_tree
from betterhalf.hardware.sources._base import Source


_SCAN_SHARE = 0.002
_SCAN_SECONDS = 1.0
"""Looking for new processes walks over all of the machine. It happens once a second, or
as seldom as keeps it below 0.2 % of one core where there are thousands of them."""


class TrialProcesses(Source):
    """CPU and memory of a trial and of everything that it started.

    `cpu_percent` is of one core: two busy cores are 200. A process counts from its
    second reading on. `process_rss_bytes` is the sum of resident memory, in which pages
    that processes share count once for each.

    Args:
        pid: of the trial.
    """

    def __init__(self, pid: int) -> None:
        super().__init__()
        self.names = ("cpu_percent", "process_rss_bytes", "processes")
        self._pid = pid
        self._members: dict[int, psutil.Process] = {}
        self._cpu_seconds: dict[int, float] = {}
        self._known: set[int] = {pid}
        self._read_at = 0.0
        self._scan_at = 0.0
        self.read()

    def read(self) -> dict[str, float]:
        """Returns what the trial's processes hold now and spent since the last time."""
        now = time.monotonic()
        if now >= self._scan_at:
            self._scan(now)
        before, elapsed = self._cpu_seconds, now - self._read_at
        self._cpu_seconds, self._read_at = {}, now
        resident, spent, compared = 0, 0.0, False
        for pid, process in list(self._members.items()):
            held = self._read_process(pid, process)
            resident += held
            if held and pid in before:
                spent += self._cpu_seconds[pid] - before[pid]
                compared = True
        alive = len(self._cpu_seconds)
        return {
            "cpu_percent": 100 * spent / elapsed if compared and elapsed else math.nan,
            "process_rss_bytes": float(resident) if alive else math.nan,
            "processes": float(alive),
        }

    def holds(self, pid: int) -> bool:
        """Returns whether process `pid` is, or was, one of the trial's."""
        if pid not in self._known and self._descends(pid):
            self._known.add(pid)
        return pid in self._known

    def _scan(self, now: float) -> None:
        began = time.thread_time()
        found = {process.pid: process for process in find_process_tree(self._pid)}
        # known ones stay the same objects: psutil keeps their start times in them
        self._members = {
            pid: self._members[pid] if self._members.get(pid) == process else process
            for pid, process in found.items()
        }
        self._known |= found.keys()
        cost = time.thread_time() - began
        self._scan_at = now + max(_SCAN_SECONDS, cost / _SCAN_SHARE)

    def _read_process(self, pid: int, process: psutil.Process) -> int:
        """Notes CPU time of a process and returns its resident bytes; 0 if it ended."""
        try:
            resident = process.memory_info().rss
            times = process.cpu_times()
        except psutil.AccessDenied:
            self._note("process_rss_bytes: a process of the trial is closed to us")
            return 0
        except psutil.Error:
            del self._members[pid]
            return 0
        # a zombie is still listed and holds nothing
        if resident:
            self._cpu_seconds[pid] = times.user + times.system
        return resident

    def _descends(self, pid: int) -> bool:
        with contextlib.suppress(psutil.Error, OSError):
            if hasattr(os, "getsid") and os.getsid(pid) == self._pid:
                return True
            parents = psutil.Process(pid).parents()
            return any(parent.pid in self._known for parent in parents)
        return False
