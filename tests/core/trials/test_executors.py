"""Children that are real and plain Python; a hand-written hook tells their events."""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from betterhalf.errors import BetterhalfError
from betterhalf.records import codec, events
from betterhalf.records.instructions import Instructions
from betterhalf.records.plan import Slot
from betterhalf.trials import executors
from betterhalf.trials.executors import EventTail, LocalExecutor
from betterhalf.trials.folding import fold, read_events
from betterhalf.trials.logs import read_end, take_tail


pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")

HOOK = """
import builtins, json, os
with open(os.environ["BETTERHALF_INSTRUCTIONS"]) as file:
    INSTRUCTIONS = json.load(file)
def tell(name, **fields):
    with open(INSTRUCTIONS["events"], "a") as file:
        file.write(json.dumps({"event": name, "at": 1.0, **fields}) + "\\n")
builtins.tell = tell
builtins.INSTRUCTIONS = INSTRUCTIONS
tell("started", pid=os.getpid())
"""


class Runner:
    """Runs one script to its end, with what is needed around it."""

    def __init__(self, lab, tmp_path):
        hook = tmp_path / "hook"
        hook.mkdir()
        (hook / "sitecustomize.py").write_text(HOOK)
        self.hook = str(hook)
        self.lab = lab
        self.files = lab.store().make_room(Slot(arm="float32", number=1))
        self.seen = []
        self.on_event = self.seen.append

    def __call__(self, source, *arguments, timeout=None, environ=None):
        program = self.lab.program(source, *arguments)
        instructions = Instructions(
            policy="float32",
            backend="jax",
            events=str(self.files.events),
            folder=str(self.files.folder),
        )
        self.files.instructions.write_bytes(codec.encode_line(instructions))
        executor = LocalExecutor({**os.environ, **(environ or {})}, self.hook)
        ending = executor.run(
            program,
            self.files,
            timeout_seconds=timeout,
            on_event=self.on_event,
        )
        assert not self.left_running()
        return ending

    def left_running(self):
        """Processes of this trial, found in a way of the test's own."""
        marker = f"BETTERHALF_INSTRUCTIONS={self.files.instructions}".encode()
        found = []
        for process in Path("/proc").glob("[0-9]*/environ"):
            try:
                if marker in process.read_bytes():
                    found.append(process)
            except OSError:
                continue
        return found

    @property
    def log(self):
        return read_end(self.files.log)

    def fold(self, ending):
        lines = self.files.events.read_bytes().splitlines()
        return fold(
            read_events(lines), Slot(arm="float32", number=1), ending, log=self.log
        )


@pytest.fixture
def run(lab, tmp_path):
    return Runner(lab, tmp_path)


def press_after(seconds, run, times=1, between=0.3):
    """Presses Ctrl-C once the child has told something."""

    def press():
        while not run.seen:
            time.sleep(0.01)
        time.sleep(seconds)
        for _ in range(times):
            _thread.interrupt_main()
            time.sleep(between)

    thread = threading.Thread(target=press, daemon=True)
    thread.start()
    return thread


def test_a_script_finds_everything_as_if_it_ran_by_itself(run):
    ending = run(
        "import os, sys\n"
        "print(__name__, __file__, sys.argv, os.getcwd())\n"
        "print(repr(sys.stdin.read()), os.environ['MINE'], sys.path[0])\n"
        "sys.exit(3)\n",
        "--batch",
        "64",
        environ={"MINE": "kept"},
    )
    here = Path.cwd()
    assert run.log.splitlines() == [
        f"__main__ {here}/train.py ['train.py', '--batch', '64'] {here}",
        f"'' kept {here}",
    ]
    assert (ending.exit_code, ending.ended_by) == (3, "itself")
    assert run.fold(ending).failure.kind == "exit"


def test_a_child_has_its_instructions_and_tells_while_it_runs(run):
    ending = run(
        "import time, os\n"
        "assert INSTRUCTIONS['backend'] == 'jax'\n"
        "assert os.environ['BETTERHALF_PARENT'] == str(os.getppid())\n"
        "tell('training-began', ordinal=0, kind='fit', model='m')\n"
        "time.sleep(0.6)\n"
        "tell('training-ended', ordinal=0, seconds=0.6, steps=9)\n"
    )
    assert ending.exit_code == 0
    assert [type(event).__name__ for event in run.seen] == [
        "Started",
        "TrainingBegan",
        "TrainingEnded",
    ]
    assert run.fold(ending).judged_training.steps == 9


