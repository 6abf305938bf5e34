"""`betterhalf compare` from the outside: its exit codes, its store, its ends."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest


BACKENDS = ["tensorflow", "jax", "torch"]


def start(*arguments):
    """Starts the command in a session of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "betterhalf", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def run(*arguments):
    """Runs the command and returns exit code, stdout and stderr."""
    process = start(*arguments)
    out, err = process.communicate(timeout=500)
    return process.returncode, out, err


def read(path):
    return json.loads(Path(path).read_text())["data"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_quick_comparison_ends_in_a_sentence_that_its_samples_bear_out(
    scripts, backend
):
    code, out, err = run(
        *("compare", "--quick", "--runs", "2", "--arms", "mixed_bfloat16"),
        *("--backend", backend, "--out", "store", "sequential.py"),
    )
    assert code in {0, 1, 3}, err
    result = read("store/result.json")
    reference, arm = result["arms"]
    assert (reference["arm"], reference["verdict"]) == ("float32", "reference")
    assert arm["sentence"] in " ".join(out.split())
    assert arm["speedup"]["estimate"] == pytest.approx(_recompute_speedup())
    assert arm["checks"]["layers_computing_16bit"] > 0
    assert {0: "speed-only", 1: "revert", 3: "inconclusive"}[code] == arm["verdict"]


def _recompute_speedup():
    """The ratio of geometric means of time per step, from the raw windows alone."""
    means = {}
    for name in ("float32", "mixed_bfloat16"):
        logs = []
        for number in (1, 2):
            trial = read(f"store/trials/{name}-{number}.json")
            windows = trial["trainings"][trial["judged"]]["windows"]
            steady = [window for window in windows if window["steady"]]
            seconds = sum(window["seconds"] for window in steady)
            logs.append(math.log(seconds / sum(window["steps"] for window in steady)))
        means[name] = sum(logs) / len(logs)
    return math.exp(means["float32"] - means["mixed_bfloat16"])


def test_the_reports_are_made_again_byte_for_byte(scripts):
    run(
        *("compare", "--quick", "--runs", "1", "--arms", "mixed_bfloat16"),
        *("--backend", "jax", "--out", "store", "sequential.py"),
    )
    names = ("result.json", "report.md", "report.html")
    before = {name: Path("store", name).read_bytes() for name in names}
    for name in names:
        Path("store", name).unlink()
    code, _, err = run("report", "store")
    assert code in {0, 1, 3}, err
    assert {name: Path("store", name).read_bytes() for name in names} == before


def test_full_trainings_follow_the_short_ones(scripts):
    code, _, err = run(
        *("compare", "--runs", "2", "--max-runs", "2", "--arms", "float32"),
        *("--backend", "jax", "--out", "store", "sequential.py"),
    )
    assert code in {0, 1, 3}, err
    full = read("store/trials/float32-full-1.json")
    training = full["trainings"][full["judged"]]
    assert not training["cut_short"]
    assert len(training["epochs"]) == training["planned_epochs"]
    _, control = read("store/result.json")["arms"]
    assert control["arm"] == "float32#2"


def test_a_script_that_never_trains_is_bad_input_after_one_trial(scripts):
    code, _, err = run(
        "compare", "--backend", "jax", "--out", "store", "never_trains.py"
    )
    assert code == 2
    assert "never_trains.py" in err
    assert "without a training step" in " ".join(err.split())
    assert len(list(Path("store/trials").glob("*.json"))) == 1


def test_a_metric_that_does_not_exist_is_bad_input_and_the_others_are_listed(scripts):
    code, _, err = run(
        *("compare", "--backend", "jax", "--metric", "beauty"),
        *("--out", "store", "sequential.py"),
    )
    assert code == 2
    assert "'beauty'" in err
    assert "accuracy" in err
    assert len(list(Path("store/trials").glob("*.json"))) == 1


def test_a_script_that_raises_is_shown_as_python_would_show_it(scripts):
    code, _, err = run("compare", "--backend", "jax", "--out", "store", "raises.py")
    assert code == 4
    assert "Traceback (most recent call last)" in err
    assert "ValueError: the loss fell below" in err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["no_such.py"], "no_such.py"),
        (["data/message.txt"], "Python"),
        (["--arms", "mixed_float17", "sequential.py"], "mixed_float17"),
        (["--backend", "theano", "sequential.py"], "theano"),
        (["--arms", "16-mixed,mixed_float16", "sequential.py"], "mixed_float16"),
        (["--runs", "0", "sequential.py"], "--runs"),
        (["--margin", "-1", "sequential.py"], "--margin"),
        (["--out", "data", "sequential.py"], "data"),
        (["--on", "ray", "sequential.py"], "cluster"),
        (["--launcher", "torchrun", "sequential.py"], "--launcher"),
    ],
)
def test_bad_input_is_told_before_anything_starts(scripts, arguments, told):
    before = sorted(str(path) for path in Path().rglob("*"))
    code, out, err = run("compare", *arguments)
    assert code == 2
    assert told in err
    assert "Received" in err
    assert "Traceback" not in err
    assert out == ""
    assert sorted(str(path) for path in Path().rglob("*")) == before


def _wait_for(path, seconds=120):
    deadline = time.monotonic() + seconds
    while not Path(path).exists():
        assert time.monotonic() < deadline, f"{path} never came"
        time.sleep(0.1)


def _children_of(process):
    return psutil.Process(process.pid).children(recursive=True)


QUICK = ("compare", "--quick", "--runs", "1", "--arms", "mixed_bfloat16")
STORE = ("--backend", "jax", "--out", "store", "sequential.py")


def test_ctrl_c_keeps_what_is_done_and_resume_completes_it(scripts):
    process = start(*QUICK, *STORE)
    _wait_for("store/trials/mixed_bfloat16-1.jsonl")
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "--resume" in err
    first = Path("store/trials/float32-1.json").read_bytes()
    code, _, err = run(*QUICK, "--resume", *STORE)
    assert code in {0, 1, 3}, err
    assert Path("store/trials/float32-1.json").read_bytes() == first
    assert read("store/result.json")["complete"]


def test_a_parent_that_is_killed_leaves_nothing_running_and_can_be_resumed(scripts):
    process = start(*QUICK, *STORE)
    _wait_for("store/trials/mixed_bfloat16-1.jsonl")
    children = _children_of(process)
    assert children
    process.kill()
    process.communicate(timeout=60)
    _, alive = psutil.wait_procs(children, timeout=30)
    assert alive == []
    code, _, err = run(*QUICK, "--resume", *STORE)
    assert code in {0, 1, 3}, err
    assert read("store/result.json")["complete"]


def test_a_child_that_is_killed_is_an_outcome(scripts):
    process = start(*QUICK, *STORE)
    _wait_for("store/trials/mixed_bfloat16-1.jsonl")
    for child in _children_of(process):
        child.kill()
    process.communicate(timeout=120)
    trial = read("store/trials/mixed_bfloat16-1.json")
    assert trial["outcome"] == "crashed"
    assert trial["failure"]["kind"] == "SIGKILL"
    assert read("store/result.json")["arms"][1]["verdict"] == "inconclusive"


def test_a_hanging_script_is_ended_at_its_time_limit(scripts):
    Path("hangs.py").write_text("import time, keras\ntime.sleep(600)\n")
    code, _, _ = run(
        *("compare", "--backend", "jax", "--trial-timeout", "8s"),
        *("--out", "store", "hangs.py"),
    )
    assert code == 4
    assert read("store/trials/float32-1.json")["outcome"] == "timed-out"
