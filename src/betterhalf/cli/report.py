"""`betterhalf report`: a finished comparison, judged and shown again."""

from __future__ import annotations

import click

from betterhalf.cli._options import FORMATS


@click.command(
    name="report",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes are those of the comparison: 0 some arm is kept, 1 revert, 2 no "
    "run store, 3 inconclusive, 4 the reference failed.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="What stdout gets.",
)
@click.argument("folder", metavar="DIR")
def command(folder: str, form: str) -> int:
    """Judge the trials in the run store DIR again and show what they say.

    Writes result.json, report.md and report.html anew, with the same bytes where the
    versions are the same. No trial is run.
    """
    # what follows takes a second to load, which --help does not need
    from betterhalf.cli._output import publish  # noqa: PLC0415
    from betterhalf.trials.comparing import judge_again  # noqa: PLC0415

    return publish(judge_again(folder), form)
