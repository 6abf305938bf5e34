"""The commands, one module each; nothing is imported but the one that was chosen.

The table below is all that `--help` needs, so it answers before rich, msgspec, numpy or
keras could be loaded. Only this package prints and decides exit codes; what lies below
raises `BetterhalfError`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

import click

from betterhalf import __version__
from betterhalf.cli._streams import make_tolerant
from betterhalf.errors import BetterhalfError


COMMANDS = {
    "compare": (
        "betterhalf.cli.compare",
        "Train a script under several precisions; say which is worth it.",
    ),
    "check": (
        "betterhalf.cli.check",
        "Find what goes wrong in 16 bit in a script or a model.",
    ),
    "report": (
        "betterhalf.cli.report",
        "Judge a finished comparison again and write its reports.",
    ),
    "rules": (
        "betterhalf.cli.rules",
        "Tell what the rules of check mean.",
    ),
}
"""Name of each command: the module that holds it as `command`, and its help line."""

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it: 128 and the number of the signal."""

FAILED = 4
"""Exit code where betterhalf itself failed, so that 1 always means a verdict."""


class _Commands(click.Group):
    """A group that knows its commands from the table."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        return import_module(COMMANDS[cmd_name][0]).command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            raise click.UsageError(_advise(name))
        return super().resolve_command(ctx, args)

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(
    cls=_Commands,
    name="betterhalf",
    help="Makes mixed precision in Keras right, and proves on your own hardware "
    "whether it is worth it.",
    epilog="betterhalf COMMAND --help tells more of a command.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(
    __version__, prog_name="betterhalf", message="%(prog)s %(version)s"
)
def betterhalf() -> None:
    """Holds the commands."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit code.

    Args:
        arguments: without the name of the program; those of the process if absent.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        make_tolerant(stream)
    try:
        code = betterhalf.main(
            given or ["--help"], prog_name="betterhalf", standalone_mode=False
        )
    except click.ClickException as error:
        _complain(error.format_message())
        context = getattr(error, "ctx", None)
        if context is not None:
            click.echo(f"{context.command_path} --help tells more.", err=True)
        return error.exit_code
    except BetterhalfError as error:
        _complain(str(error))
        return error.exit_code
    except OSError as error:
        _complain(str(error))
        return FAILED
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except Exception:  # noqa: BLE001, RUF100 # whatever it is, 1 would read as a verdict
        sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
        _complain("this is a fault of betterhalf itself; please report it.")
        return FAILED
    return code if isinstance(code, int) else 0


def _advise(name: str) -> str:
    # only a mistake needs it
    from difflib import get_close_matches  # noqa: PLC0415

    near = get_close_matches(name, COMMANDS, n=1)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    return f"Expected a command: {', '.join(COMMANDS)}. Received: '{name}'.{hint}"


def _complain(message: str) -> None:
    click.echo(f"betterhalf: {message}", err=True)
