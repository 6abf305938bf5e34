from __future__ import annotations

import random
from types import SimpleNamespace
from typing import TYPE_CHECKING

from betterhalf.records.result import (
    ArmResult,
    Caveat,
    MemoryComparison,
    Result,
    TrialCounts,
)
from betterhalf.reporting.account import give_account, tabulate
from betterhalf.reporting.arm_lines import describe_arm, describe_trials


if TYPE_CHECKING:
    from betterhalf.records.plan import Plan
    from betterhalf.records.trial import Trial


def test_the_order_of_the_trials_does_not_show(
    plan: Plan, trials: list[Trial], result: Result
) -> None:
    expected = give_account(plan, trials, result)
    random.Random(1).shuffle(trials)
    assert give_account(plan, trials, result) == expected


def test_the_best_sentence_is_apart_from_the_others(
    plan: Plan, trials: list[Trial], result: Result
) -> None:
    account = give_account(plan, trials, result)
    assert account.best.startswith("mixed_bfloat16")
    assert account.best_kind == "speed-only"
    assert [sentence.split()[0] for sentence in account.others] == ["mixed_float16"]


def test_an_experiment_without_a_trial_can_be_told(make: SimpleNamespace) -> None:
    bare = ArmResult(
        arm="float32", reference="float32", verdict="reference", sentence=""
    )
    result = Result(script="train.py", complete=False, arms=(bare,))
    account = give_account(make.plan(), [], result)
    assert account.best == ""
    assert account.arms[0].lines == ()
    assert account.environment == ()


def test_a_trial_that_did_not_finish_is_told_with_its_reason(
    make: SimpleNamespace,
) -> None:
    failed = make.failed_trial("mixed_float16", 2, "ValueError: no such layer")
    account = give_account(make.plan(), [failed], make.result())
    assert account.arms[2].ends == ("trial 2 crashed: ValueError: no such layer",)


def test_every_figure_of_an_arm_has_a_line(make: SimpleNamespace) -> None:
    labels = [line.label for line in describe_arm(make.arm_result("mixed_float16"))]
    assert labels == [
        "speed-up",
        "step time",
        "epoch time",
        "start-up",
        "throughput",
        "memory",
        "checks",
    ]


def test_the_interval_that_decided_names_level_look_and_basis(
    make: SimpleNamespace,
) -> None:
    line = describe_arm(make.arm_result("mixed_bfloat16"))[0].text
    assert "95 % interval, 3 trials an arm, time per step" in line


def test_what_the_compiler_says_of_memory_is_shown(make: SimpleNamespace) -> None:
    memory = MemoryComparison(
        peak_bytes=2**30,
        ratio=0.9,
        kind="resident",
        compiled_bytes=3 * 2**20,
        compiled_ratio=0.55,
    )
    arm = make.arm_result("mixed_float16", memory=memory)
    lines = {line.label: line.text for line in describe_arm(arm)}
    assert "the compiled step needs 3.00 MiB, 0.55 of float32" in lines["memory"]


def test_resident_memory_is_said_to_decide_nothing(make: SimpleNamespace) -> None:
    lines = {line.label: line for line in describe_arm(make.arm_result("float32"))}
    assert "which decides nothing" in lines["memory"].text


def test_a_table_has_columns_only_for_what_is_known(
    plan: Plan, trials: list[Trial], result: Result
) -> None:
    heads, rows = tabulate(give_account(plan, trials, result).arms)
    assert heads == ["speed-up", "step time", "epoch time", "start-up", "memory"]
    assert rows[0][0] == ""
    assert rows[1][0] == "1.55 [1.51 … 1.58]"


def test_trials_are_counted_by_their_ends() -> None:
    assert describe_trials(TrialCounts(finished=3)) == "3 trials"
    assert describe_trials(TrialCounts()) == "0 trials"
    counts = TrialCounts(finished=1, diverged=1, failed=1)
    assert describe_trials(counts) == "3 trials: 1 finished, 1 diverged and 1 failed"


def test_caveats_of_the_experiment_carry_what_to_do(make: SimpleNamespace) -> None:
    caveat = Caveat(code="load", text="Another process was busy.", todo="Stop it.")
    result = make.result(caveats=(caveat,))
    account = give_account(make.plan(), make.trials(), result)
    assert account.caveats[0].todo == "Stop it."


def test_a_cap_is_said(make: SimpleNamespace) -> None:
    account = give_account(make.plan(quick=False, epochs=2), [], make.result())
    assert "Every fit was capped at 2 epochs" in account.note
