"""How a process ended, and which outcome of a trial that is.

Everything here is read from outside the process: it may have been killed at any moment.
"""

from __future__ import annotations

import math
import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from betterhalf.records.timeline import Timeline
from betterhalf.records.training import Checks, Evaluation, Training
from betterhalf.records.trial import Failure


@dataclass(frozen=True, kw_only=True, slots=True)
class Ending:
    """What an executor saw of a process.

    Attributes:
        exit_code: negative for a signal, as `subprocess` has it.
        seconds: wall time.
        ended_by: who ended it: the process itself, the time limit, or Ctrl-C.
        interrupted: Ctrl-C was pressed, be it after the process had ended.
        left_behind: processes that it had started and that were ended after it.
        timeline: the machine meanwhile.
    """

    exit_code: int | None
    seconds: float
    ended_by: Literal["itself", "timeout", "interrupt"] = "itself"
    interrupted: bool = False
    left_behind: int = 0
    timeline: Timeline | None = None


_OUT_OF_MEMORY: Final = re.compile(
    r"MemoryError\b"
    r"|ResourceExhaustedError|RESOURCE_EXHAUSTED"  # TensorFlow and XLA
    r"|OutOfMemoryError|CUDA (?:error: )?out of memory|can't allocate memory"  # torch
    r"|std::bad_alloc|Cannot allocate memory"  # C++ and the system
)
_FULL_SHARE: Final = 0.95
"""Of the machine's memory; above it a kill is the kernel's: its marks (`dmesg`) are not
for users to read. What is left below is what the kernel keeps for itself."""
_TRACEBACK: Final = "Traceback (most recent call last):\n"


def name_timeout(seconds: float) -> Failure:
    """Returns the failure of a trial that a time limit ended."""
    return Failure(
        kind="timeout",
        message=f"still running after {seconds:.0f} s (--trial-timeout)",
    )


def find_failure(ending: Ending, raised: Failure | None, log: str) -> Failure:
    """Returns why a process that ended badly did so.

    Args:
        ending: as the executor saw it.
        raised: what the child told of an exception, if it could.
        log: end of its output, for a traceback that nobody told of.
    """
    if raised is not None:
        return raised
    code = ending.exit_code
    if code is None:
        return Failure(kind="exit", message="its exit code is unknown")
    if code < 0:
        name = _name_signal(-code)
        return Failure(kind=name, message=f"killed by {name}")
    return _read_traceback(log) or Failure(
        kind="exit", message=f"the script exited with code {code}"
    )


def is_out_of_memory(
    ending: Ending, failure: Failure, log: str, memory_bytes: int | None
) -> bool:
    """Tells whether a process that ended badly did so for want of memory.

    Args:
        ending: as the executor saw it.
        failure: as `find_failure` has it.
        log: end of its output.
        memory_bytes: of the machine.
    """
    told = "\n".join((failure.kind, failure.message, failure.traceback or ""))
    if _OUT_OF_MEMORY.search(told):
        return True
    if failure.traceback is None and _OUT_OF_MEMORY.search(log):
        return True
    if failure.kind != "SIGKILL" or not memory_bytes or ending.timeline is None:
        return False
    used = [s for s in ending.timeline.series if s.name == "memory_used_bytes"]
    return any(series.maximum > _FULL_SHARE * memory_bytes for series in used)


def has_diverged(
    training: Training | None,
    checks: Checks | None,
    evaluations: Sequence[Evaluation],
) -> bool:
    """Tells whether the judged training came apart.

    It did if weights are not finite at its end. Finite weights with a loss that is not
    are told apart by where that loss was taken: after training (of the last epoch's
    validation, or of the last evaluation) it is the model's and counts; during training
    it may be that of one batch, which loss scaling skipped, and such a batch counts
    only where nothing else is known.
    """
    if training is None:
        return False
    if checks is not None and checks.non_finite_state:
        return True
    logs = next((e.logs for e in reversed(training.epochs) if e.logs), {})
    losses = [logs[name] for name in ("val_loss",) if name in logs]
    after = [
        e.metrics["loss"]
        for e in evaluations
        if e.after_training == training.ordinal and "loss" in e.metrics
    ]
    losses += after[-1:]
    skips = checks is not None and bool(checks.skipped_steps)
    if "loss" in logs and not (losses or skips):
        losses.append(logs["loss"])
    return not all(math.isfinite(loss) for loss in losses)


def _name_signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _read_traceback(log: str) -> Failure | None:
    _, header, body = log.rpartition(_TRACEBACK)
    if not header:
        return None
    lines = body.split("\n")
    length = next(
        (n for n, line in enumerate(lines) if line and not line.startswith(" ")), None
    )
    if length is None:
        return None
    kind, _, message = lines[length].partition(":")
    kind = kind.rpartition(".")[2]
    return Failure(
        kind=kind or "exit",
        message=message.strip(),
        traceback=header + "\n".join(lines[: length + 1]) + "\n",
    )
