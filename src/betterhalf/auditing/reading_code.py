"""Reads facts out of Python source by its syntax tree, never by running it."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from betterhalf.auditing.origins import (
    dotted,
    find_origins,
    imported_modules,
    resolve,
)
from betterhalf.auditing.sources import (
    CallSite,
    ClassSite,
    Code,
    CodeView,
    DtypeSite,
    FunctionSite,
    NumberSite,
)


_DTYPES = {
    "float16": "float16",
    "bfloat16": "bfloat16",
    "float32": "float32",
    "float64": "float64",
    "half": "float16",
    "double": "float64",
}
_SHOWN = 80
"""Columns of code that a finding quotes, as many as a terminal has."""

_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}


def read_code(
    source: str, file: str, known: Mapping[str, str] | None = None
) -> CodeView | None:
    r"""Returns the facts of a file; `None` if it is not Python.

    Args:
        source: of the whole file.
        file: how places in it are called.
        known: what names stand for that the file does not import, such as those of
            another cell of a notebook.

    Example:

    >>> code = read_code("import keras as k\nk.ops.cast(x, 'float32')", "a.py")
    >>> code.calls[0].target
    'keras.ops.cast'
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the user's escapes; not ours to say
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    reader = _Reader(file, source.splitlines(), find_origins(tree, known or {}))
    try:
        reader.read(tree, _Surroundings())
    except RecursionError:
        return None
    return CodeView(
        file=file,
        imports=tuple(dict.fromkeys(imported_modules(tree))),
        **{kind: tuple(sites) for kind, sites in reader.found.items()},
    )


class _Surroundings(NamedTuple):
    """What stands around a node.

    Attributes:
        names: of the functions and classes around it.
        in_function: whether one of them is a function.
        looped: whether a loop stands around it, inside the function.
        within: target of the innermost call.
        argument: its keyword or position in that call.
        operator: the innermost operator.
        name: what the expression is assigned to.
    """

    names: tuple[str, ...] = ()
    in_function: bool = False
    looped: bool = False
    within: str = ""
    argument: str | int = ""
    operator: str = ""
    name: str = ""


