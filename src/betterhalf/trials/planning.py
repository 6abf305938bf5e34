"""The plan: everything is checked and fixed before the first process starts.

What a verdict depends on is written down before there are data (`plan.json`), so that
no number is chosen by looking at the result. Trials come in blocks, one of every arm,
and the order inside a block rotates (ABC, BCA, CAB), so that a drift of the machine
charges all arms alike.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, Literal

from betterhalf.errors import UsageError
from betterhalf.precision.arms import parse_arms
from betterhalf.records.arm import Arm
from betterhalf.records.plan import Limits, Plan, Slot
from betterhalf.trials.choosing import choose_backend, refuse_absent_backend
from betterhalf.trials.programs import Program


DEFAULT_ARMS: Final = "mixed_bfloat16,mixed_float16"

Edit = Callable[[bytes, str], str | None]
"""Takes source and policy, returns a unified diff that turns the policy on, if any."""


def make_plan(
    program: Program,
    *,
    arms: str | Iterable[str] = DEFAULT_ARMS,
    backend: str | None = None,
    runs: int = 3,
    max_runs: int | None = None,
    epochs: int | None = None,
    steps: int | None = None,
    metric: str | None = None,
    mode: Literal["min", "max"] | None = None,
    margin: float | None = None,
    min_speedup: float = 1.05,
    quick: bool = False,
    budget: float | None = None,
    trial_timeout: float | None = None,
    keep_seeds: bool = False,
    on: str = "local",
    launcher: str | None = None,
    edit: Edit | None = None,
) -> Plan:
    """Returns the plan of an experiment.

    The options are those of `betterhalf.compare`; `edit` makes the diffs that
    `Plan.edits` keeps. The device is left open.

    ```python
    plan = make_plan(find_program("train.py"), arms="mixed_bfloat16", runs=3)
    [slot.arm for slot in plan.order[:4]]
    # ["float32", "mixed_bfloat16", "mixed_bfloat16", "float32"]
    ```

    Raises:
        UsageError: an option cannot be used; nothing was started or written.
    """
    _refuse_elsewhere(on, launcher)
    limits = _check_limits(runs, max_runs, margin, min_speedup, quick)
    for option, count in (("--epochs", epochs), ("--steps", steps)):
        _refuse_below_one(option, count)
    for option, seconds in (("--budget", budget), ("--trial-timeout", trial_timeout)):
        _refuse_no_time(option, seconds)
    _refuse_mode(mode)
    if metric is not None and not metric.strip():
        raise UsageError(
            "Expected --metric to name what the script logs, such as val_accuracy. "
            f"Received: '{metric}'."
        )
    default = choose_backend(backend, program.source, os.environ, Path.home())
    parsed = parse_arms(arms, default)
    for name in dict.fromkeys(arm.backend for arm in parsed):
        refuse_absent_backend(name)
    names = [arm.name for arm in parsed]
    speed_only = quick or epochs is not None or steps is not None
    full = () if speed_only else order_blocks(names, limits.looks[-1], stage=2)
    return Plan(
        script=program.name,
        module=program.module,
        script_hash=program.script_hash,
        arguments_hash=program.arguments_hash,
        arms=parsed,
        order=(*order_blocks(names, runs), *full),
        quick=quick,
        epochs=epochs,
        steps=steps,
        metric=metric,
        mode=mode,
        keep_seeds=keep_seeds,
        budget_seconds=budget,
        trial_timeout_seconds=trial_timeout,
        limits=limits,
        edits=_make_edits(program.source, parsed, edit),
    )


def order_blocks(names: Sequence[str], blocks: int, stage: int = 1) -> tuple[Slot, ...]:
    """Returns the slots of `blocks` blocks, interleaved and rotated.

    ```python
    [slot.arm for slot in order_blocks("ABC", 2)]  # A B C, then B C A
    ```
    """
    return tuple(
        Slot(arm=names[(block + place) % len(names)], number=block + 1, stage=stage)
        for block in range(blocks)
        for place in range(len(names))
    )


def _make_edits(
    source: bytes, arms: Sequence[Arm], edit: Edit | None
) -> dict[str, str]:
    if edit is None:
        return {}
    # a raw arm is measured without the repairs that an edit writes down
    made = {
        arm.name: edit(source, arm.policy)
        for arm in arms
        if not arm.is_reference and arm.control == 1 and not arm.raw
    }
    return {name: diff for name, diff in made.items() if diff}


def _check_limits(
    runs: int,
    max_runs: int | None,
    margin: float | None,
    min_speedup: float,
    quick: bool,
) -> Limits:
    _refuse_below_one("--runs", runs)
    _refuse_below_one("--max-runs", max_runs)
    last = max(runs, Limits().looks[-1]) if max_runs is None else max_runs
    if last < runs and not quick:
        raise UsageError(
            f"Expected --max-runs to be at least --runs, {runs}. Received: {last}. "
            "Raise --max-runs or lower --runs."
        )
    if margin is not None and not (margin >= 0 and math.isfinite(margin)):
        raise UsageError(
            "Expected --margin of 0 or more, in units of the metric. "
            f"Received: {margin}. Give the loss of accuracy that you would accept."
        )
    if not (min_speedup > 0 and math.isfinite(min_speedup)):
        raise UsageError(
            "Expected --min-speedup above 0, such as 1.05 for 5 % faster. "
            f"Received: {min_speedup}."
        )
    looks = (runs,) if quick or last == runs else (runs, last)
    return Limits(min_speedup=min_speedup, margin=margin, looks=looks)


def _refuse_elsewhere(on: str, launcher: str | None) -> None:
    if on != "local":
        raise UsageError(
            "Expected --on local; trials on a cluster are not there yet. "
            f"Received: '{on}'. Leave --on out."
        )
    if launcher is not None:
        raise UsageError(
            "Expected a script that runs in one process; --launcher is not there yet. "
            f"Received: '{launcher}'. Leave --launcher out."
        )


def _refuse_below_one(option: str, count: int | None) -> None:
    if count is not None and count < 1:
        raise UsageError(f"Expected {option} of 1 or more. Received: {count}.")


def _refuse_no_time(option: str, seconds: float | None) -> None:
    if seconds is not None and not (seconds > 0 and math.isfinite(seconds)):
        raise UsageError(
            f"Expected {option} to be a time above 0, such as 30m. "
            f"Received: {seconds} seconds."
        )


def _refuse_mode(mode: str | None) -> None:
    if mode not in {None, "min", "max"}:
        raise UsageError(f"Expected --mode min or max. Received: '{mode}'.")
