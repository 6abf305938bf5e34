"""Real children: each test runs scripts in a copy of the folder of scripts."""

import os
import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest


SCRIPTS = Path(__file__).parent / "scripts"


@dataclass(frozen=True)
class Script:
    """A user's script and what its head says about it."""

    path: Path
    name: str
    backends: tuple[str, ...]
    arguments: tuple[str, ...]
    exit_code: int


def read_script(path: Path, name: str) -> Script:
    """Reads the comment lines at the head of a script."""
    head = "\n".join(path.read_text().splitlines()[:5])

    def find(what, default=""):
        found = re.search(rf"^# {what}: (.*)$", head, re.MULTILINE)
        return found.group(1) if found else default

    return Script(
        path=path,
        name=name,
        backends=tuple(find("backends").split()),
        arguments=tuple(shlex.split(find("arguments"))),
        exit_code=int(find("exit", "0")),
    )


@pytest.fixture
def scripts(tmp_path, monkeypatch):
    """A fresh copy of the scripts' folder, and the working directory inside it."""
    folder = tmp_path / "scripts"
    shutil.copytree(SCRIPTS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(folder)
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "2")
    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    for name in list(os.environ):
        if name.startswith("BETTERHALF_"):
            monkeypatch.delenv(name)
    return folder
