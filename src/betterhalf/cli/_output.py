"""The end of a comparison: the answer on stdout, the reports in the run store."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click
from rich.console import Console

from betterhalf.reporting import write_reports
from betterhalf.reporting.markdown import as_markdown
from betterhalf.reporting.text import as_text, write_text


if TYPE_CHECKING:
    from betterhalf.records.result import Result
    from betterhalf.trials.reading import Experiment


def publish(experiment: Experiment, form: str) -> int:
    """Writes the answer and the reports, and returns the exit code of the command.

    The answer comes first: a full disk must not take it away.

    Args:
        experiment: judged.
        form: `text`, `json` or `markdown`.
    """
    plan, trials, result = experiment.plan, experiment.trials, experiment.result
    if result is None:
        raise TypeError("expected an experiment that was judged")
    _show_failure(result)
    if form == "json":
        click.echo((experiment.folder / "result.json").read_bytes(), nl=False)
    elif form == "markdown":
        click.echo(as_markdown(plan, trials, result), nl=False)
    elif sys.stdout.isatty():
        write_text(Console(), plan, trials, result)
    else:
        click.echo(as_text(plan, trials, result), nl=False)
    sys.stdout.flush()
    write_reports(experiment.folder, plan, trials, result)
    return result.exit_code


def _show_failure(result: Result) -> None:
    """Shows why a reference failed, as Python would have shown it to the user."""
    if result.exit_code != 4:
        return
    for arm in result.arms:
        told = arm.failure.traceback if arm.failure else None
        if arm.verdict == "reference" and told:
            click.echo(told.rstrip("\n"), err=True)
            return
