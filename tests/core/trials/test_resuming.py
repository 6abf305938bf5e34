from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from betterhalf.errors import UsageError
from betterhalf.trials.programs import find_program
from betterhalf.trials.resuming import find_store, new_store, resume_plan
from betterhalf.trials.store import Store


def test_a_store_that_nobody_named_is_named_by_script_and_time():
    first = new_store(None, "train.py", Path.cwd())
    second = new_store(None, "train.py", Path.cwd())
    assert first.folder.parent == Path.cwd() / ".betterhalf"
    assert first.folder.name.startswith("train-20")
    assert second.folder != first.folder


def test_the_name_of_a_script_is_made_safe_for_a_folder():
    store = new_store(None, "my script:1.py", Path.cwd())
    assert store.folder.name.startswith("my_script_1-")
    assert new_store(None, "pkg.mod", Path.cwd()).folder.name.startswith("pkg.mod-")


def test_a_named_folder_is_made_with_its_parents(tmp_path):
    assert new_store("a/b", "train.py", Path.cwd()).folder == Path.cwd() / "a/b"
    assert new_store(tmp_path / "c", "train.py", Path.cwd()).folder == tmp_path / "c"
    assert (tmp_path / "c").is_dir()


def test_a_folder_with_an_experiment_is_not_written_over(lab):
    lab.store(lab.plan(), "old")
    with pytest.raises(UsageError, match=r"'old', which holds an experiment.*--resume"):
        new_store("old", "train.py", Path.cwd())


def test_a_folder_with_something_else_is_not_written_into():
    Path("thesis").mkdir()
    Path("thesis/chapter1.tex").write_text("")
    with pytest.raises(UsageError, match="'thesis', which holds something else"):
        new_store("thesis", "train.py", Path.cwd())


@pytest.mark.parametrize("out", ["file", "file/below"])
def test_a_folder_that_cannot_be_made_is_told(out):
    Path("file").write_text("")
    with pytest.raises(UsageError, match=f"Received: '{out}'"):
        new_store(out, "train.py", Path.cwd())


def test_the_newest_store_of_the_same_script_and_arguments_is_found(lab):
    plan = lab.plan(lab.program("import keras\n", "--batch", "64"))
    other = lab.plan(lab.program("import keras\n", "--batch", "32"))
    for age, (name, one) in enumerate(
        [("c-old", plan), ("a-new", plan), ("b-other", other)]
    ):
        folder = Path.cwd() / ".betterhalf" / name
        folder.mkdir(parents=True)
        Store(folder).write_plan(one, None)
        os.utime(folder / "plan.json", (age, age))
    (Path.cwd() / ".betterhalf/damaged").mkdir()
    (Path.cwd() / ".betterhalf/damaged/plan.json").write_text("{")
    assert find_store(None, plan, Path.cwd()).folder.name == "a-new"
    # edited since: it is found, and then refused by what it says
    edited = msgspec.structs.replace(plan, script_hash="edited")
    assert find_store(None, edited, Path.cwd()).folder.name == "a-new"


def test_nothing_to_resume_is_told(lab):
    plan = lab.plan()
    with pytest.raises(UsageError, match=r"train\.py.*Received: none"):
        find_store(None, plan, Path.cwd())
    with pytest.raises(UsageError, match=r"'empty'.*no plan\.json"):
        find_store("empty", plan, Path.cwd())


def test_what_the_user_left_at_its_default_is_taken_from_the_plan(lab):
    program = lab.program()
    stored = lab.plan(
        program, arms="mixed_float16", runs=5, quick=False, margin=0.3, metric="auc"
    )
    default = lab.plan(program, arms="mixed_bfloat16,mixed_float16", quick=False)
    assert resume_plan(stored, default, default) == stored
    asked = lab.plan(program, arms="mixed_float16", quick=False)
    assert resume_plan(stored, asked, default) == stored


def test_a_quick_experiment_goes_on_with_or_without_saying_so(lab):
    program = lab.program()
    stored = lab.plan(program, runs=5)
    default = lab.plan(program, quick=False)
    for asked in (lab.plan(program), lab.plan(program, quick=False)):
        assert resume_plan(stored, asked, default) == stored


def test_limits_on_time_may_change(lab):
    program = lab.program()
    stored = lab.plan(program, budget=60.0)
    asked = lab.plan(program, budget=120.0, trial_timeout=5.0)
    resumed = resume_plan(stored, asked, lab.plan(program))
    assert (resumed.budget_seconds, resumed.trial_timeout_seconds) == (120.0, 5.0)
    assert resume_plan(stored, stored, stored).budget_seconds == 60.0


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"arms": "mixed_float16"}, "another --arms or --backend"),
        ({"backend": "jax"}, "another --arms or --backend"),
        ({"runs": 4}, "another --runs"),
        ({"margin": 0.1}, "another --margin"),
        ({"min_speedup": 1.2}, "another --min-speedup"),
        ({"metric": "auc"}, "another --metric"),
        ({"mode": "max"}, "another --mode"),
        ({"epochs": 2}, "another --epochs"),
        ({"steps": 9}, "another --steps"),
        ({"keep_seeds": True}, "another --keep-seeds"),
        ({"quick": False, "max_runs": 6}, "another --max-runs"),
    ],
)
def test_another_option_than_the_plans_is_refused(lab, options, told):
    program = lab.program()
    stored = lab.plan(program, quick=options.get("quick", True))
    asked = lab.plan(program, **options)
    with pytest.raises(UsageError, match=told):
        resume_plan(stored, asked, lab.plan(program, quick=stored.quick))


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"script": "other.py"}, "an experiment of train.py"),
        ({"script_hash": "edited"}, "edited since"),
        ({"arguments_hash": "others"}, "arguments"),
        ({"device": "NVIDIA H200"}, "the device a processor. Received: NVIDIA H200"),
    ],
)
def test_another_script_or_device_is_refused(lab, fields, told):
    stored = msgspec.structs.replace(lab.plan(), device="a processor")
    asked = msgspec.structs.replace(stored, **fields)
    with pytest.raises(UsageError, match=told):
        resume_plan(stored, asked, asked)


def test_a_module_and_a_script_of_one_name_are_two_things(lab):
    Path("train.py").write_text("import keras\n")
    script = lab.plan(find_program("train.py"))
    module = lab.plan(find_program("train", module=True))
    with pytest.raises(UsageError, match="an experiment of"):
        resume_plan(script, module, module)
