"""What full trainings cost, said and fitted to a budget before the first of them.

A budget may take trials away from the second look, and only before there is data that
the choice could depend on; stopping wherever the time runs out would leave trials that
no look may see.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from betterhalf.judging import list_remaining
from betterhalf.judging.wording import say_count, say_seconds
from betterhalf.records.plan import Plan, Slot
from betterhalf.records.trial import Trial
from betterhalf.trials.expecting import expect_trial


FULL = 2
"""Stage of full trainings."""


def begins_full_trainings(ended: Sequence[Trial], slot: Slot) -> bool:
    """Whether `slot` is the first full training of the experiment."""
    return slot.stage == FULL and not any(trial.stage == FULL for trial in ended)


def say_cost(plan: Plan, ended: Sequence[Trial]) -> str:
    """Returns what the full trainings take, and what is known without them.

    Args:
        plan: of the experiment.
        ended: its short trials.
    """
    first, last = plan.limits.looks[0], _last_look(plan)
    arms, block = _arms_to_come(plan, ended), _block_seconds(plan, ended)
    longest = f", up to {say_seconds(last * block)} if {last} of each are needed"
    return (
        f"Full trainings of {say_count(len(arms), 'arm')} × "
        f"{say_count(first, 'trial')} take about {say_seconds(first * block)}"
        f"{longest if last > first else ''}. What short trials say of speed is known "
        "already: Ctrl-C now, and `betterhalf report` shows it; --quick stops here by "
        "itself."
    )


def fit_to_budget(
    plan: Plan, ended: Sequence[Trial], seconds_left: float
) -> Plan | None:
    """Returns the plan with as many full trainings as the time is enough for.

    Args:
        plan: of the experiment.
        ended: its short trials; there is no full training yet.
        seconds_left: of the budget.

    Returns:
        The plan, its last look lowered where it must be; `None` where there is no time
        even for the first look.
    """
    block = _block_seconds(plan, ended)
    affordable = int(seconds_left / block) if block else _last_look(plan)
    if affordable < plan.limits.looks[0]:
        return None
    order = tuple(
        slot for slot in plan.order if slot.stage != FULL or slot.number <= affordable
    )
    return msgspec.structs.replace(plan, order=order)


def say_unaffordable(plan: Plan, ended: Sequence[Trial], seconds_left: float) -> str:
    """Returns why the full trainings do not begin."""
    first = plan.limits.looks[0]
    needed = say_seconds(first * _block_seconds(plan, ended))
    arms = say_count(len(_arms_to_come(plan, ended)), "arm")
    return (
        f"Full trainings of {arms} × {say_count(first, 'trial')} take about {needed}, "
        f"and {say_seconds(max(seconds_left, 0.0))} of the budget are left, so none "
        "begins. What short trials say stands; --resume with a larger --budget goes on."
    )


def _last_look(plan: Plan) -> int:
    return max(slot.number for slot in plan.order if slot.stage == FULL)


def _arms_to_come(plan: Plan, ended: Sequence[Trial]) -> tuple[str, ...]:
    remaining = list_remaining(plan, ended)
    return tuple(dict.fromkeys(slot.arm for slot in remaining if slot.stage == FULL))


def _block_seconds(plan: Plan, ended: Sequence[Trial]) -> float:
    """Returns about how long one full training of every arm takes."""
    return sum(
        expect_trial(ended, Slot(arm=arm, number=1, stage=FULL))
        for arm in _arms_to_come(plan, ended)
    )
