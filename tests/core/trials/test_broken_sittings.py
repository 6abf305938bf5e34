"""Experiments that are killed, interrupted or starved at every step, and go on.

The parent is killed for good: each of these runs in a fork that kills itself, so that
no `finally` comes to its help.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
import warnings
from pathlib import Path

import pytest

from betterhalf.errors import BetterhalfError, UsageError
from betterhalf.records import codec
from betterhalf.trials import comparing, experiment, store
from betterhalf.trials.comparing import conduct, judge_again
from betterhalf.trials.experiment import _holding_back_interrupt
from betterhalf.trials.reading import read_experiment
from betterhalf.trials.writing import write_whole


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks are POSIX")

STEPS = {
    "plan": "plan.json",
    "first-instructions": "float32-1.instructions",
    "first-record": "float32-1.json",
    "later-record": "mixed_bfloat16-2.json",
    "stage-2-instructions": "mixed_bfloat16-full-1.instructions",
    "stage-2-record": "float32-full-2.json",
    "last-record": "mixed_bfloat16-full-2.json",
    "result": "result.json",
}
"""What is written at which step of an experiment of two blocks and two stages."""


@pytest.fixture
def script(lab):
    """Trains twice as fast in 16 bit, and about as well, whole where it may."""

    def run(instructions, n):
        seconds = 0.1 if instructions.policy == "float32" else 0.05
        logs = {"loss": 0.5, "accuracy": 0.9 + n / 10000}
        seen = lab.train(seconds, logs=logs, cut_short=instructions.short)
        end = lab.left() if instructions.short and instructions.judged == 0 else []
        return [*lab.started(), *seen, *end], {}

    return run


@pytest.fixture
def begin(lab, script):
    """Compares in `store`; as many options as the fault needs."""

    def run(acting=None, **options):
        Path("train.py").write_text("import keras\n")
        executor = lab.executor(acting or script)
        sized = {"arms": "mixed_bfloat16", "runs": 2, "max_runs": 2}
        options = options if options.get("resume") else {**sized, **options}
        options = {"out": "store", **options}
        return conduct("train.py", executor=executor, **options), executor

    return run


def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def run_to_death(act):
    """Runs `act` in a fork and sees that it was killed."""
    with warnings.catch_warnings():
        # Python 3.12 warns of threads in a fork; ours uses none
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        try:
            act()
        finally:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status), "it came to its end"
    assert os.WTERMSIG(status) == signal.SIGKILL


def read_records():
    return {path: path.read_bytes() for path in Path("store/trials").glob("*.json")}


def complete(begin, kept, **options):
    """Resumes, and sees that nothing was lost and that nothing is missing."""
    going_on, executor = begin(resume=True, **options)
    assert going_on.result.complete
    assert {trial.outcome for trial in going_on.trials} == {"finished"}
    assert all(path.read_bytes() == content for path, content in kept.items())
    assert len(executor.instructed) == len(going_on.trials) - len(kept)
    assert not (going_on.folder / "lock").exists()
    return going_on, executor


def writing_until(name, moment):
    """Returns a `write_whole` that dies at the file `name`."""

    def write(path, content):
        if path.name != name:
            write_whole(path, content)
            return
        beside = path.with_name(f"{name}.part")
        if moment == "half":
            beside.write_bytes(content[: len(content) // 2])
        if moment == "whole":
            beside.write_bytes(content)
        if moment == "renamed":
            write_whole(path, content)
        die()

    return write


@forks
@pytest.mark.parametrize("moment", ["before", "half", "whole", "renamed"])
@pytest.mark.parametrize("step", STEPS)
def test_a_parent_killed_while_it_writes_is_resumed(begin, monkeypatch, step, moment):
    with monkeypatch.context() as patch:
        dying = writing_until(STEPS[step], moment)
        patch.setattr(store, "write_whole", dying)
        patch.setattr(experiment, "write_whole", dying)
        run_to_death(begin)
    if step == "plan" and moment != "renamed":
        with pytest.raises(UsageError, match=r"no plan\.json\. Leave --resume out"):
            begin(resume=True)
        going_on, _ = begin()  # just as it was told
        assert going_on.result.complete
        return
    going_on, _ = complete(begin, read_records())
    assert len(going_on.trials) == 8


@forks
@pytest.mark.parametrize("call", ["on_plan", "on_trial_began", "on_trial_ended"])
def test_a_parent_killed_between_trials_is_resumed(lab, begin, monkeypatch, call):
    watcher = lab.recorder()
    monkeypatch.setattr(watcher, call, die)
    run_to_death(lambda: begin(observer=watcher))
    complete(begin, read_records())


@forks
@pytest.mark.parametrize("told", [0, 1, 4, 99], ids=["start-up", "begun", "mid", "end"])
@pytest.mark.parametrize("trial", [0, 2, 5], ids=["first", "later", "stage-2"])
def test_a_parent_killed_during_a_trial_is_resumed(lab, begin, script, trial, told):
    def dying(instructions, n):
        seen, how = script(instructions, n)
        if n == trial:
            lines = b"".join(codec.encode_line(event) for event in seen[:told])
            Path(instructions.events).write_bytes(lines + b'{"event": "wind')
            die()
        return seen, how

    run_to_death(lambda: begin(dying))
    kept = read_records()
    assert len(kept) == trial
    going_on, _ = complete(begin, kept)
    assert len(list((going_on.folder / "aside").iterdir())) == 1


@forks
def test_a_parent_killed_while_it_judges_has_lost_no_trial(begin, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(comparing, "judge_again", die)
        run_to_death(begin)
    kept = read_records()
    assert len(kept) == 8
    assert judge_again("store").result.complete
    complete(begin, kept)


@forks
def test_a_parent_killed_twice_is_resumed_twice(begin, script):
    def dying(at):
        def act(instructions, n):
            if n == at:
                die()
            return script(instructions, n)

        return act

    run_to_death(lambda: begin(dying(1)))
    run_to_death(lambda: begin(dying(2), resume=True))
    complete(begin, read_records())
    assert len(list(Path("store/aside").iterdir())) == 2


@pytest.mark.parametrize("told", [0, 1, 4, 7], ids=["start-up", "begun", "mid", "end"])
@pytest.mark.parametrize("stage", [1, 2])
@pytest.mark.parametrize("code", [-9, -11, 1], ids=["killed", "segfault", "raised"])
def test_a_child_that_fails_is_counted_and_told(begin, script, stage, told, code):
    def failing(instructions, n):
        seen, how = script(instructions, n)
        is_stage = instructions.short == (stage == 1)
        if instructions.policy == "mixed_bfloat16" and is_stage:
            return seen[:told], {"exit_code": code}
        return seen, how

    options = {"quick": True, "max_runs": None} if stage == 1 else {}
    ended, _ = begin(failing, **options)
    _, arm = ended.result.arms
    failed = [trial for trial in ended.trials if trial.outcome == "crashed"]
    assert {(trial.arm, trial.stage) for trial in failed} == {("mixed_bfloat16", stage)}
    assert (arm.verdict, ended.result.exit_code) == ("inconclusive", 3)
    assert (arm.trials.finished, arm.trials.failed) == (0, 2)


@pytest.mark.parametrize("at", range(8))
def test_ctrl_c_between_trials_keeps_what_is_done(lab, begin, at, monkeypatch):
    watcher = lab.recorder()

    def press(slot, index, total):
        if index == at + 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(watcher, "on_trial_began", press)
    with pytest.raises(KeyboardInterrupt):
        begin(observer=watcher)
    assert "--resume" in watcher.list("message")[-1][0]
    kept = read_records()
    assert len(kept) == at
    complete(begin, kept)


def test_ctrl_c_while_it_is_judged_says_how_to_go_on(lab, begin, monkeypatch):
    def press(*_):
        raise KeyboardInterrupt

    watcher = lab.recorder()
    with monkeypatch.context() as patch:
        patch.setattr(comparing, "judge_again", press)
        with pytest.raises(KeyboardInterrupt):
            begin(observer=watcher)
    assert "--resume" in watcher.list("message")[-1][0]
    complete(begin, read_records())


def test_ctrl_c_twice_while_a_record_is_written_waits_too():
    done = []

    def write():
        with _holding_back_interrupt():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            done.append("written")

    with pytest.raises(KeyboardInterrupt):
        write()
    assert done == ["written"]


@pytest.mark.parametrize("jump", [86400.0, -86400.0], ids=["forward", "back"])
def test_a_wall_clock_that_jumps_changes_nothing(begin, script, monkeypatch, jump):
    now = [time.time()]

    def act(instructions, n):
        now[0] += jump
        return script(instructions, n)

    monkeypatch.setattr(time, "time", lambda: now[0])
    ended, _ = begin(act, budget=3600.0, trial_timeout=60.0)
    assert ended.result.complete
    assert {trial.seconds for trial in ended.trials} == {9.0}


def stop_after(script, count, act):
    """Returns a script that acts when `count` trials have ended."""

    def acting(instructions, n):
        told = script(instructions, n)
        if n == count - 1:
            act()
        return told

    return acting


@pytest.mark.parametrize("change", ["edited", "deleted", "emptied"])
def test_a_script_changed_between_trials_stops_and_is_resumed_once_put_back(
    begin, script, change
):
    def act():
        if change == "deleted":
            Path("train.py").unlink()
        else:
            Path("train.py").write_text("import os\n" if change == "edited" else "")

    with pytest.raises(UsageError, match="Put it back and go on with --resume"):
        begin(stop_after(script, 3, act))
    kept = read_records()
    assert len(kept) == 3
    complete(begin, kept)


def test_a_script_that_stays_edited_is_not_resumed(lab, begin, script):
    def act():
        Path("train.py").write_text("import os\n")

    with pytest.raises(UsageError):
        begin(stop_after(script, 3, act))
    kept = read_records()
    with pytest.raises(UsageError, match="edited since"):
        conduct("train.py", executor=lab.executor(script), out="store", resume=True)
    assert read_records() == kept


@pytest.mark.parametrize("how", ["deleted", "moved"])
def test_a_store_that_is_gone_stops_before_a_trial_runs_for_nothing(
    lab, begin, monkeypatch, how
):
    watcher = lab.recorder()

    def vanish(trial):
        watcher.told.append(("ended", trial))
        if how == "moved":
            Path("store").rename("elsewhere")
        else:
            shutil.rmtree("store")

    monkeypatch.setattr(watcher, "on_trial_ended", vanish)
    with pytest.raises(BetterhalfError, match=r"float32-1|bfloat16-1.*No such file"):
        begin(observer=watcher)
    assert len(watcher.list("ended")) == 1
    assert not Path("store").exists()


def test_a_store_that_was_moved_is_resumed_where_it_is(begin, script):
    def press():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        begin(stop_after(script, 3, press))
    Path("store").rename("elsewhere")
    going_on, executor = begin(resume=True, out="elsewhere")
    assert going_on.result.complete
    assert len(executor.instructed) == 6


def test_records_that_are_deleted_meanwhile_are_missed_and_run_again(begin, script):
    def act():
        for path in Path("store/trials").glob("*.json"):
            path.unlink()

    ended, _ = begin(stop_after(script, 3, act))
    assert not ended.result.complete
    assert "incomplete" in {caveat.code for caveat in ended.result.caveats}
    complete(begin, read_records())


def test_a_folder_of_trials_that_is_deleted_is_made_again(begin):
    begin()
    shutil.rmtree("store/trials")
    assert not judge_again("store").result.complete
    complete(begin, {})


@pytest.mark.parametrize("damage", [b"", b"{", b"\xff\x00", b"[]"])
def test_a_damaged_result_is_written_anew(begin, damage):
    before, _ = begin()
    Path("store/result.json").write_bytes(damage)
    after, executor = begin(resume=True)
    assert executor.instructed == []
    assert after.result == before.result


@pytest.mark.parametrize("damage", [b"", b"{", b"\xff\x00", b"[]", b"{}"])
def test_a_damaged_plan_is_refused_and_no_trial_is_touched(begin, damage):
    begin()
    whole = Path("store/plan.json").read_bytes()
    kept = read_records()
    Path("store/plan.json").write_bytes(damage)
    for act in (lambda: begin(resume=True), lambda: judge_again("store")):
        with pytest.raises(BetterhalfError, match=r"plan\.json") as caught:
            act()
        assert caught.value.exit_code == 2
    assert read_records() == kept
    Path("store/plan.json").write_bytes(whole)
    assert read_experiment("store").result.complete
    complete(begin, kept)


@pytest.mark.parametrize("name", ["plan.json", "trials/mixed_bfloat16-1.json"])
def test_a_store_of_a_newer_release_is_refused_whole(begin, name):
    begin()
    file = Path("store", name)
    before = file.read_bytes()
    file.write_bytes(before.replace(b'"version": 1', b'"version": 99'))
    for act in (lambda: begin(resume=True), lambda: judge_again("store")):
        with pytest.raises(BetterhalfError, match="newer release") as caught:
            act()
        assert caught.value.exit_code == 2
    file.write_bytes(before)
    complete(begin, read_records())
