"""`betterhalf rules`: what the rules of an audit mean."""

from __future__ import annotations

import sys

import click


@click.command(name="rules", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("code", required=False)
def command(code: str | None) -> int:
    """List the rules of `betterhalf check`, or show the page of one.

    CODE is a code such as BH203, or the name of a rule.
    """
    # rich takes its time to load, which --help does not need
    from rich.console import Console  # noqa: PLC0415
    from rich.markdown import Markdown  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    from betterhalf.auditing.pages import write_page  # noqa: PLC0415
    from betterhalf.auditing.registry import all_rules, find_rule  # noqa: PLC0415

    if code is not None:
        page = write_page(find_rule(code))
        if sys.stdout.isatty():
            Console().print(Markdown(page))
        else:
            click.echo(page, nl=False)
        return 0
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for head in ("code", "rule", "severity"):
        table.add_column(head, no_wrap=True)
    table.add_column("backends", overflow="fold")
    for rule in all_rules():
        table.add_row(rule.code, rule.name, rule.severity, ", ".join(rule.backends))
    Console().print(table)
    return 0
