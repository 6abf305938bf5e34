"""The fake of NVML, and children that do what a test needs."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest


def _load_fake():
    path = Path(__file__).with_name("fake_nvml.py")
    spec = importlib.util.spec_from_file_location("fake_nvml", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["fake_nvml"] = module
    spec.loader.exec_module(module)
    return module


_FAKE = _load_fake()


@pytest.fixture
def fake():
    """The module `fake_nvml`."""
    return _FAKE


@pytest.fixture
def start_child():
    """Starts Python code in a session of its own, as trials are started."""
    children = []

    def start(code):
        child = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        children.append(child)
        return child

    yield start
    for child in children:
        child.kill()
        child.stdin.close()
        child.stdout.close()
        child.wait()
