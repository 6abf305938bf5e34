"""What is loaded when; in interpreters of their own, because this one has it all."""

from __future__ import annotations

import subprocess
import sys

import pytest


HEAVY = ("keras", "numpy", "rich", "msgspec", "scipy", "jinja2", "altair", "psutil")
FRAMEWORKS = ("keras", "tf_keras", "tensorflow", "jax", "torch")


def list_loaded(program: str, names: tuple[str, ...]) -> list[str]:
    """Returns which of the packages are loaded after `program` has run."""
    tail = f"\nimport sys\nprint([n for n in {names!r} if n in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program + tail],
        capture_output=True,
        check=True,
        text=True,
    )
    return eval(done.stdout.splitlines()[-1])


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert list_loaded("import betterhalf", (*HEAVY, "click")) == []


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["nonsense"], ["compare", "--help"]]
)
def test_asking_for_help_loads_click_alone(arguments: list[str]) -> None:
    program = f"from betterhalf.cli import main\nmain({arguments!r})"
    assert list_loaded(program, HEAVY) == []


def test_help_loads_no_command() -> None:
    program = "from betterhalf.cli import main\nmain(['--help'])"
    modules = ("betterhalf.cli.compare", "betterhalf.cli.report", "betterhalf.records")
    assert list_loaded(program, modules) == []


@pytest.mark.parametrize(
    "module",
    [
        "records.codec",
        "precision.arms",
        "statistics.ratios",
        "judging",
        "reporting.page",
        "reporting.live",
        "reporting.text",
        "trials.comparing",
        "cli.compare",
        "cli.report",
    ],
)
def test_what_only_knows_records_loads_no_framework(module: str) -> None:
    assert list_loaded(f"import betterhalf.{module}", FRAMEWORKS) == []
