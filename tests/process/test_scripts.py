"""Every script of a user that `compare` must work on, on every backend it is for.

One trial each, under mixed_float16, through the parent's own machinery.
"""

import getpass
import os
import socket
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from betterhalf.records.plan import Slot
from betterhalf.trials.executors import LocalExecutor
from betterhalf.trials.experiment import Sitting
from betterhalf.trials.observing import NoObserver
from betterhalf.trials.planning import make_plan
from betterhalf.trials.programs import find_program
from betterhalf.trials.store import Store


sys.path.insert(0, str(Path(__file__).parent))
from conftest import SCRIPTS, read_script


POLICY = "mixed_float16"
ALL = [read_script(path, path.stem) for path in sorted(SCRIPTS.glob("*.py"))]
CASES = [
    pytest.param(script, backend, id=f"{script.name}-{backend}")
    for script in ALL
    for backend in script.backends
]
CUSTOM_LOOPS = {"custom_loop_jax", "custom_loop_tensorflow", "custom_loop_torch"}
UNSCALED = {*CUSTOM_LOOPS, "subclassed_unscaled"}


def run_trial(program, backend, *, arm=POLICY, number=1):
    """Runs the trial of one arm and returns its record."""
    plan = make_plan(program, arms=[arm], backend=backend, quick=True)
    store = Store(Path("store"))
    store.folder.mkdir(exist_ok=True)
    with store.locked():
        store.write_plan(plan, None)
        sitting = Sitting(plan, program, store, LocalExecutor(), NoObserver())
        return sitting._run_trial(Slot(arm=arm, number=number))


@pytest.mark.parametrize(("script", "backend"), CASES)
def test_a_users_script_is_watched_as_it_is(scripts, script, backend):
    program = find_program(script.path.name, list(script.arguments))
    trial = run_trial(program, backend)
    assert trial.exit_code == script.exit_code, trial.log_tail
    assert trial.outcome == ("crashed" if script.name == "raises" else "finished")
    if script.name == "never_trains":
        assert trial.judged is None
        return
    training = trial.judged_training
    assert training is not None, trial.log_tail
    assert training.kind == _kind(script.name)
    assert training.steps >= 30
    assert sum(window.steps for window in training.windows) == training.steps
    assert any(window.steady for window in training.windows)
    assert training.startup_seconds > 0
    _check_epochs(training)
    if trial.outcome == "finished":
        _check_set_up(script.name, trial)


def _kind(name):
    if name in CUSTOM_LOOPS:
        return "loop"
    return "train_on_batch" if name == "train_on_batch" else "fit"


def _check_epochs(training):
    for epoch in training.epochs:
        windows = [w for w in training.windows if w.epoch == epoch.index]
        assert sum(window.steps for window in windows) == epoch.steps
        if epoch.complete:
            seconds = sum(window.seconds for window in windows)
            assert seconds == pytest.approx(epoch.train_seconds, rel=0.01, abs=0.002)
        assert epoch.train_seconds <= epoch.seconds


def _check_set_up(name, trial):
    """The three checks, as a person would look at them."""
    checks = trial.checks
    assert checks.global_policy == POLICY
    assert checks.layers_computing_16bit > 0
    assert checks.middle_layer.compute == "float16"
    assert checks.middle_layer.variable == "float32"
    assert set(checks.output_dtypes) == {"float32"}
    assert checks.loss_scaled is (name not in UNSCALED)
    assert checks.non_finite_state == ()
    assert any(repair.code == "float32-output" for repair in trial.repairs)
    codes = {note.code for note in trial.notes}
    assert ("gradients-not-scaled" in codes) is (name in UNSCALED)
    if checks.wrapped and checks.applied_steps is not None:
        assert (
            checks.applied_steps + checks.skipped_steps == trial.judged_training.steps
        )
    assert trial.memory.kind == "resident"
    assert trial.memory.peak_bytes > 100e6
    assert trial.environment.packages["keras"]
    assert trial.timeline.samples_taken > 0


@pytest.mark.parametrize("backend", ["tensorflow", "jax", "torch"])
def test_the_record_of_the_longest_fit_is_judged_and_the_others_are_listed(
    scripts, backend
):
    trial = run_trial(find_program("two_fits.py", []), backend)
    assert [training.kind for training in trial.trainings] == ["fit"] * 3
    assert trial.judged == 1


def test_a_script_sees_itself_as_if_it_ran_by_itself(scripts):
    command = [sys.executable, "prints_main.py", "one", "--two", "and three"]
    alone = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "KERAS_BACKEND": "torch"},
    )
    run_trial(find_program("prints_main.py", ["one", "--two", "and three"]), "torch")
    log = Path("store/trials/mixed_float16-1.log").read_text()

    assert len(alone.stdout.splitlines()) == 8
    for line in alone.stdout.splitlines():
        assert line in log.splitlines()


def test_a_module_runs_as_python_m_would(scripts):
    trial = run_trial(find_program("package_main.train", [], module=True), "jax")
    assert trial.outcome == "finished", trial.log_tail
    assert trial.judged_training.steps >= 30


def test_a_traceback_is_the_scripts_own(scripts):
    trial = run_trial(find_program("raises.py", []), "jax")
    assert trial.failure.kind == "ValueError"
    assert "check_range" in trial.failure.traceback
    assert "betterhalf" not in trial.failure.traceback
    assert str(Path.cwd()) not in trial.failure.traceback


def test_seeds_are_kept_in_the_first_block_and_replaced_in_the_second(scripts):
    program = find_program("own_policy_and_seed.py", [])
    losses = {}
    for number in (1, 2):
        trial = run_trial(program, "jax", number=number)
        losses[number] = trial.judged_training.epochs[0].logs["loss"]
        replaced = [note for note in trial.notes if note.code == "seed-replaced"]
        assert bool(replaced) is (number == 2)
    assert losses[1] != losses[2]


def test_the_scripts_own_policy_is_overridden_and_noted(scripts):
    trial = run_trial(
        find_program("own_policy_and_seed.py", []), "jax", arm="mixed_bfloat16"
    )
    assert trial.checks.global_policy == "mixed_bfloat16"
    assert "policy-overridden" in {note.code for note in trial.notes}


def test_a_backend_that_the_arm_names_wins_and_is_noted(scripts):
    trial = run_trial(find_program("own_backend.py", []), "torch")
    assert trial.environment.packages["torch"]
    assert "backend-overridden" in {note.code for note in trial.notes}


def test_files_saved_through_keras_stay_in_the_trial(scripts):
    trial = run_trial(find_program("early_stopped.py", []), "torch")
    assert trial.outcome == "finished", trial.log_tail
    assert not Path("training.csv").exists()
    assert list(Path("checkpoints").iterdir()) == []  # the script makes the folder
    saved = Path("store/trials/mixed_float16-1/files")
    assert (saved / "training.csv").exists()
    assert (saved / "checkpoints" / "best.keras").exists()
    assert trial.files_shared == ()


def test_a_raw_arm_is_left_as_keras_makes_it(scripts):
    program = find_program("sequential.py", [])
    trial = run_trial(program, "tensorflow", arm="mixed_float16+raw")
    assert trial.repairs == ()
    assert set(trial.checks.output_dtypes) == {"float16"}


def test_no_name_of_this_machine_is_in_a_record(scripts):
    trial = run_trial(find_program("sequential.py", ["--secret", "hunter2"]), "jax")
    text = msgspec.json.encode(msgspec.to_builtins(trial)).decode()
    for private in (str(Path.home()), str(Path.cwd()), socket.gethostname(), "hunter2"):
        assert private not in text
    assert f'"{getpass.getuser()}"' not in text
