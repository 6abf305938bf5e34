"""The import hook on small modules of its own."""

import importlib
import sys

import pytest

from betterhalf.keras_seams.importing import watch_import


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "lake.py").write_text("import os\nSEEN = os.environ.get('LAKE')\n")
    package = tmp_path / "river"
    package.mkdir()
    (package / "__init__.py").write_text("from river import bank\n")
    (package / "bank.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    for name in ("lake", "river", "river.bank"):
        sys.modules.pop(name, None)


def test_the_callbacks_come_before_and_after_the_body(module, monkeypatch):
    monkeypatch.delenv("LAKE", raising=False)
    seen = []
    watch_import(
        "lake",
        before=lambda: monkeypatch.setenv("LAKE", "deep"),
        after=lambda lake: seen.append(lake.SEEN),
    )
    assert importlib.import_module("lake").SEEN == "deep"
    assert seen == ["deep"]


def test_the_module_keeps_its_own_loader(module):
    watch_import("lake", after=lambda _: None)
    lake = importlib.import_module("lake")
    spec = importlib.util.find_spec("lake")
    assert type(lake.__loader__) is type(spec.loader)
    assert lake.__spec__.loader is lake.__loader__


def test_nothing_stays_behind(module):
    before = list(sys.meta_path)
    watch_import("lake", after=lambda _: None)
    importlib.import_module("lake")
    assert sys.meta_path == before


def test_two_can_wait_for_one_module(module):
    seen = []
    watch_import("river", after=lambda _: seen.append("first"))
    watch_import("river", after=lambda _: seen.append("second"))
    importlib.import_module("river.bank")
    assert sorted(seen) == ["first", "second"]


def test_a_module_that_is_there_already_is_told_at_once(module):
    lake = importlib.import_module("lake")
    seen = []
    watch_import("lake", after=seen.append)
    assert seen == [lake]


def test_waiting_can_be_stopped(module):
    seen = []
    stop = watch_import("lake", after=seen.append)
    stop()
    importlib.import_module("lake")
    assert seen == []


def test_a_missing_module_is_missing_as_ever(module):
    stop = watch_import("no_such_lake", after=lambda _: None)
    with pytest.raises(ModuleNotFoundError, match="no_such_lake"):
        importlib.import_module("no_such_lake")
    stop()


def test_an_error_in_the_body_comes_out_and_a_second_import_is_heard(tmp_path, module):
    (tmp_path / "lake.py").write_text("raise RuntimeError('dry')\n")
    seen = []
    stop = watch_import("lake", after=seen.append)
    with pytest.raises(RuntimeError, match="dry"):
        importlib.import_module("lake")
    (tmp_path / "lake.py").write_text("SEEN = 1  # longer than before\n")
    importlib.invalidate_caches()
    importlib.import_module("lake")
    assert len(seen) == 1
    stop()
