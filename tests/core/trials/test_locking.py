from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from betterhalf.errors import UsageError
from betterhalf.trials.locking import lock


HOLD = """
import sys
from pathlib import Path
from betterhalf.trials.locking import lock
with lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def hold(path):
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert child.stdout.readline() == b"held\n"
    return child


def test_one_experiment_at_a_time_has_a_store(tmp_path):
    path = tmp_path / "lock"
    with lock(path), pytest.raises(UsageError, match="no other experiment"), lock(path):
        pass
    with lock(path):
        pass
    assert not path.exists()


def test_the_lock_of_a_killed_experiment_is_not_in_the_way(tmp_path):
    path = tmp_path / "lock"
    child = hold(path)
    with child, child.stdout, child.stdin:
        with pytest.raises(UsageError), lock(path):
            pass
        child.kill()
        child.wait()
        assert path.exists()
        with lock(path):
            pass


def test_a_file_that_nobody_holds_is_taken_over(tmp_path):
    (tmp_path / "lock").write_text("left by someone")
    with lock(tmp_path / "lock"):
        pass


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    path = tmp_path / "gone" / "lock"
    with pytest.raises(UsageError, match="can be written"), lock(path):
        pass


def test_the_lock_is_free_after_an_error(tmp_path):
    path = tmp_path / "lock"
    with pytest.raises(ZeroDivisionError), lock(path):
        raise ZeroDivisionError
    with lock(path):
        pass


def test_never_do_two_hold_it_while_it_is_made_and_removed(tmp_path):
    path, holding, most = tmp_path / "lock", [0], [0]
    guard = threading.Lock()

    def work():
        for _ in range(300):
            try:
                with lock(path):
                    with guard:
                        holding[0] += 1
                        most[0] = max(most[0], holding[0])
                    with guard:
                        holding[0] -= 1
            except UsageError:
                continue

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]
