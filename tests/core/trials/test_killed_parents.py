"""An experiment that is killed with its children, and goes on as if nothing was."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from betterhalf.trials.comparing import conduct
from betterhalf.trials.executors import LocalExecutor


pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")

HOOK = """
import builtins, json, os
if "BETTERHALF_INSTRUCTIONS" in os.environ:
    with open(os.environ["BETTERHALF_INSTRUCTIONS"]) as file:
        told = json.load(file)
    def tell(name, **fields):
        with open(told["events"], "a") as file:
            file.write(json.dumps({"event": name, "at": 1.0, **fields}) + "\\n")
    builtins.tell = tell
"""
TRAIN = """
import time
tell("training-began", ordinal=0, kind="fit", model="m")
for _ in range(4):
    window = {"epoch": 0, "steps": 20, "seconds": 0.5, "steady": True}
    tell("window", ordinal=0, window=window)
    time.sleep(0.05)
tell("training-ended", ordinal=0, seconds=2.0, steps=80)
"""
PARENT = """
import sys
from betterhalf.trials import choosing
choosing.find_spec = lambda name: object()
from betterhalf.trials.comparing import conduct
from betterhalf.trials.executors import LocalExecutor
executor = LocalExecutor(hook=sys.argv[1])
conduct("train.py", arms="mixed_bfloat16", quick=True, out="store", executor=executor)
"""


@pytest.mark.parametrize("records", [0, 1, 3])
def test_an_experiment_that_was_killed_is_resumed_and_loses_nothing(tmp_path, records):
    hook = tmp_path / "hook"
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(HOOK)
    Path("train.py").write_text(TRAIN)
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", PARENT, str(hook)]
    parent = subprocess.Popen(command, env=environ, start_new_session=True)
    trials = Path("store/trials")
    while len(list(trials.glob("*.json"))) < records or not any(trials.glob("*.jsonl")):
        assert parent.poll() is None
        time.sleep(0.01)
    children = psutil.Process(parent.pid).children(recursive=True)
    parent.kill()
    parent.wait()
    psutil.wait_procs(children, timeout=5)
    kept = {path: path.read_bytes() for path in trials.glob("*.json")}
    assert len(kept) >= records

    executor = LocalExecutor(hook=str(hook))
    experiment = conduct("train.py", out="store", resume=True, executor=executor)
    assert experiment.result is not None
    assert experiment.result.complete
    assert len(experiment.trials) == 6
    assert {trial.outcome for trial in experiment.trials} == {"finished"}
    assert all(path.read_bytes() == content for path, content in kept.items())
    assert not (experiment.folder / "lock").exists()
