"""Follows names of a file to where they come from: imports, and aliases of those.

`layers = keras.layers` is followed; `tensorflow.keras` and `tf_keras` are `keras` here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping


_KERAS = ("tensorflow.keras", "tensorflow.compat.v2.keras", "tf_keras")


def imported_modules(tree: ast.AST) -> Iterator[str]:
    """Yields the modules that a file imports, as written; relative ones not."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def find_origins(tree: ast.AST, known: Mapping[str, str]) -> dict[str, str]:
    """Returns what each name of the file stands for, as far as imports tell."""
    origins = dict(known)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                origins[alias.asname or first] = alias.name if alias.asname else first
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                origins[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, written = node.targets[0], dotted(node.value)
            if isinstance(target, ast.Name) and written is not None:
                first, _, rest = written.partition(".")
                if first in origins and target.id != first:
                    origins[target.id] = _join(origins[first], rest)
    return origins


def dotted(node: ast.AST) -> str | None:
    """Returns a name with its attributes as written; `None` for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        value = dotted(node.value)
        return None if value is None else f"{value}.{node.attr}"
    return None


def resolve(written: str, origins: Mapping[str, str]) -> str:
    """Returns what a dotted name stands for.

    Example:

    >>> resolve("k.ops.cast", {"k": "tf_keras"})
    'keras.ops.cast'
    """
    first, _, rest = written.partition(".")
    return _shorten(_join(origins.get(first, first), rest))


def _join(origin: str, rest: str) -> str:
    return f"{origin}.{rest}" if rest else origin


def _shorten(meaning: str) -> str:
    for root in _KERAS:
        if meaning == root or meaning.startswith(root + "."):
            return "keras" + meaning[len(root) :]
    return meaning
