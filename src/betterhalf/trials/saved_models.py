"""What a saved model needs, read from its file without Keras."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from betterhalf.errors import UsageError


_OF_KERAS = ("keras", "builtins")


def refuse_what_keras_cannot_read(path: Path) -> None:
    """Raises where a `.keras` file needs what `load_model` has not got by itself.

    Args:
        path: of a file; one that is no `.keras` file is left to Keras.

    Raises:
        UsageError: it is damaged, has classes of the user's, or a function in it.
    """
    if path.suffix != ".keras":
        return
    try:
        with zipfile.ZipFile(path) as archive:
            config = json.loads(archive.read("config.json"))
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise UsageError(
            f"Expected a file that `model.save` wrote. Received: '{path}': {error}."
        ) from error
    needed = sorted({_name(each) for each in _find_foreign(config)})
    if needed:
        raise UsageError(
            "Expected a saved model that Keras can read by itself. Received: "
            f"'{path}', which needs {', '.join(needed)}. Name a function that returns "
            "it, in a file that imports them: file.py:factory."
        )


def _find_foreign(value: Any) -> Iterator[dict[str, Any]]:
    """Yields the entries of a config that stand for what is not Keras's."""
    if isinstance(value, list):
        for each in cast("list[Any]", value):
            yield from _find_foreign(each)
    if not isinstance(value, dict):
        return
    entry = cast("dict[str, Any]", value)
    if "class_name" in entry and "config" in entry:
        module = str(entry.get("module") or "")
        registered = str(entry.get("registered_name") or "")
        is_lambda = entry["class_name"] == "__lambda__"
        if is_lambda or ">" in registered or (module and not _is_keras(module)):
            yield entry
    for each in entry.values():
        yield from _find_foreign(each)


def _is_keras(module: str) -> bool:
    return module.partition(".")[0] in _OF_KERAS


def _name(entry: dict[str, Any]) -> str:
    if entry["class_name"] == "__lambda__":
        return "a lambda, which safe mode does not run"
    return str(entry.get("registered_name") or entry["class_name"])
