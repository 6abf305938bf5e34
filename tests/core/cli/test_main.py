from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import click
import pytest

from betterhalf import __version__, cli
from betterhalf.cli.compare import command
from betterhalf.errors import StoreError, UsageError


if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def add_command(
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[Callable[[], object]], None]:
    def add(what: Callable[[], object]) -> None:
        module = ModuleType("made_for_a_test")
        module.command = click.Command("made", callback=what)  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "made_for_a_test", module)
        monkeypatch.setitem(cli.COMMANDS, "made", ("made_for_a_test", "Is made."))

    return add


def raises(error: BaseException) -> Callable[[], object]:
    def command() -> None:
        raise error

    return command


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(
        name in shown and line in shown for name, (_, line) in cli.COMMANDS.items()
    )


def test_no_command_at_all_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 0
    assert "Commands:" in capsys.readouterr().out


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"betterhalf {__version__}\n"


def test_an_unknown_command_is_met_with_the_nearest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["comprae"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == (
        "betterhalf: Expected a command: compare, check, report, rules. "
        "Received: 'comprae'. Did you mean 'compare'?\n"
    )


def test_a_name_like_no_command_gets_no_guess(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["zzz"]) == 2
    assert "Did you mean" not in capsys.readouterr().err


def test_an_unknown_option_is_an_error_of_two_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["compare", "--runz", "3", "train.py"]) == 2
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 2
    assert "--runs" in told[0]
    assert told[1] == "betterhalf compare --help tells more."


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("Expected this. Received: that."), 2),
        (StoreError("Expected a store."), 2),
        (OSError(28, "No space left on device"), 4),
        (KeyboardInterrupt(), 130),
        (click.exceptions.Exit(3), 3),
    ],
)
def test_every_end_has_its_exit_code(
    add_command: Callable[[Callable[[], object]], None],
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
) -> None:
    add_command(raises(error))
    assert cli.main(["made"]) == code
    told = capsys.readouterr()
    assert told.out == ""
    assert "Traceback" not in told.err
    assert len(told.err.splitlines()) <= 2


def test_a_fault_of_the_tool_never_reads_as_a_verdict(
    add_command: Callable[[Callable[[], object]], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    add_command(raises(ZeroDivisionError("by zero")))
    assert cli.main(["made"]) == 4
    told = capsys.readouterr().err
    assert "ZeroDivisionError: by zero" in told
    assert told.splitlines()[-1].startswith("betterhalf: this is a fault of betterhalf")


def test_a_command_chooses_its_exit_code(
    add_command: Callable[[Callable[[], object]], None],
) -> None:
    add_command(lambda: 3)
    assert cli.main(["made"]) == 3
    add_command(lambda: None)
    assert cli.main(["made"]) == 0


def test_every_command_of_the_table_can_be_loaded(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in cli.COMMANDS:
        assert cli.main([name, "--help"]) == 0
        shown = capsys.readouterr().out
        assert f"betterhalf {name}" in shown
        assert max(len(line) for line in shown.splitlines()) <= 80


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "betterhalf", "--version"],
        capture_output=True,
        check=True,
        text=True,
    )
    assert done.stdout == f"betterhalf {__version__}\n"


def test_the_page_of_compare_names_every_option() -> None:
    page = (Path(__file__).parents[3] / "docs" / "compare.md").read_text("utf-8")
    names = [name for one in command.params for name in one.opts if name[0] == "-"]
    assert "--arms" in names
    assert [name for name in names if f"`{name}" not in page] == []
