"""Which backend arms run on that name none: as Keras would choose, without Keras.

Keras reads `KERAS_BACKEND`, then its configuration file, then takes tensorflow
(`keras/src/backend/config.py`, the same in 3.10 to 3.15). A script that sets the
variable itself before it imports keras comes before all of these.
"""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from betterhalf.errors import UsageError
from betterhalf.precision.arms import refuse_unknown_backend


BACKEND_VARIABLE: Final = "KERAS_BACKEND"


def choose_backend(
    asked: str | None, source: bytes, environ: Mapping[str, str], home: Path
) -> str:
    """Returns the backend of arms that name none.

    Args:
        asked: the user's choice (`--backend`), if there is one.
        source: of the script.
        environ: the environment that the script would run in.
        home: the user's home folder.

    Raises:
        UsageError: what was chosen is not a backend that can train.
    """
    chosen = asked or _read_source(source, environ) or environ.get(BACKEND_VARIABLE)
    backend = chosen or _read_configuration(environ, home) or "tensorflow"
    refuse_unknown_backend(backend)
    return backend


def refuse_absent_backend(backend: str) -> None:
    """Raises `UsageError` if `backend` is not installed; imports nothing."""
    if find_spec(backend) is None:
        raise UsageError(
            f"Expected the backend '{backend}' to be installed. Received: an "
            f"environment without it. Install it, or choose another with --backend: "
            f'pip install "betterhalf[{backend}]"'
        )


def _read_configuration(environ: Mapping[str, str], home: Path) -> str | None:
    folder = environ.get("KERAS_HOME")
    file = (Path(folder) if folder else home / ".keras") / "keras.json"
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return None
    backend = found.get("backend") if isinstance(found, dict) else None
    return backend if isinstance(backend, str) else None


def _read_source(source: bytes, environ: Mapping[str, str]) -> str | None:
    """Returns the backend that the script sets, where that can be read.

    Two different values mean that the script decides while it runs; then nothing can be
    read.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(source)
    set_in_environment = bool(environ.get(BACKEND_VARIABLE))
    values = {
        value
        for node in ast.walk(tree)
        for value, only_if_unset in _read_settings(node)
        if not (only_if_unset and set_in_environment)
    }
    return values.pop() if len(values) == 1 else None


def _read_settings(node: ast.AST) -> Iterator[tuple[str, bool]]:
    """Yields `os.environ[NAME] = "value"` and `os.environ.setdefault(NAME, "value")`.

    With each value goes whether it counts only where the variable is unset.
    """
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
        for target in node.targets:
            if (
                isinstance(target, ast.Subscript)
                and _is_environ(target.value)
                and _is_variable(target.slice)
            ):
                yield str(node.value.value), False
    elif (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "setdefault"
        and _is_environ(node.func.value)
        and len(node.args) == 2
        and _is_variable(node.args[0])
        and isinstance(node.args[1], ast.Constant)
    ):
        yield str(node.args[1].value), True


def _is_environ(node: ast.AST) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)
    return name == "environ"


def _is_variable(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value == BACKEND_VARIABLE
