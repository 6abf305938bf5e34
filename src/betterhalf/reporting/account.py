"""What every report says of an experiment, before it takes a form.

Terminal, Markdown and HTML lay out one `Account`; none of them looks into the records
for words of its own. That is why the three never disagree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from betterhalf.records.result import ArmResult, Caveat, Diagnosis, Result, VerdictWord
from betterhalf.reporting.arm_lines import Line, describe_arm, describe_trials
from betterhalf.reporting.command import spell_command
from betterhalf.reporting.figures import percent, size
from betterhalf.reporting.words import (
    VERDICTS,
    best_arm,
    conclusion,
    counted,
    describe_end,
    listed,
    one_line,
    printable,
)


if TYPE_CHECKING:
    from collections.abc import Sequence

    from betterhalf.records.environment import Environment
    from betterhalf.records.plan import Plan
    from betterhalf.records.trial import Repair, Trial


_COLUMNS = ("speed-up", "step time", "epoch time", "start-up", "memory", "accuracy")


@dataclass(frozen=True, slots=True)
class Remark:
    """A caveat or a diagnosis: its code, what it says and what to do, if anything."""

    code: str
    text: str
    todo: str | None = None


@dataclass(frozen=True, slots=True)
class ArmAccount:
    """What is said of one arm.

    Attributes:
        title: such as `Arm 2  mixed_bfloat16`, without its number.
        verdict: the word, as `VERDICTS` spells it.
        kind: the verdict as records spell it.
        conclusion: one sentence, with the verdict at its end; empty for a reference.
        trials: how many and how they ended.
        lines: figures with units and intervals, the checks last.
        repairs: one clause each.
        ends: of each trial that did not finish, how and why.
        caveats: reasons to trust a figure less.
        diagnosis: why it is not faster.
    """

    title: str
    name: str
    verdict: str
    kind: VerdictWord
    conclusion: str
    trials: str
    lines: tuple[Line, ...]
    repairs: tuple[str, ...]
    ends: tuple[str, ...]
    caveats: tuple[Remark, ...]
    diagnosis: tuple[Remark, ...]


@dataclass(frozen=True, slots=True)
class Account:
    """What is said of an experiment.

    Attributes:
        script: its name.
        setting: what ran where, in a line.
        note: how the intervals are to be read and what was asked for, in a line.
        arms: references first.
        best: sentence of the best arm with its verdict; empty without any.
        others: those of the other arms.
        caveats: of the experiment as a whole.
        diff: the edit to make, as a unified diff.
        environment: versions and machine.
        command: one line that does it again.
    """

    script: str
    setting: str
    note: str
    arms: tuple[ArmAccount, ...]
    best: str
    best_kind: VerdictWord | None
    others: tuple[str, ...]
    caveats: tuple[Remark, ...]
    diff: str | None
    environment: tuple[Line, ...]
    command: str


def give_account(plan: Plan, trials: Sequence[Trial], result: Result) -> Account:
    """Returns what is to be said of an experiment.

    Args:
        plan: of the experiment.
        trials: those that have ended, in any order.
        result: what was judged of them.
    """
    ordered = sort_trials(plan, trials)
    environment = next((one.environment for one in ordered if one.environment), None)
    best = best_arm(result.arms)
    said = {arm.arm: conclusion(arm) for arm in result.arms}
    return Account(
        script=one_line(result.script),
        setting=_setting(plan, environment),
        note=_note(plan),
        arms=tuple(_account_for_arm(arm, ordered) for arm in result.arms),
        best=said[best.arm] if best else "",
        best_kind=best.verdict if best else None,
        others=tuple(
            said[arm.arm]
            for arm in result.arms
            if arm.verdict != "reference" and arm is not best and said[arm.arm]
        ),
        caveats=_remarks(result.caveats),
        diff=printable(result.diff).rstrip("\n") if result.diff else None,
        environment=_environment(environment) if environment else (),
        command=spell_command(plan),
    )


def sort_trials(plan: Plan, trials: Sequence[Trial]) -> list[Trial]:
    """Returns the trials by arm, in the order of the plan, then stage and number.

    The order in which files were read must not show in a report.
    """
    places = {arm.name: place for place, arm in enumerate(plan.arms)}
    return sorted(
        trials,
        key=lambda one: (places.get(one.arm, len(places)), one.stage, one.number),
    )


def tabulate(arms: Sequence[ArmAccount]) -> tuple[list[str], list[list[str]]]:
    """Returns the heads of the figures that fit into a table, and a row for each arm.

    Args:
        arms: of an account; a figure that none of them has gets no column.
    """
    heads = list(
        dict.fromkeys(line.label for arm in arms for line in arm.lines if line.short)
    )
    heads.sort(key=_COLUMNS.index)
    known = [{line.label: line.short for line in arm.lines} for arm in arms]
    return heads, [[figures.get(head, "") for head in heads] for figures in known]


def _account_for_arm(arm: ArmResult, trials: Sequence[Trial]) -> ArmAccount:
    name = one_line(arm.arm)
    reference = arm.verdict == "reference"
    own = [trial for trial in trials if trial.arm == arm.arm]
    return ArmAccount(
        title=f"{name} (reference)" if reference else name,
        name=name,
        verdict=VERDICTS[arm.verdict],
        kind=arm.verdict,
        conclusion="" if reference else conclusion(arm),
        trials=describe_trials(arm.trials),
        lines=describe_arm(arm),
        repairs=tuple(_repair(one) for one in arm.repairs),
        ends=_ends(arm, own),
        caveats=_remarks(arm.caveats),
        diagnosis=_remarks(arm.diagnosis),
    )


def _repair(repair: Repair) -> str:
    change = f"{repair.where} from {repair.before} to {repair.after}"
    return one_line(f"{repair.code}: {change}, {repair.reason}")


def _ends(arm: ArmResult, trials: Sequence[Trial]) -> tuple[str, ...]:
    said = [
        f"trial {trial.number} {describe_end(trial)}"
        for trial in trials
        if trial.outcome != "finished"
    ]
    if not said and arm.failure is not None:
        said = [one_line(arm.failure.message)]
    return tuple(said)


def _remarks(items: Sequence[Caveat] | Sequence[Diagnosis]) -> tuple[Remark, ...]:
    return tuple(
        Remark(
            code=one_line(item.code),
            text=_with_share(item),
            todo=one_line(item.todo) if item.todo else None,
        )
        for item in items
    )


def _with_share(item: Caveat | Diagnosis) -> str:
    text = one_line(item.text)
    share = item.share if isinstance(item, Diagnosis) else None
    return text if share is None else f"{text} ({percent(share)} of the step)"


def _setting(plan: Plan, environment: Environment | None) -> str:
    backends = listed(dict.fromkeys(arm.backend for arm in plan.arms))
    device = environment.devices[0].name if environment and environment.devices else ""
    parts = [plan.script, backends, device or plan.device or ""]
    return " · ".join(one_line(part) for part in parts if part)


def _note(plan: Plan) -> str:
    level = percent(plan.limits.confidence)
    said = [f"Brackets hold {level} intervals over trials."]
    if plan.quick:
        said.append("Short trials (--quick): speed and memory alone.")
    elif plan.speed_only:
        cap = (
            counted(plan.epochs, "epoch")
            if plan.epochs is not None
            else counted(plan.steps or 0, "step")
        )
        said.append(f"Every fit was capped at {cap}: speed and memory alone.")
    return " ".join(said)


def _environment(seen: Environment) -> tuple[Line, ...]:
    lines = [Line("Python", seen.python)]
    lines += [Line(name, version) for name, version in sorted(seen.packages.items())]
    memory = f", {size(seen.memory_bytes)}" if seen.memory_bytes else ""
    machine = f"{seen.platform}, {counted(seen.cores, 'core')}{memory}"
    lines.append(Line("machine", machine))
    for device in seen.devices:
        facts = [device.name]
        if device.memory_bytes:
            facts.append(size(device.memory_bytes))
        if device.compute_capability:
            facts.append(f"compute capability {device.compute_capability}")
        if device.driver:
            facts.append(f"driver {device.driver}")
        facts += device.flags
        lines.append(Line(device.kind, ", ".join(facts)))
    lines += [Line(name, value) for name, value in sorted(seen.variables.items())]
    return tuple(Line(one_line(one.label), one_line(one.text)) for one in lines)
