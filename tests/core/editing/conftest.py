"""What is true of every edit, and a Keras that is not there."""

import importlib.util
import re
from pathlib import Path

import pytest

from betterhalf.editing.enabling import enable_policy, show_policy_edit


@pytest.fixture(scope="session")
def policy():
    return "mixed_bfloat16"


@pytest.fixture(scope="session")
def make_fake_keras():
    path = Path(__file__).with_name("fake_keras.py")
    spec = importlib.util.spec_from_file_location("fake_keras", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.FakeKeras


@pytest.fixture(scope="session")
def edit():
    return edit_and_check


def edit_and_check(source: bytes, policy: str = "mixed_bfloat16") -> bytes:
    """Returns the edited script; it compiles, is final, and is what the diff makes."""
    edited = enable_policy(source, policy)
    assert edited is not None
    compile(edited, "edited.py", "exec")
    assert enable_policy(edited, policy) == edited
    assert show_policy_edit(edited, policy, "s.py") == ""
    diff = show_policy_edit(source, policy, "s.py")
    assert apply_diff(source, diff) == edited
    return edited


def apply_diff(source: bytes, diff: str) -> bytes:
    """Applies a unified diff as `patch` does, strictly."""
    if not diff:
        return source
    lines = re.findall(r"[^\n]*\n|[^\n]+", source.decode())
    _, _, *rest = re.findall(r"[^\n]*\n", diff)
    result, at = [], 0
    for number, line in enumerate(rest):
        text = line[1:]
        if rest[number + 1 : number + 2] == ["\\ No newline at end of file\n"]:
            text = text[:-1]
        if line.startswith("@@"):
            start = int(re.match(r"@@ -(\d+)", line)[1])
            result += lines[at : start - 1]
            at = start - 1
        elif line.startswith("+"):
            result.append(text)
        elif line.startswith((" ", "-")):
            assert lines[at] == text
            result += [text] if line.startswith(" ") else []
            at += 1
        else:
            assert line.startswith("\\")
    return "".join([*result, *lines[at:]]).encode()
