from __future__ import annotations

import sys
from pathlib import Path

import pytest

import betterhalf
from betterhalf.errors import UsageError
from betterhalf.trials import comparing
from betterhalf.trials.comparing import compare, conduct, judge_again


@pytest.fixture
def conducted(lab):
    """Compares a script that trains twice as fast in 16 bit, without children."""

    def run(script=None, **options):
        Path("train.py").write_text("import keras\nmodel = keras.Sequential()\n")
        executor = lab.executor(script or lab.good)
        options = {"arms": "mixed_bfloat16", "quick": True, **options}
        experiment = conduct("train.py", executor=executor, **options)
        return experiment, executor

    return run


def test_an_experiment_ends_with_a_verdict_and_a_sentence(conducted):
    experiment, executor = conducted()
    assert len(executor.instructed) == 6
    reference, arm = experiment.result.arms
    assert (reference.verdict, arm.verdict) == ("reference", "speed-only")
    assert arm.speedup.estimate == pytest.approx(2.0)
    assert arm.arm in arm.sentence
    assert experiment.result.complete
    assert experiment.result.exit_code == 0
    assert experiment.environment.devices
    assert experiment.plan.device == experiment.environment.devices[0].name


def test_the_store_is_where_the_user_wants_it_and_the_observer_is_told(lab, conducted):
    watcher = lab.recorder()
    experiment, _ = conducted(out="here", observer=watcher)
    assert experiment.folder == Path.cwd() / "here"
    assert watcher.told[0] == ("plan", experiment.plan)
    assert watcher.told[1] == ("message", "Everything is kept in here")
    assert not (experiment.folder / "lock").exists()


def test_a_result_is_made_again_byte_for_byte(conducted):
    experiment, _ = conducted()
    file = experiment.folder / "result.json"
    before = file.read_bytes()
    file.unlink()
    assert judge_again(experiment.folder) == experiment
    assert file.read_bytes() == before


def test_the_edit_for_an_arm_is_in_the_plan(conducted):
    experiment, _ = conducted()
    diff = experiment.plan.edits["mixed_bfloat16"]
    assert diff.startswith("--- a/train.py\n+++ b/train.py\n")
    assert "mixed_bfloat16" in diff


def test_resuming_runs_what_is_left_and_nothing_else(lab, conducted):
    def stopping(instructions, n):
        seen, how = lab.good(instructions, n)
        stopped = {"ended_by": "interrupt", "interrupted": True}
        return (seen[:2], stopped) if n == 2 else (seen, how)

    watcher = lab.recorder()
    with pytest.raises(KeyboardInterrupt):
        conducted(stopping, out="my store", observer=watcher)
    (message,) = watcher.told[-1][1:]
    assert message.endswith("betterhalf compare --resume --out 'my store' train.py")
    experiment, executor = conducted(out="my store", resume=True)
    assert len(executor.instructed) == 4
    assert experiment.result.complete


def test_resuming_without_a_name_takes_the_newest(conducted):
    first, _ = conducted()
    again, executor = conducted(resume=True)
    assert again.folder == first.folder
    assert executor.instructed == []


def test_resuming_with_another_script_is_refused(conducted):
    conducted(out="here")
    Path("other.py").write_text("import keras\n")
    with pytest.raises(UsageError, match=r"an experiment of train\.py"):
        conduct("other.py", out="here", resume=True)


def test_a_failed_reference_is_exit_code_4_with_its_traceback(lab, conducted):
    log = 'Traceback (most recent call last):\n  File "t"\nValueError: no\n'
    experiment, executor = conducted(lambda i, n: ([], {"exit_code": 1, "log": log}))
    assert len(executor.instructed) == 1
    assert experiment.result.exit_code == 4
    assert experiment.result.arms[0].failure.traceback == log


def test_a_mistake_in_an_option_leaves_nothing_behind(conducted):
    for options in ({"runs": 0}, {"arms": "nonsense"}, {"margin": -1.0}):
        with pytest.raises(UsageError):
            conducted(out="here", **options)
    assert not Path("here").exists()


def test_a_store_in_use_is_refused(conducted):
    experiment, _ = conducted(out="here")
    with (
        comparing.Store(experiment.folder).locked(),
        pytest.raises(UsageError, match="no other experiment"),
    ):
        conducted(out="here", resume=True)


def test_the_public_face_returns_the_result_alone(lab, monkeypatch):
    Path("train.py").write_text("import keras\n")
    executor = lab.executor(lab.good)
    monkeypatch.setattr("betterhalf.trials.executors.LocalExecutor", lambda: executor)
    assert betterhalf.compare is compare
    result = compare("train.py", ["--x"], arms="mixed_bfloat16", quick=True)
    assert result.arms[-1].verdict == "speed-only"


def test_no_framework_is_loaded(conducted):
    conducted()
    assert not {"keras", "tensorflow", "jax", "torch"} & set(sys.modules)
