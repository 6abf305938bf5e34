"""`[tool.betterhalf]` of the nearest `pyproject.toml`: what `check` does by default."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from betterhalf.errors import UsageError


KEYS = ("select", "ignore", "fail-on", "policy")


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """What a project asks of every audit; an option of the command comes before it.

    Attributes:
        select: rules that run.
        ignore: findings that do not count, each with the reason.
        fail_on: the least severity that makes the command fail.
        policy: kept in force during the audit.
    """

    select: tuple[str, ...] = ()
    ignore: dict[str, str] = field(default_factory=dict)
    fail_on: str | None = None
    policy: str | None = None


def read_settings(folder: Path) -> Settings:
    """Returns the settings for a folder: of the nearest `pyproject.toml` upwards.

    Args:
        folder: where the search begins.

    Raises:
        UsageError: the file is not TOML, or has a key or a value that is not known.
    """
    for each in (folder, *folder.parents):
        file = each / "pyproject.toml"
        if file.is_file():
            return _read(file)
    return Settings()


def _read(file: Path) -> Settings:
    try:
        whole = tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(
            f"Expected a pyproject.toml that can be read. Received: {file}: {error}."
        ) from error
    table: dict[str, Any] = whole.get("tool", {}).get("betterhalf", {})
    unknown = sorted(set(table) - set(KEYS))
    if unknown:
        raise UsageError(
            f"Expected {', '.join(KEYS)} in [tool.betterhalf] of {file}. "
            f"Received: {', '.join(unknown)}."
        )
    return Settings(
        select=tuple(_expect(file, table, "select", list, ())),
        ignore=dict(_expect(file, table, "ignore", dict, {})),
        fail_on=_expect(file, table, "fail-on", str, None),
        policy=_expect(file, table, "policy", str, None),
    )


def _expect(
    file: Path, table: dict[str, Any], key: str, kind: type, default: Any
) -> Any:
    """Returns a value of a kind, whose parts are strings."""
    value = table.get(key, default)
    if key not in table:
        return value
    parts = value.values() if isinstance(value, dict) else value
    if isinstance(value, kind) and all(isinstance(part, str) for part in parts):
        return value
    forms = {
        list: 'a list of strings, such as ["BH2"]',
        dict: 'a table of reasons, such as {BH203 = "ids stay below 100"}',
        str: "a string",
    }
    raise UsageError(
        f"Expected {key} in [tool.betterhalf] of {file} to be {forms[kind]}. "
        f"Received: {value!r}."
    )
