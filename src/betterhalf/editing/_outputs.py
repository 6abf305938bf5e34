"""The layers that make a trained model's outputs, where the script writes them out.

Only what is certain counts: a model that the script itself compiles or trains, or the
only one that it builds; a name that is bound once, or right before in the same block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from betterhalf.editing._models import BuiltModel, find_trained_models
from betterhalf.editing._names import Names


_LAYERS = "keras.layers."
# No weights of their own: what feeds them makes the numbers. Taken from Keras 3.15.
_WEIGHTLESS = frozenset(
    {
        *("Activation", "ELU", "LeakyReLU", "ReLU", "Softmax"),
        *("Flatten", "Permute", "Rescaling", "Reshape"),
        *(f"Global{kind}Pooling{n}D" for kind in ("Average", "Max") for n in (1, 2, 3)),
    }
)
# A dtype given to these does not reach the layer that they hold, or is none of theirs.
_LEFT_ALONE = frozenset(
    {
        *("Input", "InputLayer"),
        *("Bidirectional", "RNN", "SpectralNormalization", "TimeDistributed"),
    }
)


def find_output_layers(names: Names) -> list[cst.Call]:
    """Returns the calls that make the output layers and have no dtype yet.

    Where the last layer has no weights (an `Activation`), the one that feeds it is an
    output layer too: a float32 softmax brings nothing back that float16 has lost.
    """
    found: list[cst.Call] = []
    for model in find_trained_models(names):
        for chain in _chains(names, model):
            found += _to_weights(names, chain)
    return [
        layer
        for layer in dict.fromkeys(found)
        if not any(
            argument.star == "**"
            or (argument.keyword is not None and argument.keyword.value == "dtype")
            for argument in layer.args
        )
    ]


def _chains(
    names: Names, model: BuiltModel
) -> Iterator[Iterator[cst.BaseExpression | None]]:
    """Yields, for each output, the expressions that make it, the last one first."""
    if model.is_sequential:
        yield _sequential_chain(names, model)
        return
    outputs = _argument(model.call, 1, "outputs")
    line = names.line_of(model.call)
    if outputs is None or line is None:
        return
    for output in _parts(outputs):
        yield _functional_chain(names, output, line)


def _to_weights(
    names: Names, chain: Iterator[cst.BaseExpression | None]
) -> Iterator[cst.Call]:
    """Yields the layers of a chain up to the first that has weights."""
    for expression in chain:
        if not isinstance(expression, cst.Call):
            return
        meaning = names.in_keras(expression.func) or ""
        kind = meaning.rpartition(".")[2]
        if not meaning.startswith(_LAYERS) or kind in _LEFT_ALONE:
            return
        yield expression
        if kind not in _WEIGHTLESS:
            return


def _sequential_chain(
    names: Names, model: BuiltModel
) -> Iterator[cst.BaseExpression | None]:
    """Yields the layers of a Sequential from its end, `None` where one is not seen."""
    for add in reversed(_calls_on(names, model, ("add", "pop"))):
        yield add.args[0].value if _is_plain_add(names, model, add) else None
    layers = _argument(model.call, 0, "layers")
    if isinstance(layers, cst.List | cst.Tuple):
        for element in reversed(layers.elements):
            yield element.value if isinstance(element, cst.Element) else None


def _calls_on(
    names: Names, model: BuiltModel, methods: tuple[str, ...]
) -> list[cst.Call]:
    """Returns the calls of some methods of a model, in source order."""
    return [
        node
        for node in names.nodes
        if isinstance(node, cst.Call)
        and isinstance(node.func, cst.Attribute)
        and node.func.attr.value in methods
        and isinstance(node.func.value, cst.Name)
        and node.func.value.value == model.name
        and names.holder_of(node.func.value) is model.scope
    ]


def _is_plain_add(names: Names, model: BuiltModel, call: cst.Call) -> bool:
    """Tells whether it is `model.add(...)` in the block that made the model."""
    line, made = names.line_of(call), names.line_of(model.call)
    return (
        isinstance(call.func, cst.Attribute)
        and call.func.attr.value == "add"
        and len(call.args) == 1
        and not call.args[0].star
        and line is not None
        and made is not None
        and names.parents[line] is names.parents[made]
        and isinstance(names.parents[call], cst.Expr)
    )


def _functional_chain(
    names: Names, value: cst.BaseExpression, line: cst.SimpleStatementLine
) -> Iterator[cst.BaseExpression | None]:
    """Yields the layers through which a value came, `None` where one is not seen."""
    while True:
        if isinstance(value, cst.Name):
            bound = _value_before(names, value.value, line)
            if bound is None:
                return
            value, line = bound
        if not isinstance(value, cst.Call) or not value.args:
            return
        yield value.func if isinstance(value.func, cst.Call) else None
        value = value.args[0].value


def _value_before(
    names: Names, name: str, line: cst.SimpleStatementLine
) -> tuple[cst.BaseExpression, cst.SimpleStatementLine] | None:
    """Returns what a name was bound to last in the same block, and the line of it."""
    block = names.parents[line]
    if not isinstance(block, cst.Module | cst.IndentedBlock):
        return None
    body: Sequence[cst.CSTNode] = block.body
    for statement in reversed(body[: list(body).index(line)]):
        if not any(names.is_inside(node, statement) for node in names.bound[name]):
            continue
        if (
            isinstance(statement, cst.SimpleStatementLine)
            and len(statement.body) == 1
            and isinstance(assign := statement.body[0], cst.Assign)
            and len(assign.targets) == 1
            and isinstance(assign.targets[0].target, cst.Name)
        ):
            return assign.value, statement
        return None
    return None


def _argument(call: cst.Call, position: int, keyword: str) -> cst.BaseExpression | None:
    for index, argument in enumerate(call.args):
        if argument.star:
            return None
        named = argument.keyword.value if argument.keyword else None
        if named == keyword or (named is None and index == position):
            return argument.value
    return None


def _parts(outputs: cst.BaseExpression) -> list[cst.BaseExpression]:
    if isinstance(outputs, cst.List | cst.Tuple):
        return [element.value for element in outputs.elements]
    if isinstance(outputs, cst.Dict):
        return [element.value for element in outputs.elements]
    return [outputs]
