"""Faults that need real processes: the watcher is the real one, the scripts are tiny.

None of the scripts imports a framework, so that each fault costs a second.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from betterhalf.records import codec
from betterhalf.records.instructions import (
    INSTRUCTIONS_VARIABLE,
    PARENT_VARIABLE,
    Instructions,
)
from betterhalf.records.plan import Slot
from betterhalf.trials.executors import LocalExecutor
from betterhalf.trials.folding import fold, read_events
from betterhalf.trials.logs import read_end
from betterhalf.trials.programs import find_program
from betterhalf.trials.store import Store


pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")

SLOT = Slot(arm="float32", number=1)
FAMILY = """
import pathlib, subprocess, sys, time
sleep = [sys.executable, "-S", "-c", "import time; time.sleep(120)"]
started = [subprocess.Popen(sleep, start_new_session=away) for away in (False, True)]
pathlib.Path("pids").write_text(" ".join(str(one.pid) for one in started))
time.sleep(120)
"""
PARENT = """
import sys, pathlib
from betterhalf.records.plan import Slot
from betterhalf.trials.executors import LocalExecutor
from betterhalf.trials.programs import find_program
from betterhalf.trials.store import Store
files = Store(pathlib.Path.cwd() / "store").locate(Slot(arm="float32", number=1))
LocalExecutor().run(find_program("train.py"), files, timeout_seconds=None,
                    on_event=lambda event: None)
"""


class Trial:
    """One trial of a script, without an experiment around it."""

    def __init__(self):
        Path("store").mkdir()
        self.files = Store(Path.cwd() / "store").make_room(SLOT)
        self.events = self.files.events

    def instruct(self):
        instructions = Instructions(
            policy="float32",
            backend="jax",
            events=str(self.events),
            folder=str(self.files.folder),
        )
        self.files.instructions.write_bytes(codec.encode_line(instructions))

    def run(self, source, timeout=60.0):
        Path("train.py").write_text(source)
        return LocalExecutor().run(
            find_program("train.py"),
            self.files,
            timeout_seconds=timeout,
            on_event=lambda event: None,
        )

    def fold(self, ending):
        told = self.events.read_bytes() if self.events.is_file() else b""
        log = read_end(self.files.log)
        return fold(read_events(told.splitlines()), SLOT, ending, log=log)


@pytest.fixture
def trial(scripts):
    return Trial()


def wait_for(path, seconds=30):
    deadline = time.monotonic() + seconds
    while not Path(path).exists() or not Path(path).read_text():
        assert time.monotonic() < deadline, f"{path} never came"
        time.sleep(0.05)
    return Path(path).read_text()


@pytest.mark.parametrize("how", ["SIGKILL", "SIGTERM", "SIGHUP"])
def test_whoever_ends_the_parent_ends_the_trial_and_all_that_it_started(trial, how):
    trial.instruct()
    Path("train.py").write_text(FAMILY)
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], start_new_session=True
    ) as parent:
        pids = list(map(int, wait_for("pids").split()))
        processes = [psutil.Process(pid) for pid in pids]
        processes += psutil.Process(parent.pid).children()
        parent.send_signal(getattr(signal, how))
    _, alive = psutil.wait_procs(processes, timeout=10)
    assert [process for process in alive if process.status() != "zombie"] == []


def test_a_stopped_child_of_a_killed_parent_is_ended_before_the_trial_runs_again(trial):
    environ = {
        **os.environ,
        INSTRUCTIONS_VARIABLE: str(trial.files.instructions),
        PARENT_VARIABLE: str(os.getpid()),
    }
    command = [sys.executable, "-S", "-c", "import time; time.sleep(120)"]
    with subprocess.Popen(command, env=environ, start_new_session=True) as left:
        try:
            left.send_signal(signal.SIGSTOP)
            trial.instruct()
            ending = trial.run("print('again')\n")
            assert left.wait(5) == -signal.SIGKILL
        finally:
            left.kill()
    assert (ending.exit_code, ending.left_behind) == (0, 0)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")
def test_a_trial_that_cannot_tell_for_a_full_disk_does_not_run(trial):
    trial.events = Path("/dev/full")
    trial.instruct()
    ending = trial.run("open('ran', 'w')\n")
    assert not Path("ran").exists()
    seen = trial.fold(ending)
    assert (seen.outcome, seen.exit_code) == ("crashed", 1)
    assert "No space left" in seen.failure.message


@pytest.mark.parametrize("content", [None, b"", b"\xff{", b"{}"])
def test_a_trial_without_its_instructions_does_not_run_unwatched(trial, content):
    if content is not None:
        trial.files.instructions.write_bytes(content)
    ending = trial.run("open('ran', 'w')\n")
    assert not Path("ran").exists()
    assert trial.fold(ending).outcome == "crashed"


@pytest.mark.parametrize(
    ("source", "outcome", "kind"),
    [
        (
            (
                "import resource\n"
                "resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\n"
                "bytearray(1 << 31)\n"
            ),
            "out-of-memory",
            "MemoryError",
        ),
        (
            (
                "import resource\n"
                "resource.setrlimit(resource.RLIMIT_CPU, (1, 5))\n"
                "while True: pass\n"
            ),
            "crashed",
            "SIGXCPU",
        ),
        (
            (
                "import resource\n"
                "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
                "open('big', 'wb', buffering=0).write(bytes(4096))\n"
                "open('big', 'ab', buffering=0).write(bytes(4096))\n"
            ),
            "crashed",
            "OSError",
        ),
        ("import ctypes; ctypes.string_at(0)\n", "crashed", "SIGSEGV"),
        ("import os; os.abort()\n", "crashed", "SIGABRT"),
        ("import os; os._exit(9)\n", "crashed", "exit"),
        ("open('/dev/full', 'w').write('x' * 99999)\n", "crashed", "OSError"),
        ("def f(): f()\nf()\n", "crashed", "RecursionError"),
        ("raise KeyboardInterrupt\n", "crashed", None),
    ],
    ids=[
        "memory-limit",
        "cpu-limit",
        "file-limit",
        "segfault",
        "abort",
        "exit",
        "full-disk",
        "recursion",
        "interrupts-itself",
    ],
)
def test_a_limit_or_a_mishap_of_the_system_is_an_outcome(trial, source, outcome, kind):
    trial.instruct()
    seen = trial.fold(trial.run(source))
    assert seen.outcome == outcome
    assert kind is None or seen.failure.kind == kind


def test_children_that_fork_without_end_are_all_ended(trial):
    trial.instruct()
    ending = trial.run(
        "import os, time\n"
        "for _ in range(12):\n"
        "    if os.fork() == 0:\n"
        "        os.setsid()\n"
        "        time.sleep(120)\n"
    )
    assert ending.exit_code == 0
    assert ending.left_behind == 12
    assert trial.fold(ending).notes[-1].code == "processes-left"
