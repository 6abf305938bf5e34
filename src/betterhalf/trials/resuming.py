"""Going on with an experiment: which store it is, and whether it is still the same one.

Trials of two experiments must not be judged together, so a script, a device or an
option that differs from the plan is refused. What the user left at its default is taken
from the plan.
"""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Final

import msgspec

from betterhalf.errors import StoreError, UsageError
from betterhalf.records.plan import Plan
from betterhalf.trials.store import Store


STORES: Final = Path(".betterhalf")
"""Where run stores go that nobody named, inside the working directory."""
_BEGINNINGS: Final = {"lock", "plan.json.part"}
"""What is there of an experiment that was killed before it had a plan: nothing to go on
with, and nothing in the way."""


def new_store(out: str | Path | None, script: str, folder: Path) -> Store:
    """Returns the store of a new experiment; its folder exists and was empty.

    Args:
        out: folder that the user named.
        script: name of the script, for a folder that nobody named.
        folder: working directory.

    Raises:
        UsageError: the folder holds something, or cannot be made.
    """
    place = _free_place(folder / STORES, script) if out is None else folder / out
    store = Store(place)
    if store.plan_file.exists():
        raise UsageError(
            f"Expected a new folder. Received: '{out}', which holds an experiment. "
            "Go on with it by --resume, or choose another --out."
        )
    try:
        place.mkdir(parents=True, exist_ok=True)
        is_empty = all(path.name in _BEGINNINGS for path in place.iterdir())
    except OSError as error:
        raise UsageError(
            f"Expected a folder that can be made. Received: '{out or STORES}' "
            f"({error.strerror}). Choose another with --out."
        ) from error
    if not is_empty:
        raise UsageError(
            f"Expected a new or an empty folder. Received: '{out}', which holds "
            "something else. Choose another --out."
        )
    return store


def find_store(out: str | Path | None, asked: Plan, folder: Path) -> Store:
    """Returns the store to go on with: the one named, else the newest of this script.

    Args:
        out: folder that the user named.
        asked: plan of what the user asked for now.
        folder: working directory.

    Raises:
        UsageError: there is none.
    """
    if out is not None:
        store = Store(folder / out)
        if not store.plan_file.is_file():
            raise UsageError(
                f"Expected a run store to go on with. Received: '{out}', which holds "
                "no plan.json. Leave --resume out to start there."
            )
        return store
    files = sorted((folder / STORES).glob("*/plan.json"), key=_age, reverse=True)
    for file in files:
        if _is_of(file, asked):
            return Store(file.parent)
    raise UsageError(
        f"Expected an experiment of {asked.script} with these arguments in "
        f"{STORES}. Received: none. Leave --resume out to start one, or name it "
        "with --out."
    )


def resume_plan(stored: Plan, asked: Plan, default: Plan) -> Plan:
    """Returns the stored plan, with the limits on time of this command.

    Args:
        stored: plan of the store.
        asked: plan of what the user asked for now.
        default: plan of the same program with no option given.

    Raises:
        UsageError: they are not the same experiment.
    """
    if (stored.script, stored.module) != (asked.script, asked.module):
        raise _changed("an experiment of", stored.script, asked.script)
    if stored.script_hash != asked.script_hash:
        raise UsageError(
            f"Expected {stored.script} as it was when the experiment began. Received: "
            "one that was edited since. Put it back, or leave --resume out to start "
            "anew."
        )
    if stored.arguments_hash != asked.arguments_hash:
        raise UsageError(
            f"Expected the arguments that {stored.script} had when the experiment "
            "began. Received: others. Give the same, or leave --resume out."
        )
    if stored.device != asked.device:
        raise _changed("the device", stored.device, asked.device)
    was, is_now, unasked = (_list_options(plan) for plan in (stored, asked, default))
    for option, wanted in is_now.items():
        if wanted not in (was[option], unasked[option]):
            raise UsageError(
                f"Expected the options of the experiment that is resumed. Received: "
                f"another {option}. Leave it out, or leave --resume out to start anew."
            )
    return msgspec.structs.replace(
        stored,
        budget_seconds=asked.budget_seconds or stored.budget_seconds,
        trial_timeout_seconds=(
            asked.trial_timeout_seconds or stored.trial_timeout_seconds
        ),
    )


def _list_options(plan: Plan) -> dict[str, object]:
    """Returns what may not change once there are trials, by the option that sets it."""
    limits = plan.limits
    return {
        "--arms or --backend": plan.arms,
        "--quick": plan.quick,
        "--runs": limits.looks[0],
        "--max-runs": None if plan.quick else limits.looks[-1],
        "--epochs": plan.epochs,
        "--steps": plan.steps,
        "--metric": plan.metric,
        "--mode": plan.mode,
        "--margin": limits.margin,
        "--min-speedup": limits.min_speedup,
        "--keep-seeds": plan.keep_seeds,
    }


def _changed(what: str, expected: object, received: object) -> UsageError:
    return UsageError(
        f"Expected {what} {expected}. Received: {received}. Trials of both cannot be "
        "judged together: leave --resume out to start anew."
    )


def _free_place(folder: Path, script: str) -> Path:
    stem = script.removesuffix(".py")
    stem = re.sub(r"[^\w.-]", "_", stem) or "script"
    first = folder / f"{stem}-{time.strftime('%Y%m%d-%H%M%S')}"
    place, number = first, 2
    while place.exists():
        place = first.with_name(f"{first.name}-{number}")
        number += 1
    return place


def _age(file: Path) -> tuple[int, str]:
    return file.stat().st_mtime_ns, file.parent.name


def _is_of(file: Path, asked: Plan) -> bool:
    try:
        stored = Store(file.parent).read_plan()
    except StoreError:
        return False
    return (stored.script, stored.module, stored.arguments_hash) == (
        asked.script,
        asked.module,
        asked.arguments_hash,
    )
