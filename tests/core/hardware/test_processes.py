from __future__ import annotations

import os
import signal
import time

import psutil
import pytest

from betterhalf.hardware.processes import (
    end_process_tree,
    find_process_tree,
    is_alive,
)


pytestmark = pytest.mark.skipif(os.name != "posix", reason="sessions are POSIX")

STUBBORN = """
import os, signal, time
def say(number):  # in one piece, also from several processes and signal handlers
    os.write(1, b"%d\\n" % number)
def fork(then):
    pid = os.fork()
    if not pid:
        then()
        os._exit(0)
    return pid
def sleep():
    time.sleep(60)
def ignore():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    say(os.getpid())
    sleep()
def own_session():
    os.setsid()
    ignore()
def new_group():
    os.setpgid(0, 0)
    ignore()
"""


def test_a_polite_child_ends_at_once_and_keeps_its_exit_status(start_child):
    child = start_child(STUBBORN + "say(1); sleep()")
    child.stdout.readline()
    began = time.monotonic()
    assert end_process_tree(child.pid, grace_seconds=20) == 1
    assert time.monotonic() - began < 5
    assert child.wait() == -signal.SIGTERM


def test_grandchildren_that_ignore_the_request_are_killed(start_child):
    code = "fork(ignore); fork(lambda: (fork(ignore), sleep())); sleep()"
    child = start_child(STUBBORN + code)
    stubborn = [int(child.stdout.readline()) for _ in range(2)]
    assert len(find_process_tree(child.pid)) == 4
    assert end_process_tree(child.pid, grace_seconds=0.3) == 4
    assert child.wait() == -signal.SIGTERM
    assert not any(map(_lives, stubborn))
    assert not any(map(is_alive, find_process_tree(child.pid)))


@pytest.mark.parametrize("kind", ["ignore", "own_session", "new_group"])
def test_no_grandchild_is_lost_while_its_parent_lives(start_child, kind):
    child = start_child(STUBBORN + f"fork({kind}); sleep()")
    grandchild = int(child.stdout.readline())
    assert end_process_tree(child.pid, grace_seconds=0.1) == 2
    assert not _lives(grandchild)


@pytest.mark.parametrize("kind", ["ignore", "new_group"])
def test_what_an_ended_child_left_in_its_session_is_ended(start_child, kind):
    child = start_child(STUBBORN + f"fork({kind})")
    orphan = int(child.stdout.readline())
    assert child.wait() == 0
    assert _lives(orphan)
    assert end_process_tree(child.pid, grace_seconds=0.1) == 1
    assert not _lives(orphan)


def test_descendants_of_an_orphan_are_found_in_another_session(start_child):
    code = "fork(lambda: (fork(own_session), sleep())); os.read(0, 1)"
    child = start_child(STUBBORN + code)
    last = int(child.stdout.readline())
    child.stdin.write("\n")
    child.stdin.flush()
    child.wait()
    assert end_process_tree(child.pid, grace_seconds=0) == 2
    assert not _lives(last)


def test_what_starts_while_it_is_asked_to_end_is_ended_too(start_child):
    code = """
def multiply(*_):
    say(fork(sleep))
    os._exit(0)
signal.signal(signal.SIGTERM, multiply)
say(1)
sleep()
"""
    child = start_child(STUBBORN + code)
    child.stdout.readline()
    assert end_process_tree(child.pid, grace_seconds=5) == 2
    assert not _lives(int(child.stdout.readline()))


def test_no_grace_kills_at_once(start_child):
    child = start_child(STUBBORN + "say(1); sleep()")
    child.stdout.readline()
    assert end_process_tree(child.pid, grace_seconds=0) == 1
    assert child.wait() == -signal.SIGKILL


def test_a_stopped_child_is_killed(start_child):
    child = start_child(STUBBORN + "say(1); sleep()")
    child.stdout.readline()
    os.kill(child.pid, signal.SIGSTOP)
    # still on its way, it would let the request to terminate overtake it
    os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
    assert end_process_tree(child.pid, grace_seconds=0.1) == 1
    assert child.wait() == -signal.SIGKILL


def test_a_child_that_has_ended_alone_is_nothing_to_end(start_child):
    child = start_child("raise SystemExit(3)")
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert end_process_tree(child.pid) == 0
    assert child.wait() == 3
    assert end_process_tree(child.pid) == 0


def test_a_process_that_is_not_our_child_is_left_alone(start_child):
    child = start_child(STUBBORN + "fork(own_session); sleep()")
    grandchild = int(child.stdout.readline())
    assert end_process_tree(grandchild, grace_seconds=0) == 0
    assert _lives(grandchild)
    assert end_process_tree(os.getpid(), grace_seconds=0) == 0
    assert end_process_tree(child.pid, grace_seconds=0) == 2


def _lives(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
