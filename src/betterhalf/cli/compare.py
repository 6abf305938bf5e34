"""`betterhalf compare`: does mixed precision help this training, on this machine?"""

from __future__ import annotations

from typing import Any

import click

from betterhalf.cli._options import FORMATS, Duration, GroupedCommand, option


_ARMS = "What is compared"
_EXTENT = "How much is run"
_JUDGEMENT = "What counts"
_PLACE = "Where it runs and what comes out"


@click.command(
    name="compare",
    cls=GroupedCommand,
    context_settings={
        "allow_interspersed_args": False,
        "help_option_names": ["-h", "--help"],
    },
    epilog="Everything behind SCRIPT is the script's own. Exit codes: 0 some arm is "
    "kept, 1 revert, 2 usage or bad input, 3 inconclusive, 4 the reference or "
    "betterhalf itself failed, 130 interrupted.",
)
@option(
    "--arms",
    group=_ARMS,
    metavar="A,B,…",
    default="mixed_bfloat16,mixed_float16",
    show_default=True,
    help="Arms beside the reference float32, each POLICY[@BACKEND][+raw]; "
    "+raw repairs nothing.",
)
@option(
    "--backend",
    group=_ARMS,
    metavar="NAME",
    help="Backend of arms that name none: tensorflow, jax or torch.  "
    "[default: as Keras would choose]",
)
@option(
    "-m",
    "module",
    group=_ARMS,
    is_flag=True,
    help="SCRIPT is a module, as in `python -m`.",
)
@option(
    "--keep-seeds",
    group=_ARMS,
    is_flag=True,
    help="Keep the script's seeds in every trial.",
)
@option(
    "--quick",
    group=_EXTENT,
    is_flag=True,
    help="Short trials alone: speed and memory, no accuracy.",
)
@option(
    "--runs",
    group=_EXTENT,
    type=int,
    metavar="N",
    default=3,
    show_default=True,
    help="Trials an arm at the first look.",
)
@option(
    "--max-runs",
    group=_EXTENT,
    type=int,
    metavar="N",
    help="Trials an arm at the second look.  [default: 10]",
)
@option(
    "--epochs",
    group=_EXTENT,
    type=int,
    metavar="N",
    help="Cap every fit at N epochs; verdicts are on speed alone.",
)
@option(
    "--steps",
    group=_EXTENT,
    type=int,
    metavar="N",
    help="Cap every fit at N steps; verdicts are on speed alone.",
)
@option(
    "--budget",
    group=_EXTENT,
    type=Duration(),
    metavar="T",
    help="Stop within T, such as 30m or 2h.",
)
@option(
    "--trial-timeout",
    group=_EXTENT,
    type=Duration(),
    metavar="T",
    help="End a trial that takes longer than T.",
)
@option(
    "--metric",
    group=_JUDGEMENT,
    metavar="NAME",
    help="What accuracy is judged by.  [default: found in what the script logs]",
)
@option(
    "--mode",
    group=_JUDGEMENT,
    type=click.Choice(["min", "max"]),
    help="Which way the metric is better.  [default: found]",
)
@option(
    "--margin",
    group=_JUDGEMENT,
    type=float,
    metavar="X",
    help='What "equally accurate" means, in units of the metric. '
    "[default: 0.5 points, 1 % of a loss]",
)
@option(
    "--min-speedup",
    group=_JUDGEMENT,
    type=float,
    metavar="X",
    default=1.05,
    show_default=True,
    help='What "worth it" means.',
)
@option(
    "--on",
    group=_PLACE,
    metavar="local|ray[=ADDRESS]",
    default="local",
    show_default=True,
    help="Where trials run; local alone for now.",
)
@option(
    "--launcher",
    group=_PLACE,
    metavar="CMD",
    help="Prefix of multi-process scripts; not there yet.",
)
@option(
    "--out",
    group=_PLACE,
    metavar="DIR",
    help="The run store.  [default: .betterhalf/<script>-<time>]",
)
@option(
    "--resume",
    group=_PLACE,
    is_flag=True,
    help="Go on with --out, or with the newest store of this script.",
)
@option(
    "--format",
    "form",
    group=_PLACE,
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="What stdout gets.",
)
@click.argument("script")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[ARGS]...")
def command(
    script: str,
    arguments: tuple[str, ...],
    module: bool,
    form: str,
    **chosen: Any,
) -> int:
    """Train SCRIPT as it is under several precisions, and say which is worth it.

    Each trial is a process of its own. The last line of the answer is a sentence with
    a verdict; the run store keeps every raw sample and the reports.
    """
    # what follows takes a second to load, which --help and a wrong option do not need
    from rich.console import Console  # noqa: PLC0415

    from betterhalf.cli._output import publish  # noqa: PLC0415
    from betterhalf.reporting.live import View  # noqa: PLC0415
    from betterhalf.trials.comparing import conduct  # noqa: PLC0415

    with View(Console(stderr=True)) as view:
        experiment = conduct(script, arguments, module=module, observer=view, **chosen)
    return publish(experiment, form)
