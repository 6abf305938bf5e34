"""What an arm saves of the device's memory.

Memory of a CPU process is reported and never counts: it holds the data, the interpreter
and what the allocator has not given back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from betterhalf.records.result import MemoryComparison


if TYPE_CHECKING:
    from collections.abc import Sequence

    from betterhalf.records.plan import Limits
    from betterhalf.records.training import Memory
    from betterhalf.records.trial import Trial


def compare_memory(
    judged: Sequence[Trial], reference: Sequence[Trial]
) -> MemoryComparison | None:
    """Returns the arm's largest peak, and its share of the reference's smallest.

    That is the least saving that any pair of trials shows: one trial of the reference
    that happened to take more must not look like a saving.
    """
    peaks = _known(judged)
    if not peaks:
        return None
    kind = peaks[0].kind or "resident"
    largest = max(memory.peak_bytes or 0 for memory in peaks)
    others = [m.peak_bytes or 0 for m in _known(reference) if m.kind == kind]
    smallest = min(others, default=0)
    compiled, compiled_reference = _compiled(judged), _compiled(reference)
    return MemoryComparison(
        peak_bytes=largest,
        ratio=largest / smallest if smallest else None,
        kind=kind,
        compiled_bytes=compiled,
        compiled_ratio=(
            compiled / compiled_reference if compiled and compiled_reference else None
        ),
    )


def saves_memory(memory: MemoryComparison | None, limits: Limits) -> bool:
    """Whether so much device memory is saved that it is a reason to keep an arm."""
    if memory is None or memory.kind != "device" or memory.ratio is None:
        return False
    return memory.ratio <= limits.memory_ratio


def _compiled(trials: Sequence[Trial]) -> int | None:
    """Returns the most that a compiled step of them needs; compilers do not vary."""
    return max(
        (
            trial.memory.compiled_bytes
            for trial in trials
            if trial.memory is not None and trial.memory.compiled_bytes is not None
        ),
        default=None,
    )


def _known(trials: Sequence[Trial]) -> list[Memory]:
    found = [trial.memory for trial in trials if trial.memory is not None]
    return [m for m in found if m.peak_bytes is not None and m.kind is not None]
