"""Run stores made by hand, from the records that the tests of reports are made of."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import SimpleNamespace

import pytest

from betterhalf.trials.store import Store


def load_records() -> SimpleNamespace:
    file = Path(__file__).parents[1] / "reporting" / "conftest.py"
    spec = spec_from_file_location("made_records", file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return SimpleNamespace(**vars(module))


@pytest.fixture(scope="session")
def records() -> SimpleNamespace:
    return load_records()


@pytest.fixture
def store(tmp_path: Path, records: SimpleNamespace) -> Store:
    """A run store whose trials have ended and that nobody has judged yet."""
    made = Store(tmp_path / "store")
    (made.folder / "trials").mkdir(parents=True)
    plan = records.make_plan(edits={"mixed_bfloat16": records.DIFF})
    made.write_plan(plan, records.make_environment())
    for trial in records.make_trials():
        made.write_trial(trial)
    return made
