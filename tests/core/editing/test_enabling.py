"""The edit is valid, minimal, final, and does what it says when the script runs."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from betterhalf.editing.enabling import enable_policy, show_policy_edit


ROOT = Path(__file__).parents[3]
SCRIPTS = [
    *sorted((ROOT / "examples").glob("*.py")),
    *sorted((ROOT / "tests/process/scripts").rglob("*.py")),
]
POLICY = "mixed_bfloat16"
ADDED = re.compile(
    r"""\s*(
      | import\ keras
      | from\ tensorflow\ import\ keras
      | [\w.]+\.mixed_precision\.set_global_policy\("mixed_bfloat16"\)
    )\s*""",
    re.VERBOSE,
)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_the_edit_of_a_real_script_adds_only_the_policy_and_float32_outputs(edit, path):
    source = path.read_bytes()
    if b"keras" not in source:
        assert enable_policy(source, POLICY) is None
        return
    edit(source)

    diff = show_policy_edit(source, POLICY, path.name)
    assert diff.startswith(f"--- a/{path.name}\n+++ b/{path.name}\n@@ ")
    changed = [line for line in diff.splitlines()[2:] if line[0] in "+-"]
    removed = [line[1:] for line in changed if line[0] == "-"]
    for line in [line[1:] for line in changed if line[0] == "+"]:
        before = line.replace(', dtype="float32"', "")
        before_policy = before.replace("mixed_bfloat16", "mixed_float16")
        if before in removed:
            removed.remove(before)
        elif before_policy in removed:
            removed.remove(before_policy)
        else:
            assert ADDED.fullmatch(line)
    assert not removed


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("sequential.py", ['layers.Dense(2, activation="softmax", dtype="float32")']),
        (
            "functional_two_outputs.py",
            ['name="kind", dtype="float32")', 'name="value", dtype="float32")'],
        ),
        (
            "two_fits.py",
            ["[base, layers.Dense(1, dtype=", '"sigmoid", dtype="float32"'],
        ),
        ("custom_loop_jax.py", ['Dense(3, dtype="float32")(hidden)']),
        ("py_dataset.py", ['activation="softmax", dtype="float32")(x)']),
        ("own_policy_and_seed.py", ['layers.Dense(2, dtype="float32"),']),
        ("tf_keras_alias.py", ['activation="sigmoid", dtype="float32"),']),
        ("subclassed_train_step.py", []),
        ("cifar10_cnn.py", []),
    ],
)
def test_the_outputs_of_a_real_script_that_are_written_out_get_float32(name, lines):
    # an example may have the name of a script of the tests, which is the one meant
    path = next(path for path in reversed(SCRIPTS) if path.name == name)
    diff = show_policy_edit(path.read_bytes(), POLICY, name)

    added = [line for line in diff.splitlines()[2:] if line.startswith("+")]
    for line in lines:
        assert any(line in addition for addition in added)
    assert len([line for line in added if 'dtype="float32"' in line]) == len(lines)


@pytest.mark.parametrize(
    "source",
    [
        b"def broken(:\n",
        b"print 'two'\n",
        b"\xff\xfe not text",
        b"# -*- coding: no-such -*-\nimport keras\n",
        b"",
        b"import numpy\n",
        b"import torch\nkeras = torch\n",
        b"import tensorflow as tf\nx = tf.ones(3)\n",
        b"from . import keras\n",
        b"if GPU:\n    import keras\nelse:\n    from tensorflow import keras\n",
        b"def a():\n    import keras\n\n\ndef b():\n    import keras\n",
        b"from keras import layers\nkeras = make()\nlayers.Dense(1)\n",
        b"import keras\nx = " + b"+".join([b"1"] * 20_000) + b"\n",
    ],
)
def test_what_cannot_be_parsed_or_imports_no_known_keras_has_no_edit(source):
    assert enable_policy(source, POLICY) is None
    assert show_policy_edit(source, POLICY, "s.py") is None


@pytest.mark.parametrize(
    "source",
    [
        "import keras\r\nm = keras.Sequential([keras.layers.Dense(1)])\r\nm.fit()\r\n",
        "import keras",
        "\ufeffimport keras\n",
        "def main():\n\timport keras\n\n\tkeras.Model()\n",
        "import keras\n\x0c\nx = '\u2028\x85'\n",
    ],
)
def test_line_ends_marks_and_tabs_are_kept(edit, source):
    edited = edit(source.encode("utf-8"))

    lines = edited.split(b"\n")
    if "\r" in source:
        assert all(line.endswith(b"\r") for line in lines[:-1])
    assert edited.startswith(source[:1].encode("utf-8"))
    assert edited.endswith(b"\n") == source.endswith("\n") or b"policy" in lines[-1]


def test_the_encoding_of_a_script_is_kept():
    source = "# coding: latin-1\nimport keras\nx = 'é'\n".encode("latin-1")

    assert "'é'".encode("latin-1") in enable_policy(source, POLICY)
    assert " x = 'é'\n" in show_policy_edit(source, POLICY, "s.py")


def test_a_name_with_spaces_can_be_patched():
    diff = show_policy_edit(b"import keras\n", POLICY, "my train.py")

    assert diff.startswith("--- a/my train.py\t\n+++ b/my train.py\t\n")


@settings(deadline=None)
@given(data=st.data())
def test_a_damaged_script_never_breaks_the_edit(edit, data):
    path = data.draw(st.sampled_from(SCRIPTS))
    lines = path.read_bytes().splitlines(keepends=True)
    for _ in range(data.draw(st.integers(1, 4))):
        if lines:
            at = data.draw(st.integers(0, len(lines) - 1))
            moved = lines.pop(at)
            if data.draw(st.booleans()):
                lines.insert(data.draw(st.integers(0, len(lines))), moved)
    source = b"".join(lines)
    try:
        compile(source, path.name, "exec")
    except (SyntaxError, ValueError):
        enable_policy(source, POLICY)
        return
    if enable_policy(source, POLICY) is not None:
        edit(source)


def test_importing_the_public_module_loads_no_parser():
    code = (
        "import sys, betterhalf.editing.enabling\n"
        "print([name for name in ('libcst', 'keras', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"
