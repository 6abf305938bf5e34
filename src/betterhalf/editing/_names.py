"""What the names in a script stand for, as far as imports and assignments tell."""

from __future__ import annotations

import ast
import warnings
from collections import defaultdict

import libcst as cst


_KERAS = ("keras", "tensorflow.keras", "tensorflow.compat.v2.keras", "tf_keras")

Scope = cst.Module | cst.FunctionDef | cst.ClassDef


class Names:
    """The nodes of a script with their parents, scopes and meanings.

    Attributes:
        module: the script.
        nodes: all of its nodes, in source order.
        parents: what each node stands in.
        bound: for each name, the nodes that bind it.
    """

    def __init__(self, module: cst.Module):
        self.module = module
        self.nodes: list[cst.CSTNode] = []
        self.parents: dict[cst.CSTNode, cst.CSTNode] = {}
        self._collect(module)
        self.bound: dict[str, list[cst.CSTNode]] = defaultdict(list)
        for node in self.nodes:
            for name in _bound_by(node):
                self.bound[name].append(node)
        self._origins: dict[str, str] = {}
        for node in self.nodes:
            if isinstance(node, cst.Import | cst.ImportFrom):
                self._origins.update(imported(node))
            elif isinstance(node, cst.Assign):
                self._alias(node)

    def _collect(self, root: cst.CSTNode) -> None:
        waiting = [root]
        while waiting:
            node = waiting.pop()
            self.nodes.append(node)
            for child in reversed(node.children):
                self.parents[child] = node
                waiting.append(child)

    def _alias(self, node: cst.Assign) -> None:
        """Follows `keras = tf.keras`."""
        target = node.targets[0].target
        meaning = self.in_keras(node.value)
        if len(node.targets) == 1 and isinstance(target, cst.Name) and meaning:
            self._origins[target.value] = meaning

    def in_keras(self, node: cst.CSTNode) -> str | None:
        """Returns what a name or attribute is in Keras, such as `keras.layers.Dense`.

        `None` if it is something else. The spellings `tensorflow.keras`, `tf_keras` and
        `keras` are one here.
        """
        written = dotted(node)
        if written is None:
            return None
        first, _, rest = written.partition(".")
        origin = self._origins.get(first)
        if origin is None:
            return None
        return _shorten(f"{origin}.{rest}" if rest else origin)

    def scope_of(self, node: cst.CSTNode) -> Scope:
        """Returns the function, class or module around a node."""
        while True:
            node = self.parents[node]
            if isinstance(node, Scope):
                return node

    def holder_of(self, name: cst.Name) -> Scope:
        """Returns the scope in which a name that is read was bound."""
        scope = self.scope_of(name)
        while not isinstance(scope, cst.Module):
            if self.bindings(scope, name.value):
                return scope
            scope = self.scope_of(scope)
        return scope

    def bindings(self, scope: Scope, name: str) -> list[cst.CSTNode]:
        """Returns the nodes that bind a name in a scope."""
        return [node for node in self.bound[name] if self.scope_of(node) is scope]

    def is_read(self, name: cst.Name) -> bool:
        """Tells whether a name stands for itself: no attribute, keyword or import."""
        parent = self.parents[name]
        if isinstance(parent, cst.Attribute):
            in_import = isinstance(
                self.parents[parent], cst.ImportFrom | cst.ImportAlias
            )
            return parent.value is name and not in_import
        if isinstance(parent, cst.Arg):
            return parent.value is name
        return not isinstance(parent, cst.ImportFrom | cst.ImportAlias | cst.AsName)

    def is_inside(self, node: cst.CSTNode, outer: cst.CSTNode) -> bool:
        """Tells whether a node is another one or stands in it."""
        while node is not outer:
            if node not in self.parents:
                return False
            node = self.parents[node]
        return True

    def line_of(self, node: cst.CSTNode) -> cst.SimpleStatementLine | None:
        """Returns the simple statement that a node stands in, or `None`."""
        while not isinstance(node, cst.BaseStatement | cst.Module):
            node = self.parents[node]
        return node if isinstance(node, cst.SimpleStatementLine) else None


def read_names(source: bytes) -> Names | None:
    """Parses a script; `None` if it is not Python, or not as libcst knows it.

    Python's own parser goes first: libcst's overflows the stack, and ends the process,
    on nesting so deep that Python refuses it.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the script's escapes; not ours to say
            ast.parse(source)
        return Names(cst.parse_module(source))
    except (SyntaxError, ValueError, LookupError, RecursionError, MemoryError):
        return None
    except cst.ParserSyntaxError:
        return None


def dotted(node: cst.CSTNode) -> str | None:
    """Returns `a.b.c` as it is written, or `None` for any other expression."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        value = dotted(node.value)
        return None if value is None else f"{value}.{node.attr.value}"
    return None


def imported(node: cst.Import | cst.ImportFrom) -> dict[str, str]:
    """Returns the names that an import binds and what each of them is."""
    if isinstance(node.names, cst.ImportStar):
        return {}
    if isinstance(node, cst.Import):
        pairs = [(_asname(alias), dotted(alias.name) or "") for alias in node.names]
        return {
            asname or name.partition(".")[0]: name if asname else name.partition(".")[0]
            for asname, name in pairs
        }
    if node.relative or node.module is None:
        return {}
    source = dotted(node.module)
    found: dict[str, str] = {}
    for alias in node.names:
        name = dotted(alias.name) or ""
        found[_asname(alias) or name] = f"{source}.{name}"
    return found


def _shorten(meaning: str) -> str | None:
    for root in _KERAS:
        if meaning == root or meaning.startswith(root + "."):
            return "keras" + meaning[len(root) :]
    return None


def _asname(alias: cst.ImportAlias) -> str | None:
    name = alias.asname.name if alias.asname else None
    return name.value if isinstance(name, cst.Name) else None


def _bound_by(node: cst.CSTNode) -> list[str]:
    if isinstance(node, cst.Import | cst.ImportFrom):
        return list(imported(node))
    if isinstance(node, cst.FunctionDef | cst.ClassDef | cst.Param | cst.NameItem):
        return _names_in(node.name)
    if isinstance(node, cst.AsName):
        return _names_in(node.name)
    if isinstance(
        node,
        cst.AssignTarget
        | cst.AnnAssign
        | cst.AugAssign
        | cst.For
        | cst.CompFor
        | cst.NamedExpr
        | cst.Del,
    ):
        return _names_in(node.target)
    return []


def _names_in(target: cst.CSTNode) -> list[str]:
    if isinstance(target, cst.Name):
        return [target.value]
    if isinstance(target, cst.Tuple | cst.List):
        return [name for part in target.elements for name in _names_in(part.value)]
    return []
