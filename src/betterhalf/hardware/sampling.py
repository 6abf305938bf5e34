"""A sampler beside a trial, in the parent: the trial itself is never touched.

It paces itself by the CPU time of its own thread. At the usual five samples a second it
costs well under one percent of one core; where a reading is dear, as for a trial of a
hundred processes, samples become rarer instead.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import psutil

from betterhalf.hardware.recording import Recorder
from betterhalf.hardware.sources.machine import MachineSource
from betterhalf.hardware.sources.nvidia import NvidiaSource
from betterhalf.hardware.sources.trial_processes import TrialProcesses


if TYPE_CHECKING:
    from betterhalf.hardware.sources._base import Source
    from betterhalf.records.timeline import Timeline


_COST_SHARE = 0.009
"""Most of one core that sampling may take: below 1 %, a quarter of the spread between
processes that was measured on the steadiest backend (4 %, TensorFlow on a CPU)."""
_STOP_SECONDS = 5.0
"""A driver that hangs must not hold the experiment up."""


def open_sources(pid: int, environ: Mapping[str, str]) -> list[Source]:
    """Returns all sources for a trial, those that are absent included.

    Args:
        pid: of the trial.
        environ: its environment, for the GPUs that it can use.
    """
    trial = TrialProcesses(pid)
    gpus = NvidiaSource(environ, holds=trial.holds, is_here=psutil.pid_exists)
    return [MachineSource(), trial, gpus]


class Sampler:
    """Samples the machine while a trial runs.

    Nothing in here raises once it is started: what cannot be read is NaN or absent, and
    `Timeline.missing` says why.

    Args:
        pid: of the trial.
        interval_seconds: from one sample to the next.
        environ: environment of the trial; that of this process if absent.
        open_with: makes the sources, on the sampler's own thread.

    Raises:
        ValueError: the interval is not positive.

    Example:
        sampler = Sampler(child.pid)
        sampler.start()
        child.wait()
        timeline = sampler.stop()
    """

    def __init__(
        self,
        pid: int,
        interval_seconds: float = 0.2,
        environ: Mapping[str, str] | None = None,
        open_with: Callable[[int, Mapping[str, str]], Sequence[Source]] = open_sources,
    ) -> None:
        if not interval_seconds > 0:
            raise ValueError(
                "expected a positive `interval_seconds`. "
                f"Received: {interval_seconds}. Leave it out for 0.2."
            )
        self._pid = pid
        self._interval = interval_seconds
        self._environ = dict(os.environ if environ is None else environ)
        self._open_with = open_with
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._recorder = Recorder(())
        self._sources: Sequence[Source] = ()
        self._failures: list[str] = []
        self._began = 0.0
        self._thread = threading.Thread(
            target=self._work, name="betterhalf-sampler", daemon=True
        )

    def start(self) -> None:
        """Starts sampling; the timeline counts its seconds from here."""
        self._began = time.monotonic()
        try:
            self._thread.start()
        except RuntimeError as error:
            self._note(f"sampler: {error}")

    def stop(self) -> Timeline:
        """Ends sampling and returns what was seen; again, if called again."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(_STOP_SECONDS)
        if self._thread.is_alive():
            self._note("sampler: a reading hangs")
        with self._lock:
            fields: dict[str, Any] = {}
            missing = list(self._failures)
            for source in self._sources:
                fields |= source.summarise()
                missing.extend(source.missing)
            return self._recorder.make_timeline(
                missing=tuple(dict.fromkeys(missing)), **fields
            )

    def _work(self) -> None:
        # nobody could catch it here: an error costs the timeline, never the trial
        try:
            self._open()
            self._sample()
        except Exception as error:  # noqa: BLE001, RUF100
            self._note(f"sampler: {type(error).__name__}: {error}")
        for source in self._sources:
            self._call(source, source.close)

    def _open(self) -> None:
        sources = self._open_with(self._pid, self._environ)
        recorder = Recorder([name for source in sources for name in source.names])
        with self._lock:
            self._sources, self._recorder = sources, recorder

    def _sample(self) -> None:
        """Waits first: what is a rate needs a stretch of time behind it."""
        cost, due = 0.0, time.monotonic()
        while True:
            due = max(due + max(self._interval, cost / _COST_SHARE), time.monotonic())
            if self._stopping.wait(due - time.monotonic()):
                return
            began = time.thread_time()
            values: dict[str, float] = {}
            for source in self._sources:
                values |= self._call(source, source.read) or {}
            with self._lock:
                self._recorder.add(time.monotonic() - self._began, values)
            # one dear reading is not yet a reason to slow down
            cost = 0.8 * cost + 0.2 * (time.thread_time() - began)

    def _call(self, source: Source, function: Callable[[], Any]) -> Any:
        try:
            return function()
        except Exception as error:  # noqa: BLE001, RUF100
            self._note(f"{type(source).__name__}: {type(error).__name__}")
            return None

    def _note(self, reason: str) -> None:
        self._failures.append(reason)
