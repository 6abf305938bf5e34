"""How a script imports Keras, and so how it calls it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import libcst as cst

from betterhalf.editing._names import Names, dotted, imported


_ROOTS = {"keras": "import keras", "tf_keras": "import tf_keras"}
_TENSORFLOW = "tensorflow.keras"


class Root(NamedTuple):
    """The import by which a script calls Keras.

    Attributes:
        index: of the statement among its neighbours.
        keras: how the script calls Keras, such as `tf.keras`.
        new_import: an import to add before it, as it has names from Keras alone.
    """

    index: int
    keras: str
    new_import: str | None = None


def find_root(names: Names, body: Sequence[cst.CSTNode]) -> Root | None:
    """Returns the import by which these statements call Keras, or `None`.

    Keras itself comes first; then `tf.keras`, where the script speaks of it; then an
    import of names from Keras, beside which Keras itself is imported.
    """
    direct: list[Root] = []
    through_tensorflow: list[Root] = []
    names_alone: list[Root] = []
    for index, statement in enumerate(body):
        for node in imports_in(statement):
            for name, meaning in _imported_roots(node):
                if meaning == "tensorflow":
                    through_tensorflow.append(Root(index, f"{name}.keras"))
                else:
                    direct.append(Root(index, name))
            if isinstance(statement, cst.SimpleStatementLine):
                names_alone += [Root(index, *root) for root in _roots_to_add(node)]
    if direct:
        return direct[0]
    for root in through_tensorflow:
        if _is_written(names, root.keras) or any(
            "tensorflow" in (alone.new_import or "") for alone in names_alone
        ):
            return root
    return names_alone[0] if names_alone else None


def _imported_roots(node: cst.Import | cst.ImportFrom) -> Iterator[tuple[str, str]]:
    """Yields how an import lets a script call Keras, or TensorFlow, as a whole."""
    for name, meaning in imported(node).items():
        if meaning in (*_ROOTS, _TENSORFLOW):
            yield name, meaning
        elif meaning == "tensorflow":
            submodules = [dotted(alias.name) or "" for alias in _aliases(node)]
            has_keras = name == "tensorflow" and any(
                f"{module}.".startswith(_TENSORFLOW + ".") for module in submodules
            )
            yield (_TENSORFLOW, _TENSORFLOW) if has_keras else (name, meaning)


def _roots_to_add(node: cst.Import | cst.ImportFrom) -> Iterator[tuple[str, str]]:
    """Yields what to add beside an import of names from Keras: its name, the line."""
    modules = (
        [dotted(node.module) or "" if node.module and not node.relative else ""]
        if isinstance(node, cst.ImportFrom)
        else [dotted(alias.name) or "" for alias in node.names]
    )
    for module in modules:
        if f"{module}.".startswith(_TENSORFLOW + "."):
            yield "keras", "from tensorflow import keras"
        elif (root := module.partition(".")[0]) in _ROOTS:
            yield root, _ROOTS[root]


def _aliases(node: cst.Import | cst.ImportFrom) -> Sequence[cst.ImportAlias]:
    if isinstance(node, cst.ImportFrom) or isinstance(node.names, cst.ImportStar):
        return ()
    return node.names


def _is_written(names: Names, spelling: str) -> bool:
    return any(
        isinstance(node, cst.Attribute) and dotted(node) == spelling
        for node in names.nodes
    )


def imports_in(statement: cst.CSTNode) -> list[cst.Import | cst.ImportFrom]:
    """Returns the imports that a statement surely runs; `try` runs its body."""
    if isinstance(statement, cst.SimpleStatementLine):
        return [
            part
            for part in statement.body
            if isinstance(part, cst.Import | cst.ImportFrom)
        ]
    if isinstance(statement, cst.Try):
        return [found for part in statement.body.body for found in imports_in(part)]
    return []
