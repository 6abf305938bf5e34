from __future__ import annotations

from pathlib import Path

import pytest

import betterhalf
from betterhalf.errors import StoreError
from betterhalf.records import codec
from betterhalf.records.result import Result
from betterhalf.trials.reading import read


def test_a_store_and_each_of_its_files_can_be_read(lab):
    plan = lab.plan()
    store = lab.store(plan)
    record = store.make_room(plan.order[0]).record
    trial = lab.trial()
    store.write_trial(trial)
    experiment = read("store")
    assert (experiment.plan, experiment.trials) == (plan, (trial,))
    assert (experiment.result, experiment.environment) == (None, None)
    result = Result(script="train.py", complete=False, arms=())
    store.write_result(result)
    assert read(store.folder).result == result
    assert read("store/plan.json") == plan
    assert read(record) == trial
    assert read("store/result.json") == result


def test_reading_is_public():
    assert betterhalf.read is read


def test_what_is_no_record_is_told(lab):
    Path("empty").mkdir()
    Path("other.json").write_text("{}")
    Path("odd.json").write_bytes(codec.encode_file("odd", {}, "betterhalf 9"))
    for path, told in [
        ("missing", "'missing', which does not exist"),
        ("empty", r"Expected plan\.json"),
        ("other.json", r"other\.json"),
        ("odd.json", "'odd'"),
    ]:
        with pytest.raises(StoreError, match=told) as caught:
            read(path)
        assert caught.value.exit_code == 2