class _Reader:
    def __init__(self, file: str, lines: list[str], origins: Mapping[str, str]):
        self._file = file
        self._lines = lines
        self._origins = origins
        self.found: dict[str, list[Any]] = {
            kind: [] for kind in ("calls", "numbers", "dtypes", "functions", "classes")
        }

    def read(self, node: ast.AST, around: _Surroundings) -> None:
        """Collects what stands in `node`."""
        visit = _VISITS.get(type(node), _Reader._read_parts)
        visit(self, node, around)

    def _read_parts(self, node: ast.AST, around: _Surroundings) -> None:
        for child in ast.iter_child_nodes(node):
            self.read(child, around)

    def _read_function_def(self, node: Any, around: _Surroundings) -> None:
        inner = _Surroundings((*around.names, node.name), in_function=True)
        arguments = node.args
        every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        site = FunctionSite(
            **self._place(node, inner),
            parameters=tuple(each.arg for each in every),
            decorators=tuple(self._name_of(each) for each in node.decorator_list),
        )
        self.found["functions"].append(site)
        for decorator in node.decorator_list:
            self.read(decorator, around)
        positional = (*arguments.posonlyargs, *arguments.args)
        defaults = arguments.defaults
        pairs = [
            *zip(positional[len(positional) - len(defaults) :], defaults, strict=True),
            *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
        ]
        for parameter, default in pairs:
            if default is not None:
                self.read(default, inner._replace(name=parameter.arg))
        for child in node.body:
            self.read(child, inner)

    def _read_lambda(self, node: ast.Lambda, around: _Surroundings) -> None:
        # what runs later stands in no call: `Lambda(lambda x: x + 1e-9)`
        inner = around._replace(in_function=True, within="", argument="", name="")
        self._read_parts(node, inner)

    def _read_class_def(self, node: ast.ClassDef, around: _Surroundings) -> None:
        names = (*around.names, node.name)
        site = ClassSite(
            **self._place(node, _Surroundings(names, in_function=True)),
            name=".".join(names),
            bases=tuple(self._name_of(base) for base in node.bases),
        )
        self.found["classes"].append(site)
        for decorator in node.decorator_list:
            self.read(decorator, around)
        for child in node.body:
            self.read(child, _Surroundings(names, in_function=around.in_function))

    def _read_for(self, node: Any, around: _Surroundings) -> None:
        self._read_parts(node, around._replace(looped=True))

    def _read_assign(self, node: ast.Assign, around: _Surroundings) -> None:
        name = dotted(node.targets[0]) if len(node.targets) == 1 else None
        self._read_parts(node, around._replace(name=name or ""))

    def _read_ann_assign(self, node: ast.AnnAssign, around: _Surroundings) -> None:
        if node.value is not None:
            self.read(node.value, around._replace(name=dotted(node.target) or ""))

    def _read_call(self, node: ast.Call, around: _Surroundings) -> None:
        target = self._name_of(node.func)
        keywords = {each.arg: each.value for each in node.keywords if each.arg}
        site = CallSite(
            **self._place(node, around),
            target=target,
            arguments=tuple(self._value(each) for each in node.args),
            keywords={name: self._value(each) for name, each in keywords.items()},
            result=around.name,
            looped=around.looped,
        )
        self.found["calls"].append(site)
        inner = around._replace(within=target, operator="", name="")
        if not isinstance(node.func, ast.Name):
            self.read(node.func, around._replace(name=""))
        for position, each in enumerate(node.args):
            self.read(each, inner._replace(argument=position))
        for each in node.keywords:
            self.read(each.value, inner._replace(argument=each.arg or ""))

    def _read_bin_op(self, node: ast.BinOp, around: _Surroundings) -> None:
        operator = _OPERATORS.get(type(node.op), "")
        for child in (node.left, node.right):
            self.read(child, around._replace(operator=operator))

    def _read_aug_assign(self, node: ast.AugAssign, around: _Surroundings) -> None:
        operator = _OPERATORS.get(type(node.op), "")
        self.read(node.value, around._replace(operator=operator))

    def _read_compare(self, node: ast.Compare, around: _Surroundings) -> None:
        operator = _OPERATORS.get(type(node.ops[0]), "")
        self._read_parts(node, around._replace(operator=operator))

    def _read_unary_op(self, node: ast.UnaryOp, around: _Surroundings) -> None:
        value = _literal(node)
        if isinstance(value, int | float) and not isinstance(value, bool):
            self._add_number(node, value, around)
        else:
            self._read_parts(node, around)

    def _read_constant(self, node: ast.Constant, around: _Surroundings) -> None:
        value = node.value
        if isinstance(value, str) and value in _DTYPES and not _is_text(around):
            self._add_dtype(node, value, around)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            self._add_number(node, value, around)

    def _read_attribute(self, node: ast.Attribute, around: _Surroundings) -> None:
        written = dotted(node)
        if node.attr in _DTYPES and written is not None and "." in written:
            self._add_dtype(node, node.attr, around)
        else:
            self._read_parts(node, around)

    def _add_number(self, node: Any, value: float, around: _Surroundings) -> None:
        site = NumberSite(
            **self._place(node, around),
            value=float(value) if abs(value) < 1e300 else float("inf"),
            within=around.within,
            argument=around.argument,
            operator=around.operator,
            name=around.name,
        )
        self.found["numbers"].append(site)

    def _add_dtype(self, node: Any, name: str, around: _Surroundings) -> None:
        site = DtypeSite(
            **self._place(node, around),
            dtype=_DTYPES[name],
            within=around.within,
            argument=around.argument,
        )
        self.found["dtypes"].append(site)

    def _place(self, node: Any, around: _Surroundings) -> dict[str, Any]:
        line = self._lines[node.lineno - 1] if node.lineno <= len(self._lines) else ""
        return {
            "file": self._file,
            "line": node.lineno,
            "column": node.col_offset,
            "function": ".".join(around.names) if around.in_function else "",
            "text": line.strip()[:_SHOWN],
        }

    def _name_of(self, node: ast.AST) -> str:
        """Returns what an expression is, its first name followed to its origin."""
        if isinstance(node, ast.Call):
            return f"{self._name_of(node.func)}()"
        if isinstance(node, ast.Attribute) and dotted(node) is None:
            return f"{self._name_of(node.value)}.{node.attr}"
        written = dotted(node)
        if written is None:
            return _unparse(node)
        return resolve(written, self._origins)

    def _value(self, node: ast.AST) -> Any:
        value = _literal(node)
        return Code(self._name_of(node)) if value is _NOT_PLAIN else value


_VISITS: dict[type[ast.AST], Callable[..., None]] = {
    ast.FunctionDef: _Reader._read_function_def,
    ast.AsyncFunctionDef: _Reader._read_function_def,
    ast.Lambda: _Reader._read_lambda,
    ast.ClassDef: _Reader._read_class_def,
    ast.For: _Reader._read_for,
    ast.AsyncFor: _Reader._read_for,
    ast.While: _Reader._read_for,
    ast.Assign: _Reader._read_assign,
    ast.AnnAssign: _Reader._read_ann_assign,
    ast.Call: _Reader._read_call,
    ast.BinOp: _Reader._read_bin_op,
    ast.AugAssign: _Reader._read_aug_assign,
    ast.Compare: _Reader._read_compare,
    ast.UnaryOp: _Reader._read_unary_op,
    ast.Constant: _Reader._read_constant,
    ast.Attribute: _Reader._read_attribute,
}
_NOT_PLAIN = object()


def _literal(node: ast.AST) -> Any:
    try:
        value = ast.literal_eval(node)  # type: ignore[arg-type]
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return _NOT_PLAIN
    return tuple(value) if isinstance(value, list) else value


def _is_text(around: _Surroundings) -> bool:
    return around.within in {"print", "getattr", "hasattr"}


def _unparse(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())[:_SHOWN]
