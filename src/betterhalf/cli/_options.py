"""Options that stand in groups in `--help`, and durations as people type them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click


F = TypeVar("F", bound=Callable[..., Any])

FORMATS = ("text", "json", "markdown")
"""What stdout may get of a comparison."""

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = r"(\d+(?:\.\d+)?)([smhd])"


class GroupedOption(click.Option):
    """An option with the heading that it stands under in `--help`."""

    def __init__(self, *args: Any, group: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.group = group


class GroupedCommand(click.Command):
    """A command whose options stand in groups, in the order of their definition."""

    def format_options(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                heading = getattr(parameter, "group", "Other")
                groups.setdefault(heading, []).append(record)
        for heading, records in groups.items():
            with formatter.section(heading):
                formatter.write_dl(records, col_max=24)


def option(*names: str, group: str, **kwargs: Any) -> Callable[[F], F]:
    """Returns a decorator as `click.option`, with the heading of the option."""
    return click.option(*names, cls=GroupedOption, group=group, **kwargs)


class Duration(click.ParamType):
    """A length of time such as `90s`, `30m`, `2h` or `1h30m`, in seconds."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Returns seconds, or fails with what was expected."""
        if isinstance(value, float):
            return value
        text = str(value).strip()
        if not re.fullmatch(f"(?:{_PART})+", text):
            self.fail(
                f"Expected a duration such as 90s, 30m, 2h or 1h30m. "
                f"Received: '{value}'.",
                param,
                ctx,
            )
        seconds = sum(
            float(amount) * _UNITS[unit] for amount, unit in re.findall(_PART, text)
        )
        if seconds <= 0:
            self.fail(f"Expected more than no time. Received: '{value}'.", param, ctx)
        return seconds
