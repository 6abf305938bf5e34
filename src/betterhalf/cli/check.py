"""`betterhalf check`: is this model set up right?"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from betterhalf.cli._options import GroupedCommand, option


if TYPE_CHECKING:
    from betterhalf.records.audit import Audit
    from betterhalf.trials.auditing import Audited


_WHAT = "What is checked"
_COUNTS = "What counts"
_OUT = "What comes out"
_SEVERITIES = ("error", "warning", "note")


@click.command(
    name="check",
    cls=GroupedCommand,
    context_settings={
        "allow_interspersed_args": False,
        "help_option_names": ["-h", "--help"],
    },
    epilog="Everything behind TARGET is the script's own. Exit codes: 0 clean, 1 "
    "findings at or above --fail-on, 2 usage or bad input, 4 the script failed before "
    "there was a model, 130 interrupted.",
)
@option(
    "--policy",
    group=_WHAT,
    metavar="P",
    help="Check it as it would be under this global policy.",
)
@option(
    "--backend",
    group=_WHAT,
    metavar="NAME",
    help="tensorflow, jax or torch.  [default: as Keras would choose]",
)
@option(
    "-m",
    "module",
    group=_WHAT,
    is_flag=True,
    help="TARGET is a module, as in `python -m`.",
)
@option(
    "--select",
    group=_COUNTS,
    metavar="CODE,…",
    multiple=True,
    help="Run these rules alone; BH2 stands for all that begin so.",
)
@option(
    "--ignore",
    group=_COUNTS,
    metavar="CODE=REASON",
    multiple=True,
    help="Findings of this rule do not count, and why; may be repeated.",
)
@option(
    "--fail-on",
    group=_COUNTS,
    type=click.Choice(_SEVERITIES),
    help="The least severity that makes the exit code 1.  [default: error]",
)
@option(
    "--format",
    "form",
    group=_OUT,
    type=click.Choice(("text", "json", "github", "sarif")),
    default="text",
    show_default=True,
    help="What stdout gets.",
)
@option(
    "--table",
    group=_OUT,
    type=click.Choice(("short", "all", "none")),
    default="short",
    show_default=True,
    help="How much of the dtype table text has.",
)
@option(
    "--sort",
    group=_OUT,
    type=click.Choice(
        ("model", "layer", "class", "policy", "compute", "output", "parameters")
    ),
    default="model",
    show_default=True,
    help="Order of the dtype table.",
)
@click.argument("target")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[ARGS]...")
def command(
    target: str,
    arguments: tuple[str, ...],
    *,
    module: bool,
    backend: str | None,
    policy: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    fail_on: str | None,
    form: str,
    **shown: Any,
) -> int:
    """Check what goes wrong in 16 bit in TARGET.

    TARGET is a script, which runs up to its first training step and no further; a saved
    model; or a function that returns a model, as in module:factory or file.py:factory.
    """
    # what follows takes a second to load, which --help does not need
    from pathlib import Path  # noqa: PLC0415

    from betterhalf.auditing.choosing import Choice  # noqa: PLC0415
    from betterhalf.cli._settings import read_settings  # noqa: PLC0415
    from betterhalf.precision.arms import refuse_unknown_backend  # noqa: PLC0415
    from betterhalf.precision.policies import resolve_policy  # noqa: PLC0415
    from betterhalf.trials.auditing import audit_target  # noqa: PLC0415
    from betterhalf.trials.choosing import refuse_absent_backend  # noqa: PLC0415

    settings = read_settings(Path.cwd())
    policy = policy or settings.policy
    if backend is not None:
        refuse_unknown_backend(backend)
        refuse_absent_backend(backend)
    choice = Choice(
        select=_split(select) or settings.select,
        ignore={**settings.ignore, **dict(map(_reason_of, ignore))},
    )
    audited = audit_target(
        target,
        arguments,
        module=module,
        backend=backend,
        policy=None if policy is None else resolve_policy(policy),
        select=choice.select,
        ignore=choice.ignore,
    )
    _show_failure(audited)
    if audited.audit is None:
        return 4
    click.echo(_write(audited.audit, audited.content, form, **shown), nl=False)
    return _judge(audited, fail_on or settings.fail_on or "error")


def _split(given: tuple[str, ...]) -> tuple[str, ...]:
    parts = [part.strip() for each in given for part in each.split(",")]
    return tuple(part for part in parts if part)


def _reason_of(given: str) -> tuple[str, str]:
    code, _, reason = given.partition("=")
    return code.strip(), reason


def _show_failure(audited: Audited) -> None:
    """Shows the script's own traceback where it failed."""
    failure = audited.failure
    if failure is not None:
        told = failure.traceback or f"{failure.kind}: {failure.message}"
        click.echo(told.rstrip("\n"), err=True)
        reached = "a model" if audited.audit is None else "its first training step"
        click.echo(f"betterhalf: the script failed before {reached}.", err=True)


def _write(audit: Audit, content: bytes, form: str, *, table: str, sort: str) -> str:
    if form == "json":
        return content.decode()
    if form == "github":
        from betterhalf.reporting.audits.github import as_github  # noqa: PLC0415

        return as_github(audit)
    if form == "sarif":
        from betterhalf.reporting.audits.sarif import as_sarif  # noqa: PLC0415

        return as_sarif(audit)
    from rich.console import Console  # noqa: PLC0415

    from betterhalf.reporting.audits.text import ROWS, as_text, write_text  # noqa: PLC0415

    rows = {"short": ROWS, "all": None, "none": 0}[table]
    if not sys.stdout.isatty():
        return as_text(audit, rows=rows, sort=sort)
    write_text(Console(), audit, rows=rows, sort=sort)
    return ""


def _judge(audited: Audited, fail_on: str) -> int:
    counted = _SEVERITIES[: _SEVERITIES.index(fail_on) + 1]
    findings = audited.audit.findings if audited.audit is not None else ()
    if any(finding.severity in counted for finding in findings):
        return 1
    return 0 if audited.failure is None else 4
