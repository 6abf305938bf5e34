from __future__ import annotations

import math
import os
import time

import pytest

from betterhalf.hardware.sources import trial_processes
from betterhalf.hardware.sources.trial_processes import TrialProcesses


SLEEP = "import time; time.sleep(60)"
PARENT = f"""
import subprocess, sys
worker = subprocess.Popen([sys.executable, "-c", {SLEEP!r}])
print(worker.pid, flush=True)
sys.stdin.readline()
worker.kill()
worker.wait()
print("ended", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def _always_scan(monkeypatch):
    monkeypatch.setattr(trial_processes, "_SCAN_SECONDS", 0.0)
    monkeypatch.setattr(trial_processes, "_SCAN_SHARE", math.inf)


@pytest.mark.usefixtures("_always_scan")
def test_workers_come_and_go(start_child):
    child = start_child(PARENT)
    worker = int(child.stdout.readline())
    source = TrialProcesses(child.pid)
    both = source.read()
    assert both["processes"] == 2
    assert source.holds(worker)
    child.stdin.write("\n")
    child.stdin.flush()
    assert child.stdout.readline() == "ended\n"
    one = source.read()
    assert one["processes"] == 1
    assert one["process_rss_bytes"] < both["process_rss_bytes"]
    assert source.holds(worker), "what was the trial's stays the trial's"


def test_a_trial_that_has_ended_gives_nan(start_child):
    child = start_child(SLEEP)
    source = TrialProcesses(child.pid)
    assert source.read()["process_rss_bytes"] > 0
    child.kill()
    for _ in range(2):  # not collected yet, then gone
        _wait_until_dead(child)
        values = source.read()
        assert values["processes"] == 0
        assert math.isnan(values["process_rss_bytes"])
        assert math.isnan(values["cpu_percent"])
        child.wait()


def test_a_trial_that_never_was_gives_nan(start_child):
    child = start_child("")
    child.wait()
    values = TrialProcesses(child.pid).read()
    assert values["processes"] == 0
    assert math.isnan(values["cpu_percent"])


def test_a_worker_is_known_before_it_was_looked_for(start_child):
    child = start_child("input()\n" + PARENT)
    source = TrialProcesses(child.pid)
    child.stdin.write("\n")
    child.stdin.flush()
    worker = int(child.stdout.readline())
    assert source.read()["processes"] == 1
    assert source.holds(worker)


def test_others_are_not_of_the_trial(start_child):
    source = TrialProcesses(start_child(SLEEP).pid)
    assert not source.holds(os.getpid())
    assert not source.holds(start_child(SLEEP).pid)
    assert not source.holds(1)


def test_looking_for_processes_becomes_rare_where_it_is_dear(start_child, monkeypatch):
    looks = []

    def look(pid):
        looks.append(pid)
        end = time.thread_time() + 0.01
        while time.thread_time() < end:
            pass
        return []

    monkeypatch.setattr(trial_processes, "find_process_tree", look)
    monkeypatch.setattr(trial_processes, "_SCAN_SECONDS", 0.0)
    source = TrialProcesses(start_child(SLEEP).pid)
    for _ in range(20):
        source.read()
    assert len(looks) == 1


def _wait_until_dead(child):
    if child.returncode is None:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
