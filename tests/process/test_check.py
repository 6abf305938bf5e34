"""`betterhalf check` on scripts, saved models and factories, in real children."""

import json
import os
import subprocess
import sys

import pytest


BACKENDS = ("tensorflow", "jax", "torch")

SCRIPT = """
import sys
import keras
import numpy as np

keras.config.set_dtype_policy("mixed_float16")
width = int(sys.argv[1]) if len(sys.argv) > 1 else 8
model = keras.Sequential(
    [
        keras.Input((4,)),
        keras.layers.Dense(width),
        keras.layers.Dense(3, activation="softmax"),{comment}
    ]
)
model.compile("adam", "categorical_crossentropy")
x, y = np.ones((64, 4)), np.eye(3)[np.zeros(64, int)]
try:
    {train}
except BaseException:
    open("reached", "w")
finally:
    open("reached", "w")
open("reached", "w")
"""


def write(folder, comment="", train="model.fit(x, y)", name="train.py"):
    (folder / name).write_text(SCRIPT.format(comment=comment, train=train))


def check(folder, *arguments, backend="torch"):
    environ = {k: v for k, v in os.environ.items() if not k.startswith("BETTERHALF_")}
    return subprocess.run(
        [sys.executable, "-m", "betterhalf", "check", *arguments],
        cwd=folder,
        env={**environ, "KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "2"},
        capture_output=True,
        text=True,
        check=False,
    )


def codes_of(done):
    data = json.loads(done.stdout)["data"]
    return [finding["code"] for finding in data["findings"]]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_script_is_audited_and_ended_before_it_trains(tmp_path, backend):
    write(tmp_path)
    done = check(tmp_path, "--format", "json", "train.py", "16", backend=backend)
    assert done.returncode == 1, done.stderr
    record = json.loads(done.stdout)
    assert record["kind"] == "audit"
    assert record["environment"]["packages"]["keras"]
    (error,) = (f for f in record["data"]["findings"] if f["severity"] == "error")
    assert (error["code"], error["file"], error["line"]) == ("BH201", "train.py", 12)
    (middle,) = (row for row in record["data"]["layers"] if row["path"] == "dense")
    assert middle["parameters"] == 4 * 16 + 16
    assert not (tmp_path / "reached").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.py"]


@pytest.mark.parametrize(
    "train", ["model.train_on_batch(x, y)", "model(x); sys.exit(0)"]
)
def test_other_ways_to_train_are_reached_too(tmp_path, train):
    write(tmp_path, train=train)
    done = check(tmp_path, "--format", "json", "train.py")
    assert (done.returncode, codes_of(done)[0]) == (1, "BH201")


def test_another_policy_is_put_in_place_of_the_script_s(tmp_path):
    write(tmp_path)
    done = check(tmp_path, "--policy", "float32", "--table", "none", "train.py")
    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith("train.py under float32: policy float32")


def test_a_comment_with_a_reason_takes_a_finding_back(tmp_path):
    write(tmp_path, comment="  # betterhalf: ignore[BH201] a toy")
    done = check(tmp_path, "train.py")
    assert done.returncode == 0
    assert "BH201 dense_1 at train.py:12: a toy" in " ".join(done.stdout.split())


def test_the_project_s_settings_are_read(tmp_path):
    write(tmp_path)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.betterhalf]\nfail-on = "note"\nignore = {BH201 = "a toy"}\n'
        'policy = "mixed_bfloat16"\n'
    )
    done = check(tmp_path, "--format", "json", "train.py")
    assert json.loads(done.stdout)["data"]["policy"] == "mixed_bfloat16"
    assert "BH201" not in codes_of(done)
    (tmp_path / "pyproject.toml").write_text("[tool.betterhalf]\nfoo = 1\n")
    done = check(tmp_path, "train.py")
    assert done.returncode == 2
    assert "Received: foo." in done.stderr


def test_a_script_that_fails_before_a_model_shows_its_own_traceback(tmp_path):
    (tmp_path / "broken.py").write_text("import keras\n\nraise KeyError('mine')\n")
    done = check(tmp_path, "broken.py")
    assert done.returncode == 4
    assert done.stderr.startswith("Traceback (most recent call last):\n")
    assert "line 3, in <module>" in done.stderr
    assert "KeyError: 'mine'" in done.stderr
    assert "worker" not in done.stderr


def test_a_script_that_fails_behind_its_model_is_audited_all_the_same(tmp_path):
    write(tmp_path, train="1 / 0")
    (tmp_path / "later.py").write_text(
        (tmp_path / "train.py").read_text().replace("BaseException", "KeyError")
    )
    done = check(tmp_path, "later.py")
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr
    assert "BH201" in done.stdout


def test_a_script_without_a_model_is_refused(tmp_path):
    (tmp_path / "none.py").write_text("print('hello')\n")
    done = check(tmp_path, "none.py")
    assert done.returncode == 2
    assert "Expected a script that builds a Keras model" in done.stderr


FACTORY = """
import keras
import numpy as np

def make(classes=3):
    keras.config.set_dtype_policy("mixed_bfloat16")
    return keras.Sequential(
        [keras.Input((4,)), keras.layers.Dense(classes, activation="softmax")]
    )

def make_with_batch():
    return make(), np.ones((2, 4))

class Factories:
    inside = staticmethod(make)
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_a_factory_returns_is_audited(tmp_path, backend):
    (tmp_path / "models.py").write_text(FACTORY)
    targets = ("models.py:make", "models:make_with_batch", "models:Factories.inside")
    for target in targets[: 3 if backend == "torch" else 1]:
        done = check(tmp_path, "--format", "json", target, backend=backend)
        assert (done.returncode, codes_of(done)[0]) == (1, "BH201"), done.stderr


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_saved_model_is_audited(tmp_path, backend):
    (tmp_path / "save.py").write_text(
        FACTORY + "\nmodel = make()\nmodel.compile('adam', 'mse')\n"
        "model.save('model.keras')\n"
    )
    environ = {**os.environ, "KERAS_BACKEND": backend}
    subprocess.run([sys.executable, "save.py"], cwd=tmp_path, check=True, env=environ)
    done = check(tmp_path, "--format", "json", "model.keras", backend=backend)
    assert (done.returncode, codes_of(done)[0]) == (1, "BH201"), done.stderr


def test_a_saved_model_says_what_it_needs(tmp_path):
    (tmp_path / "save.py").write_text(
        "import keras\n"
        "@keras.saving.register_keras_serializable('mine')\n"
        "class Own(keras.layers.Layer):\n"
        "    pass\n"
        "keras.Sequential([keras.Input((4,)), Own()]).save('model.keras')\n"
    )
    environ = {**os.environ, "KERAS_BACKEND": "torch"}
    subprocess.run([sys.executable, "save.py"], cwd=tmp_path, check=True, env=environ)
    done = check(tmp_path, "model.keras")
    assert done.returncode == 2
    assert "which needs mine>Own" in done.stderr


def test_what_the_script_started_is_ended_with_it(tmp_path):
    write(
        tmp_path,
        train="__import__('subprocess').Popen([sys.executable, '-c', "
        "'import time; time.sleep(300)'], stdout=open('log', 'w')); model.fit(x, y)",
    )
    done = check(tmp_path, "train.py")
    assert done.returncode == 1
    import psutil

    left = [
        process
        for process in psutil.process_iter(["cmdline", "cwd"])
        if process.info["cwd"] == str(tmp_path) and process.status() != "zombie"
    ]
    assert left == []
