from __future__ import annotations

import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betterhalf.errors import UsageError
from betterhalf.trials import choosing
from betterhalf.trials.planning import make_plan, order_blocks


def test_blocks_rotate_so_that_drift_charges_all_arms_alike():
    order = order_blocks(["A", "B", "C"], 4)
    blocks = ["".join(s.arm for s in order[n : n + 3]) for n in range(0, 12, 3)]
    assert blocks == ["ABC", "BCA", "CAB", "ABC"]
    assert [slot.number for slot in order[::3]] == [1, 2, 3, 4]


@given(st.integers(1, 6), st.integers(1, 12))
def test_every_block_has_every_arm_once(arms, blocks):
    names = [f"arm{n}" for n in range(arms)]
    order = order_blocks(names, blocks)
    assert Counter((slot.arm, slot.number) for slot in order) == Counter(
        (name, number) for name in names for number in range(1, blocks + 1)
    )
    for number in range(1, blocks + 1):
        block = order[(number - 1) * arms : number * arms]
        assert {slot.number for slot in block} == {number}
    # over as many blocks as arms, each arm stands once in each place
    if blocks >= arms:
        first = [slot.arm for slot in order[:: len(names)]][:arms]
        assert sorted(first) == sorted(names)


def test_the_first_trial_is_of_the_reference(lab):
    plan = lab.plan(arms="mixed_float16@torch,mixed_float16")
    first = plan.order[0]
    arm = next(arm for arm in plan.arms if arm.name == first.arm)
    assert arm.is_reference
    assert first.number == 1


def test_a_plan_knows_the_script_by_name_and_hash_alone(lab):
    program = lab.program("import keras\n", "--secret", "hunter2")
    plan = lab.plan(program)
    assert plan.script == "train.py"
    assert plan.script_hash == program.script_hash
    assert "hunter2" not in repr(plan)
    assert str(program.folder) not in repr(plan)


@pytest.mark.parametrize(
    ("options", "looks"),
    [
        ({"quick": False}, (3, 10)),
        ({"quick": False, "runs": 5}, (5, 10)),
        ({"quick": False, "runs": 12}, (12,)),
        ({"quick": False, "runs": 4, "max_runs": 4}, (4,)),
        ({"quick": True, "runs": 20, "max_runs": 10}, (20,)),
    ],
)
def test_looks_are_fixed_in_the_plan(lab, options, looks):
    plan = lab.plan(**options)
    assert plan.limits.looks == looks
    short = [slot.number for slot in plan.order if slot.stage == 1]
    full = [slot.number for slot in plan.order if slot.stage == 2]
    assert max(short) == looks[0]
    assert max(full, default=0) == (0 if options["quick"] else looks[-1])


@pytest.mark.parametrize("cap", [{"epochs": 2}, {"steps": 50}, {"quick": True}])
def test_a_capped_experiment_has_short_trials_alone(lab, cap):
    plan = lab.plan(**{"quick": False, **cap})
    assert {slot.stage for slot in plan.order} == {1}


def test_the_script_chooses_the_backend_of_its_arms(lab):
    program = lab.program('import os\nos.environ["KERAS_BACKEND"] = "torch"\n')
    assert {arm.backend for arm in lab.plan(program).arms} == {"torch"}
    assert {arm.backend for arm in lab.plan(program, backend="jax").arms} == {"jax"}


def test_edits_are_made_for_the_arms_that_an_edit_can_turn_on(lab):
    def edit(source, policy):
        return None if policy == "float64" else f"{policy} in {source.decode()}"

    arms = "mixed_bfloat16,mixed_float16,float64,mixed_bfloat16+raw,float32#2"
    plan = lab.plan(lab.program("a = 1"), arms=arms, edit=edit)
    assert plan.edits == {
        "mixed_bfloat16": "mixed_bfloat16 in a = 1",
        "mixed_float16": "mixed_float16 in a = 1",
    }


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"runs": 0}, r"--runs of 1 or more\. Received: 0"),
        ({"runs": -3}, r"--runs of 1 or more\. Received: -3"),
        ({"quick": False, "runs": 3, "max_runs": 2}, "at least --runs, 3"),
        ({"max_runs": 0}, "--max-runs of 1 or more"),
        ({"epochs": 0}, "--epochs of 1 or more"),
        ({"steps": -1}, "--steps of 1 or more"),
        ({"margin": -0.1}, r"--margin of 0 or more.*Received: -0\.1"),
        ({"margin": float("nan")}, "--margin"),
        ({"min_speedup": 0.0}, "--min-speedup above 0"),
        ({"min_speedup": float("inf")}, "--min-speedup"),
        ({"budget": 0.0}, "--budget"),
        ({"budget": float("nan")}, "--budget"),
        ({"trial_timeout": -1.0}, "--trial-timeout"),
        ({"mode": "best"}, "--mode min or max. Received: 'best'"),
        ({"metric": " "}, "--metric"),
        ({"arms": "mixed_flaot16"}, "Did you mean 'mixed_float16'"),
        ({"arms": "mixed_float16,16-mixed"}, "twice"),
        ({"arms": "mixed_float16@theano"}, "Received: 'theano'"),
        ({"backend": "numpy"}, "Received: 'numpy'"),
        ({"on": "ray"}, "not there yet.*Received: 'ray'"),
        ({"launcher": "torchrun"}, "not there yet.*Received: 'torchrun'"),
    ],
)
def test_what_cannot_be_used_is_refused_before_anything_starts(lab, options, told):
    with pytest.raises(UsageError, match=told) as caught:
        lab.plan(**options)
    assert caught.value.exit_code == 2
    assert str(caught.value).count("\n") <= 1


def test_a_backend_that_is_not_installed_is_refused_without_importing(lab, monkeypatch):
    monkeypatch.setattr(choosing, "find_spec", lambda name: name != "jax" or None)
    with pytest.raises(UsageError, match=r"betterhalf\[jax\]"):
        make_plan(lab.program(), arms="mixed_bfloat16,mixed_bfloat16@jax")
    assert not {"jax", "torch", "tensorflow", "keras"} & set(sys.modules)
