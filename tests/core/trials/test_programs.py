from __future__ import annotations

import subprocess
import sys
import types
from pathlib import Path

import pytest

from betterhalf.errors import UsageError
from betterhalf.trials.programs import find_program


def test_a_script_is_started_as_the_user_would_start_it():
    Path("sub").mkdir()
    Path("sub/train.py").write_text("print(1)\n")
    program = find_program("sub/train.py", ["--batch", "64"])
    assert program.command == [sys.executable, "sub/train.py", "--batch", "64"]
    assert program.name == "train.py"
    assert program.path_shown == "sub/train.py"
    assert program.folder == Path.cwd()


def test_a_module_is_found_without_importing_it_or_its_package():
    Path("package/inner").mkdir(parents=True)
    Path("package/__init__.py").write_text("raise SystemExit('imported')\n")
    Path("package/inner/train.py").write_text("import keras\n")
    program = find_program("package.inner.train", module=True)
    assert program.command == [sys.executable, "-m", "package.inner.train"]
    assert program.name == "package.inner.train"
    assert program.source == b"import keras\n"
    assert program.path_shown == "package/inner/train.py"


def test_a_package_is_run_by_its_main():
    Path("package").mkdir()
    Path("package/__init__.py").write_text("")
    Path("package/__main__.py").write_text("main = 1\n")
    assert find_program("package", module=True).source == b"main = 1\n"


def test_a_module_is_found_where_python_finds_it():
    program = find_program("json.tool", module=True)
    import json.tool as reference

    assert program.source == Path(str(reference.__file__)).read_bytes()


def test_an_editable_module_is_found_by_its_own_finder(monkeypatch, tmp_path):
    from importlib.util import spec_from_file_location

    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/__init__.py").write_text("")
    (tmp_path / "elsewhere/train.py").write_text("import keras\n")

    def find_spec(name, path=None, target=None):
        if name != "far_away":
            return None
        folder = tmp_path / "elsewhere"
        return spec_from_file_location(
            name, folder / "__init__.py", submodule_search_locations=[str(folder)]
        )

    finder = types.SimpleNamespace(find_spec=find_spec)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, finder])
    program = find_program("far_away.train", module=True)
    assert program.source == b"import keras\n"
    assert program.path_shown == "train.py"


@pytest.mark.parametrize(
    "name", ["no_such", "no.such", "json.no_such", "a b", "", ".", "math", "specless"]
)
def test_a_module_that_cannot_run_is_refused(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "specless", types.ModuleType("specless"))
    with pytest.raises(UsageError, match=f"(?s)python -m.*Received: '{name}'"):
        find_program(name, module=True)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"import keras\nif True\n    pass\n", "line 2"),
        (b"\x89PNG\r\n\x1a\n\x00", "Received: 'train.py'"),
        (b"a = 1\x00\n", "Received: 'train.py'"),
        (b"#!/bin/sh\necho $HOME | wc\n", "line 2"),
        (b"(" * 1000, "Received: 'train.py'"),
    ],
)
def test_what_is_not_python_is_refused_before_it_runs(content, told):
    Path("train.py").write_bytes(content)
    with pytest.raises(UsageError, match=told):
        find_program("train.py")


def test_the_warnings_of_a_script_are_its_own():
    Path("train.py").write_text("'\\d'\nassert (1, 'always')\n")
    assert find_program("train.py").source


def test_a_script_in_another_encoding_is_python():
    Path("train.py").write_bytes(b"# coding: latin-1\nx = '\xe9'\n")
    assert find_program("train.py").source


def test_a_missing_script_and_a_directory_are_told_apart():
    Path("folder").mkdir()
    with pytest.raises(UsageError, match=r"'missing.py', which does not exist"):
        find_program("missing.py")
    with pytest.raises(UsageError, match="'folder', which is a directory"):
        find_program("folder")


def test_a_notebook_is_told_how_to_become_a_script():
    Path("train.ipynb").write_text('{"cells": []}')
    with pytest.raises(UsageError, match="nbconvert"):
        find_program("train.ipynb")


def test_hashes_tell_scripts_and_arguments_apart():
    Path("train.py").write_text("a = 1\n")
    first = find_program("train.py", ["ab", "c"])
    assert first.arguments_hash != find_program("train.py", ["a", "bc"]).arguments_hash
    assert first.arguments_hash != find_program("train.py").arguments_hash
    assert first.hash_now() == first.script_hash
    Path("train.py").write_text("a = 2\n")
    assert first.hash_now() != first.script_hash
    Path("train.py").unlink()
    assert first.hash_now() is None


def test_the_module_that_is_found_is_the_one_that_python_runs():
    Path("train_it.py").write_text("print(__file__)\n")
    program = find_program("train_it", module=True)
    said = subprocess.run(program.command, capture_output=True, text=True, check=True)
    assert Path(said.stdout.strip()).samefile(program.file)
