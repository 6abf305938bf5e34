"""Real A/A experiments: float32 against itself, full trainings and all.

An arm that *is* the reference must not be called better, nor less accurate. So wrong
are KEEP, KEEP FOR MEMORY, and REVERT on accuracy or for divergence. REVERT on speed is
right: 1.0 times as fast is less than the 1.05 that is worth it. INCONCLUSIVE is no
error; how often it comes is the width of the noise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from power import tabulate

from betterhalf.judging.wording import say_change, say_interval
from betterhalf.records.result import ArmResult
from calibration.comparing import SCRIPTS, compare, find_arm
from calibration.resampling import name_end


SCRIPT = SCRIPTS / "small_training.py"
RIGHT = ("revert: speed", "inconclusive")
WRONG_AT_MOST = 1
"""Of twenty: each may err on speed with 2.5 % and on accuracy with 5 % either way."""


def run_controls(
    folder: Path, repeats: int, backends: Sequence[str], max_runs: int
) -> int:
    """Runs `repeats` experiments, the backends in turn; 1 if too many are wrong.

    Args:
        folder: of the run stores; what is finished there is not run again.
        repeats: experiments in all.
        backends: taken in turn.
        max_runs: trials an arm at the second look.
    """
    arms: list[tuple[str, ArmResult]] = []
    for repeat in range(repeats):
        backend = backends[repeat % len(backends)]
        store = folder / f"{backend}-{repeat // len(backends)}"
        options = ("--backend", backend, "--arms", "float32")
        options += ("--max-runs", str(max_runs))
        arms.append((store.name, find_arm(compare(store, SCRIPT, *options))))
        print(_say(*arms[-1]), flush=True)
    print(_tabulate(arms))
    wrong = [name for name, arm in arms if is_wrong(arm)]
    print(
        f"\n{len(wrong)} of {len(arms)} wrong{': ' if wrong else ''}{', '.join(wrong)}"
    )
    return 0 if len(wrong) <= WRONG_AT_MOST else 1


def is_wrong(arm: ArmResult) -> bool:
    """Whether the verdict is an error of an arm that is its reference."""
    return name_end(arm) not in RIGHT


def _say(name: str, arm: ArmResult) -> str:
    parts = [name, name_end(arm)]
    if arm.speedup is not None:
        speedup = arm.speedup
        said = say_interval(speedup.estimate, speedup.low, speedup.high)
        parts.append(f"{said} at {speedup.look} trials")
    if arm.metric is not None:
        parts.append(f"{arm.metric.name} {say_change(arm.metric)}")
    return ", ".join([*parts, "WRONG" if is_wrong(arm) else "right"])


def _tabulate(arms: Sequence[tuple[str, ArmResult]]) -> str:
    backends = dict.fromkeys(name.rsplit("-", 1)[0] for name, _ in arms)
    rows = []
    for backend in backends:
        own = [arm for name, arm in arms if name.startswith(backend)]
        ends = Counter(map(name_end, own))
        said = ", ".join(f"{count} {end}" for end, count in ends.most_common())
        held = sum(a.speedup.low <= 1.0 <= a.speedup.high for a in own if a.speedup)
        wrong = sum(map(is_wrong, own))
        rows.append([backend, f"{len(own)}", said, f"{held}", f"{wrong}"])
    heads = ["backend", "experiments", "verdicts", "intervals with 1.0", "wrong"]
    return tabulate(heads, rows)
