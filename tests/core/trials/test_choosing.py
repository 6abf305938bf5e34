from __future__ import annotations

import json
from pathlib import Path

import pytest

from betterhalf.errors import UsageError
from betterhalf.trials import choosing
from betterhalf.trials.choosing import choose_backend, refuse_absent_backend


PLAIN = b"import keras\n"
SETS = b'import os\nos.environ["KERAS_BACKEND"] = "torch"\nimport keras\n'
SETS_DEFAULT = b'from os import environ\nenviron.setdefault("KERAS_BACKEND", "torch")\n'


def configure(home, **fields):
    (home / ".keras").mkdir(parents=True)
    (home / ".keras/keras.json").write_text(json.dumps(fields))


def test_tensorflow_is_what_keras_takes_when_nobody_chooses(tmp_path):
    assert choose_backend(None, PLAIN, {}, tmp_path) == "tensorflow"


def test_the_configuration_file_is_read(tmp_path):
    configure(tmp_path, backend="jax")
    assert choose_backend(None, PLAIN, {}, tmp_path) == "jax"
    home = {"KERAS_HOME": str(tmp_path / ".keras")}
    assert choose_backend(None, PLAIN, home, Path("/nowhere")) == "jax"


@pytest.mark.parametrize("text", ["{", "[]", '{"floatx": "float32"}', '{"backend": 3}'])
def test_a_configuration_that_says_nothing_is_passed_over(tmp_path, text):
    (tmp_path / ".keras").mkdir()
    (tmp_path / ".keras/keras.json").write_text(text)
    assert choose_backend(None, PLAIN, {}, tmp_path) == "tensorflow"


def test_the_variable_comes_before_the_file_and_the_option_before_all(tmp_path):
    configure(tmp_path, backend="jax")
    environ = {"KERAS_BACKEND": "torch"}
    assert choose_backend(None, PLAIN, environ, tmp_path) == "torch"
    assert choose_backend(None, PLAIN, {"KERAS_BACKEND": ""}, tmp_path) == "jax"
    assert choose_backend("tensorflow", SETS, environ, tmp_path) == "tensorflow"


def test_a_script_that_sets_the_variable_is_believed(tmp_path):
    assert choose_backend(None, SETS, {"KERAS_BACKEND": "jax"}, tmp_path) == "torch"


def test_a_default_of_the_script_gives_way_to_the_variable(tmp_path):
    assert choose_backend(None, SETS_DEFAULT, {}, tmp_path) == "torch"
    environ = {"KERAS_BACKEND": "jax"}
    assert choose_backend(None, SETS_DEFAULT, environ, tmp_path) == "jax"


@pytest.mark.parametrize(
    "source",
    [
        b'os.environ["KERAS_BACKEND"] = sys.argv[1]\n',
        b'os.environ["KERAS_BACKEND"] = "torch" if gpu else "jax"\n',
        b'os.environ["KERAS_BACKEND"] = "torch"\nos.environ["KERAS_BACKEND"] = "jax"',
        b'settings["KERAS_BACKEND"] = "torch"\n',
        b'os.environ["OTHER"] = "torch"\n',
        b'x = "KERAS_BACKEND"\n',
    ],
)
def test_what_only_the_running_script_knows_is_not_guessed(tmp_path, source):
    assert choose_backend(None, source, {}, tmp_path) == "tensorflow"


def test_a_backend_that_cannot_train_is_refused(tmp_path):
    for source, environ in (
        (PLAIN, {"KERAS_BACKEND": "numpy"}),
        (SETS.replace(b"torch", b"numpy"), {}),
    ):
        with pytest.raises(UsageError, match=r"tensorflow, jax, torch.*'numpy'"):
            choose_backend(None, source, environ, tmp_path)


def test_an_absent_backend_is_told_with_its_extra(monkeypatch):
    monkeypatch.setattr(choosing, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r'pip install "betterhalf\[jax\]"'):
        refuse_absent_backend("jax")
