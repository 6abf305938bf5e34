from __future__ import annotations

import errno
import math
import os
from pathlib import Path

import pytest

from betterhalf.errors import BetterhalfError, StoreError
from betterhalf.records.environment import Device, Environment
from betterhalf.records.plan import Slot
from betterhalf.records.result import Result
from betterhalf.records.training import Epoch, Training
from betterhalf.trials.store import Store
from betterhalf.trials.writing import write_whole


ENVIRONMENT = Environment(
    python="3.11.7",
    platform="Linux-x86_64",
    cores=2,
    devices=(Device(kind="cpu", name="a processor"),),
)


def test_what_is_written_is_read_back(lab):
    plan = lab.plan()
    store = lab.store()
    store.write_plan(plan, ENVIRONMENT)
    assert store.read_plan() == plan
    assert store.read_environment() == ENVIRONMENT
    store.make_room(plan.order[0])
    trial = lab.trial()
    store.write_trial(trial)
    assert store.read_trials(plan) == [trial]
    assert store.read_result() is None
    result = Result(script="train.py", complete=False, arms=())
    store.write_result(result)
    assert store.read_result() == result


def test_a_loss_that_is_not_a_number_survives(lab):
    logs = {"loss": float("nan"), "val_loss": float("inf")}
    epoch = Epoch(
        index=0, seconds=1.0, train_seconds=1.0, steps=1, complete=True, logs=logs
    )
    training = Training(ordinal=0, kind="fit", model="cnn", epochs=(epoch,))
    plan = lab.plan()
    store = lab.store(plan)
    store.make_room(plan.order[0])
    store.write_trial(lab.trial(trainings=(training,), judged=0))
    (trial,) = store.read_trials(plan)
    assert math.isnan(trial.trainings[0].epochs[0].logs["loss"])
    assert trial.trainings[0].epochs[0].logs["val_loss"] == math.inf


def test_trials_come_in_the_order_of_the_plan(lab):
    plan = lab.plan(arms="mixed_bfloat16,mixed_float16")
    store = lab.store(plan)
    for slot in reversed(plan.order):
        store.make_room(slot)
        store.write_trial(lab.trial(slot.arm, slot.number))
    read = [(t.arm, t.number) for t in store.read_trials(plan)]
    assert read == [(slot.arm, slot.number) for slot in plan.order]


def test_files_are_named_by_arm_and_number(lab):
    store = lab.store()
    slot = Slot(arm="mixed_float16@torch+raw", number=2)
    files = store.locate(slot)
    assert files.record == store.folder / "trials/mixed_float16-torch-raw-2.json"
    assert files.events.name == "mixed_float16-torch-raw-2.jsonl"
    assert files.log.name == "mixed_float16-torch-raw-2.log"
    control = Slot(arm="float32#2", number=1)
    full = Slot(arm="float32", number=2, stage=2)
    every = [slot, control, full, Slot(arm="float32", number=2)]
    paths = [path for one in every for path in store.locate(one).every]
    assert len(set(paths)) == len(paths)


def test_what_a_killed_experiment_left_is_moved_aside_never_deleted(lab):
    plan = lab.plan()
    store = lab.store(plan)
    for attempt in (1, 2):
        files = store.make_room(plan.order[0])
        assert not any(files.folder.iterdir())
        assert not files.events.exists()
        files.events.write_text(f"attempt {attempt}\n")
        (files.folder / "weights").write_text("half")
    store.make_room(plan.order[0])
    aside = store.folder / "aside"
    assert (aside / "float32-1-1/float32-1.jsonl").read_text() == "attempt 1\n"
    assert (aside / "float32-1-2/float32-1.jsonl").read_text() == "attempt 2\n"
    assert (aside / "float32-1-2/float32-1/weights").read_text() == "half"


@pytest.mark.parametrize("damage", [b"", b"{", b"\xff\xfe", b"{}", b"[1]"])
def test_a_damaged_record_counts_as_one_that_is_not_there(lab, damage):
    plan = lab.plan()
    store = lab.store(plan)
    files = store.make_room(plan.order[0])
    files.record.write_bytes(damage)
    assert store.read_trials(plan) == []
    store.make_room(plan.order[0])
    assert (store.folder / "aside/float32-1-1/float32-1.json").read_bytes() == damage


def test_every_prefix_of_a_record_counts_as_not_there(lab):
    plan = lab.plan()
    store = lab.store(plan)
    file = store.make_room(plan.order[0]).record
    store.write_trial(lab.trial())
    whole = file.read_bytes()
    for length in range(0, len(whole) - 2, 7):
        file.write_bytes(whole[:length])
        assert store.read_trials(plan) == []


def test_a_record_under_a_wrong_name_does_not_count(lab):
    plan = lab.plan()
    store = lab.store(plan)
    store.make_room(plan.order[0])
    store.write_trial(lab.trial())
    file = store.locate(plan.order[0]).record
    file.rename(file.with_name("mixed_bfloat16-1.json"))
    assert store.read_trials(plan) == []


def test_a_newer_record_is_refused_by_name(lab):
    plan = lab.plan()
    store = lab.store(plan)
    file = store.make_room(plan.order[0]).record
    store.write_trial(lab.trial())
    newer = file.read_bytes().replace(b'"version": 1', b'"version": 99')
    file.write_bytes(newer)
    with pytest.raises(StoreError, match=r"float32-1\.json.*newer release"):
        store.read_trials(plan)


def test_a_folder_without_a_plan_is_no_store(tmp_path):
    with pytest.raises(StoreError, match=r"Expected plan\.json of a run store"):
        Store(tmp_path).read_plan()


def test_no_record_tells_where_it_was_written(lab):
    plan = lab.plan()
    store = lab.store()
    store.write_plan(plan, ENVIRONMENT)
    store.make_room(plan.order[0])
    store.write_trial(lab.trial())
    written = [file.read_text() for file in store.folder.rglob("*.json")]
    assert len(written) == 2
    assert not any(str(Path.cwd()) in text for text in written)


def test_the_same_records_give_the_same_bytes(lab):
    plan = lab.plan()
    store = lab.store(plan)
    before = store.plan_file.read_bytes()
    store.write_plan(store.read_plan(), store.read_environment())
    assert store.plan_file.read_bytes() == before


def test_a_full_disk_leaves_what_was_there(tmp_path, monkeypatch):
    file = tmp_path / "plan.json"
    write_whole(file, b"first")

    def fsync(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(BetterhalfError, match=r"plan\.json.*No space left") as caught:
        write_whole(file, b"second")
    assert caught.value.exit_code == 4
    assert file.read_bytes() == b"first"
    assert list(tmp_path.glob("*.part")) == []


def test_a_folder_that_is_gone_is_told(tmp_path):
    with pytest.raises(BetterhalfError, match="No such file"):
        write_whole(tmp_path / "gone" / "plan.json", b"")
