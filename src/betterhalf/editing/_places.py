"""Where a script has to set the policy: after its imports, before it builds a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import libcst as cst

from betterhalf.editing._names import Names, dotted
from betterhalf.editing._roots import find_root, imports_in


_SETTERS = ("set_global_policy", "set_dtype_policy")
# What of Keras reads the global policy as it is called; `keras` is the module itself.
_READS_POLICY = frozenset(
    {
        *("keras", "keras.applications", "keras.layers", "keras.models"),
        *("keras.saving", "keras.Functional", "keras.Input", "keras.Layer"),
        *("keras.Model", "keras.Sequential"),
    }
)
_CONDITIONS = (
    cst.For, cst.While, cst.ExceptHandler, cst.IfExp, cst.BooleanOperation,
    cst.Match, cst.Lambda, cst.CompFor,
)  # fmt: skip

Block = cst.Module | cst.IndentedBlock


class Place(NamedTuple):
    """Where the policy is set.

    Attributes:
        block: the statements that import Keras.
        index: of the statement before which the call is inserted; absent if a call that
            the script has is in time.
        keras: how the script calls Keras, such as `tf.keras`.
        new_import: an import to add, as the script has names from Keras alone.
        import_index: of the statement before which it is added.
    """

    block: Block
    index: int | None
    keras: str
    new_import: str | None
    import_index: int


def find_policy_calls(names: Names) -> list[cst.Call]:
    """Returns the calls that set the global policy, in source order."""
    return [
        node
        for node in names.nodes
        if isinstance(node, cst.Call) and node.args and _sets_policy(names, node)
    ]


def find_place(names: Names) -> Place | None:
    """Returns where the policy is set, or `None` if Keras is imported in no known way.

    The module's own imports count; without any, those of the one function, or of the
    one `if __name__ == "__main__"`, that imports Keras.
    """
    place = _place_in(names, names.module)
    if place is not None:
        return place
    blocks = [
        node.body
        for node in names.nodes
        if isinstance(node, cst.FunctionDef)
        or (isinstance(node, cst.If) and _is_main_guard(node))
    ]
    inner = [
        _place_in(names, block)
        for block in blocks
        if isinstance(block, cst.IndentedBlock)
    ]
    found = [place for place in inner if place is not None]
    return found[0] if len(found) == 1 else None


def _place_in(names: Names, block: Block) -> Place | None:
    root = find_root(names, block.body)
    if root is None:
        return None
    body = block.body
    built = _first_build(names, body, root.index)
    reset = _last_reset(names, body[root.index : built], root.index)
    index = root.index + 1
    while index < len(body) and _is_import(body[index]):
        index += 1
    if reset is not None:
        index = max(index, reset + 1)
    in_time = any(
        _is_in_time(names, call, block, (root.index if reset is None else reset, built))
        for call in find_policy_calls(names)
    )
    new_import = None if in_time else root.new_import
    if new_import and _is_taken(names, root.keras):
        return None
    return Place(block, None if in_time else index, root.keras, new_import, root.index)


def _is_taken(names: Names, name: str) -> bool:
    """Tells whether a name is bound, or read, as something that no import gave."""
    if any(
        not isinstance(node, cst.Import | cst.ImportFrom) for node in names.bound[name]
    ):
        return True
    return not names.bound[name] and any(
        isinstance(node, cst.Name) and node.value == name and names.is_read(node)
        for node in names.nodes
    )


def _is_import(statement: cst.CSTNode) -> bool:
    if isinstance(statement, cst.SimpleStatementLine):
        return len(imports_in(statement)) == len(statement.body)
    return isinstance(statement, cst.Try) and all(
        _is_import(part) for part in statement.body.body
    )


def _first_build(names: Names, body: Sequence[cst.CSTNode], start: int) -> int:
    """Returns the index of the first statement that may build a layer or a model."""
    makers = _makers(names)
    for index in range(start, len(body)):
        if _may_build(names, body[index], makers):
            return index
    return len(body)


def _makers(names: Names) -> set[str]:
    """Returns the script's functions and classes that may build something."""
    defined = [
        node for node in names.nodes if isinstance(node, cst.FunctionDef | cst.ClassDef)
    ]
    found: set[str] = set()
    while True:
        more = {
            node.name.value for node in defined if _speaks_of_layers(names, node, found)
        }
        if more <= found:
            return found
        found |= more


def _may_build(names: Names, statement: cst.CSTNode, makers: set[str]) -> bool:
    if isinstance(statement, cst.FunctionDef | cst.ClassDef):
        return False
    if not isinstance(statement, cst.SimpleStatementLine):
        return _speaks_of_layers(names, statement, makers)
    return any(
        _speaks_of_layers(names, part, makers)
        for part in statement.body
        # `layers = keras.layers` only gives it another name
        if not (isinstance(part, cst.Assign) and dotted(part.value))
    )


def _speaks_of_layers(names: Names, node: cst.CSTNode, makers: set[str]) -> bool:
    """Tells whether a part of the script has to do with what reads the policy."""
    if isinstance(node, cst.Import | cst.ImportFrom):
        return False
    if isinstance(node, cst.Name) and node.value in makers:
        return True
    meaning = names.in_keras(node)
    if meaning is not None:
        return ".".join(meaning.split(".")[:2]) in _READS_POLICY
    return any(_speaks_of_layers(names, child, makers) for child in node.children)


def _last_reset(
    names: Names, statements: Sequence[cst.CSTNode], start: int
) -> int | None:
    """Returns the index of the last `clear_session()`, which resets the policy."""
    resets = [
        index
        for index, statement in enumerate(statements, start)
        if isinstance(statement, cst.SimpleStatementLine)
        for part in statement.body
        if isinstance(part, cst.Expr)
        and isinstance(part.value, cst.Call)
        and (names.in_keras(part.value.func) or "").endswith(".clear_session")
    ]
    return resets[-1] if resets else None


def _sets_policy(names: Names, call: cst.Call) -> bool:
    meaning = names.in_keras(call.func)
    return meaning is not None and meaning.rpartition(".")[2] in _SETTERS


def _is_in_time(
    names: Names, call: cst.Call, block: Block, window: tuple[int, int]
) -> bool:
    """Tells whether a call surely sets the policy before anything is built.

    A function that sets it without a condition is taken to be called in time.
    """
    node: cst.CSTNode = call
    while (parent := names.parents[node]) is not block:
        if isinstance(parent, _CONDITIONS):
            return False
        if isinstance(parent, cst.If) and not _is_main_guard(parent):
            return False
        if isinstance(parent, cst.FunctionDef):
            return True
        node = parent
        if isinstance(node, cst.Module):
            return True  # the imports stand in a function, this call does not
    index = list(block.body).index(node)  # pyright: ignore[reportArgumentType]
    return window[0] <= index <= window[1]


def _is_main_guard(node: cst.CSTNode) -> bool:
    """Tells whether a statement is `if __name__ == "__main__":`."""
    if not isinstance(node, cst.If) or not isinstance(node.test, cst.Comparison):
        return False
    return dotted(node.test.left) == "__name__"