def test_the_users_own_pythonpath_stays_behind_the_hook(run, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/helper.py").write_text("value = 7\n")
    source = "import helper, os; print(helper.value); print(os.environ['PYTHONPATH'])\n"
    run(source, environ={"PYTHONPATH": str(tmp_path / "mine")})
    assert run.log == f"7\n{run.hook}{os.pathsep}{tmp_path / 'mine'}\n"
    run("import os; print(os.environ['PYTHONPATH'])\n", environ={"PYTHONPATH": ""})
    assert run.log == f"{run.hook}\n"


def test_a_child_that_hangs_is_ended_with_all_it_started(run):
    began = time.monotonic()
    ending = run(
        "import subprocess, sys, time\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "time.sleep(60)\n",
        timeout=1.0,
    )
    assert time.monotonic() - began < 20
    assert ending.ended_by == "timeout"
    assert ending.exit_code == -signal.SIGTERM
    assert 1.0 <= ending.seconds < 3.0
    trial = run.fold(ending)
    assert (trial.outcome, trial.failure.kind) == ("timed-out", "timeout")


def test_a_child_that_will_not_end_is_killed(run, monkeypatch):
    monkeypatch.setattr(executors, "_GRACE_SECONDS", 0.3)
    ending = run(
        "import signal, time\n"
        "for name in ('SIGTERM', 'SIGINT', 'SIGHUP'):\n"
        "    signal.signal(getattr(signal, name), signal.SIG_IGN)\n"
        "time.sleep(60)\n",
        timeout=0.7,
    )
    assert ending.exit_code == -signal.SIGKILL


def test_a_child_that_is_killed_from_outside_is_an_outcome(run):
    def kill(event):
        run.seen.append(event)
        os.kill(event.pid, signal.SIGKILL)

    run.on_event = kill
    ending = run("import time; time.sleep(60)\n")
    assert ending.exit_code == -signal.SIGKILL
    assert run.fold(ending).failure.kind == "SIGKILL"


def test_what_a_child_leaves_behind_is_ended_after_it(run):
    ending = run(
        "import subprocess, sys\n"
        "sleep = [sys.executable, '-c', 'import time; time.sleep(60)']\n"
        "subprocess.Popen(sleep)\n"
        "subprocess.Popen(sleep, start_new_session=True)\n"
        "tell('left')\n"
    )
    assert (ending.exit_code, ending.left_behind) == (0, 2)
    assert [note.code for note in run.fold(ending).notes] == ["processes-left"]


def test_a_child_that_forks_away_is_found(run):
    ending = run(
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        time.sleep(60)\n"
        "    os._exit(0)\n"
        "os.wait()\n"
    )
    assert (ending.exit_code, ending.left_behind) == (0, 1)


def test_a_child_that_left_but_hangs_at_its_exit_is_not_waited_for(run, monkeypatch):
    monkeypatch.setattr(executors, "_LEAVE_SECONDS", 0.3)
    ending = run("import time\ntell('left')\ntime.sleep(60)\n")
    assert ending.seconds < 5
    assert run.fold(ending).outcome == "finished"


def test_ctrl_c_ends_the_child_and_is_told(run):
    thread = press_after(0.2, run)
    ending = run("import time; time.sleep(60)\n")
    thread.join()
    assert (ending.ended_by, ending.interrupted) == ("interrupt", True)
    assert ending.exit_code == -signal.SIGTERM
    assert run.fold(ending).outcome == "interrupted"


def test_ctrl_c_twice_does_not_wait_for_a_child_that_will_not_end(run, monkeypatch):
    monkeypatch.setattr(executors, "_GRACE_SECONDS", 30.0)
    began = time.monotonic()
    thread = press_after(0.5, run, times=2, between=0.5)
    ending = run(
        "import signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "time.sleep(60)\n"
    )
    thread.join()
    assert time.monotonic() - began < 15
    assert (ending.ended_by, ending.exit_code) == ("interrupt", -signal.SIGKILL)


def test_an_observer_that_raises_leaves_no_child(run):
    def fail(event):
        raise ZeroDivisionError

    run.on_event = fail
    with pytest.raises(ZeroDivisionError):
        run("import time; time.sleep(60)\n")
    assert not run.left_running()


def test_a_log_of_many_megabytes_with_bytes_that_are_no_text_keeps_its_end(run):
    ending = run(
        "import sys\n"
        "block = bytes(range(128, 256)) * 8192\n"
        "for _ in range(64): sys.stdout.buffer.write(block)\n"
        "sys.stdout.buffer.write(b'\\xff\\n')\n"
        "sys.stdout.buffer.flush()\n"
        "raise ValueError('the end')\n"
    )
    assert run.files.log.stat().st_size > 60_000_000
    assert ending.exit_code == 1
    tail = take_tail(run.log)
    assert tail.endswith("ValueError: the end")
    assert len(tail) < 30 * 502
    assert run.fold(ending).failure.kind == "ValueError"


def test_the_machine_is_sampled_beside_the_child(run):
    ending = run("import time; time.sleep(1.2)\n")
    assert ending.timeline is not None
    assert ending.timeline.samples_taken >= 2
    assert "memory_used_bytes" in {series.name for series in ending.timeline.series}


def test_a_program_that_cannot_start_is_told(run, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(BetterhalfError, match=r"start train\.py.*No such file"):
        run("pass\n")


def test_a_stopped_child_is_ended_too(run, monkeypatch):
    monkeypatch.setattr(executors, "_GRACE_SECONDS", 0.3)

    def stop(event):
        os.kill(event.pid, signal.SIGSTOP)

    run.on_event = stop
    ending = run("import time; time.sleep(60)\n", timeout=1.0)
    assert (ending.ended_by, ending.exit_code) == ("timeout", -signal.SIGKILL)


def test_events_are_read_once_and_whole(lab, tmp_path):
    tail = EventTail(tmp_path / "events.jsonl")
    assert tail.read() == []
    first, second = (codec.encode_line(event) for event in lab.train()[:2])
    with tail.file.open("ab", buffering=0) as file:
        file.write(first + second[:9])
        assert tail.read() == lab.train()[:1]
        assert tail.read() == []
        file.write(second[9:] + b"garbage\n" + codec.encode_line(events.Left(at=1.0)))
        assert tail.read() == [lab.train()[1], events.Left(at=1.0)]
        assert tail.read() == []
