"""A disk that is full, read-only or broken, at every kind of file that is written."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from betterhalf.errors import BetterhalfError
from betterhalf.records.events import Left
from betterhalf.records.plan import Slot
from betterhalf.trials.comparing import conduct, judge_again
from betterhalf.trials.executors import EventTail, LocalExecutor
from betterhalf.trials.resuming import new_store
from betterhalf.worker.writing import EventWriter


WRITTEN = [
    "plan.json",
    "float32-1.instructions",
    "float32-1.json",
    "mixed_bfloat16-2.instructions",
    "mixed_bfloat16-2.json",
    "result.json",
]
CAUSES = [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EIO, errno.EDQUOT]


def refuse(patch, name, code):
    """Lets every attempt to make or to write `name` fail with `code`."""

    def unless_refused(before):
        def act(self, *arguments, **options):
            reads = before is plain["open"] and "r" in (*arguments[:1], "r")[0]
            if self.name.removesuffix(".part") == name and not reads:
                raise OSError(code, os.strerror(code), str(self))
            return before(self, *arguments, **options)

        return act

    plain = {"open": Path.open, "mkdir": Path.mkdir}
    for method, before in plain.items():
        patch.setattr(Path, method, unless_refused(before))


@pytest.fixture
def begin(lab):
    Path("train.py").write_text("import keras\n")

    def run(**options):
        executor = lab.executor(lab.good)
        if not options.get("resume"):
            options = {"arms": "mixed_bfloat16", "quick": True, **options}
        return conduct("train.py", executor=executor, out="store", **options), executor

    return run


def read_records():
    return {path: path.read_bytes() for path in Path("store/trials").glob("*.json")}


def begin_in_vain(begin, monkeypatch, name, code):
    """Begins where `name` cannot be made, and sees that it is told."""
    with monkeypatch.context() as patch:
        refuse(patch, name, code)
        with pytest.raises(BetterhalfError, match=os.strerror(code)) as caught:
            begin()
    assert caught.value.exit_code == 4
    assert "--resume" in str(caught.value)


def go_on(begin, kept):
    going_on, executor = begin(resume=True)
    assert going_on.result.complete
    assert len(executor.instructed) == 6 - len(kept)
    assert all(path.read_bytes() == content for path, content in kept.items())


@pytest.mark.parametrize("code", CAUSES, ids=errno.errorcode.get)
@pytest.mark.parametrize("name", WRITTEN)
def test_a_file_that_cannot_be_written_is_told_and_nothing_is_lost(
    begin, monkeypatch, name, code
):
    begin_in_vain(begin, monkeypatch, name, code)
    assert list(Path("store").rglob("*.part")) == []
    if name == "plan.json":
        assert begin()[0].result.complete
    else:
        go_on(begin, read_records())


@pytest.mark.parametrize("code", CAUSES, ids=errno.errorcode.get)
@pytest.mark.parametrize("name", ["trials", "float32-1", "mixed_bfloat16-2"])
def test_a_folder_that_cannot_be_made_is_told_and_nothing_is_lost(
    begin, monkeypatch, name, code
):
    begin_in_vain(begin, monkeypatch, name, code)
    go_on(begin, read_records())


@pytest.mark.parametrize("code", CAUSES, ids=errno.errorcode.get)
def test_a_store_that_cannot_be_locked_is_bad_input(begin, monkeypatch, code):
    before = os.open

    def refusing(path, *arguments):
        if Path(path).name == "lock":
            raise OSError(code, os.strerror(code))
        return before(path, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refusing)
        with pytest.raises(BetterhalfError, match="can be written") as caught:
            begin()
    assert caught.value.exit_code == 2
    assert begin()[0].result.complete


def test_a_finished_store_that_became_read_only_is_told_and_kept(begin, monkeypatch):
    begin()
    before = {path: path.read_bytes() for path in Path("store").rglob("*.json")}
    with monkeypatch.context() as patch:
        refuse(patch, "result.json", errno.EROFS)
        with pytest.raises(BetterhalfError, match="Read-only file system"):
            judge_again("store")
    assert {p: p.read_bytes() for p in Path("store").rglob("*.json")} == before


def test_a_log_that_cannot_be_made_is_told(lab, monkeypatch):
    program = lab.program("pass\n")
    files = lab.store().make_room(Slot(arm="float32", number=1))
    with monkeypatch.context() as patch:
        refuse(patch, files.log.name, errno.ENOSPC)
        with pytest.raises(BetterhalfError, match=r"start train\.py.*No space left"):
            LocalExecutor().run(
                program, files, timeout_seconds=None, on_event=lambda _: None
            )


def test_an_event_that_the_disk_takes_in_parts_is_whole(tmp_path, monkeypatch):
    path = tmp_path / "events.jsonl"
    writer = EventWriter(str(path))
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, line: write(file, line[:5]))
    writer.write(Left)
    assert [type(event) for event in EventTail(path).read()] == [Left]


def test_an_event_that_the_full_disk_refuses_is_never_passed_over(
    tmp_path, monkeypatch
):
    writer = EventWriter(str(tmp_path / "events.jsonl"))
    write, room = os.write, [7]

    def nearly_full(file, line):
        if not room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(file, line[: room.pop()])

    monkeypatch.setattr(os, "write", nearly_full)
    with pytest.raises(OSError, match="No space left"):
        writer.write(Left)


def test_noise_without_an_end_of_line_does_not_hold_up_the_events(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"\x00\xff" * 1_500_000 + b"\n" + b'{"event":"left","at":1.0}\n')
    tail = EventTail(path)
    told = [event for _ in range(6) for event in tail.read()]
    assert told == [Left(at=1.0)]


@pytest.mark.parametrize("left", [["lock"], ["lock", "plan.json.part"]])
def test_what_was_killed_before_it_had_a_plan_is_not_in_the_way(left):
    Path("store").mkdir()
    for name in left:
        (Path("store") / name).write_text("{")
    assert new_store("store", "train.py", Path.cwd()).folder.name == "store"
