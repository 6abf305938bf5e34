"""Writes the edits into a script and leaves everything else as it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import takewhile

import libcst as cst

from betterhalf.editing._names import Names
from betterhalf.editing._places import Block, Place


def write_edits(
    names: Names,
    place: Place,
    policy_calls: Sequence[cst.Call],
    outputs: Sequence[cst.Call],
    policy: str,
) -> bytes:
    """Returns the script with its edits.

    Args:
        names: the script.
        place: where the policy is set.
        policy_calls: the calls that set one; they get `policy`.
        outputs: the calls of layers that get `dtype="float32"`.
        policy: a Keras dtype policy.
    """
    quote = _usual_quote(names)
    values = _quoted(policy, quote), _quoted("float32", quote)
    edits = _Edits(names, place, policy_calls, outputs, values)
    return names.module.visit(edits).bytes


class _Edits(cst.CSTTransformer):
    def __init__(
        self,
        names: Names,
        place: Place,
        policy_calls: Sequence[cst.Call],
        outputs: Sequence[cst.Call],
        values: tuple[str, str],
    ):
        super().__init__()
        self._names = names
        self._place = place
        self._policy_calls = policy_calls
        self._outputs = outputs
        self._policy, self._float32 = values

    def leave_Call(  # noqa: N802 (libcst's name)
        self, original_node: cst.Call, updated_node: cst.Call
    ) -> cst.Call:
        """Gives a layer its dtype, or a call that sets the policy its policy."""
        if any(original_node is call for call in self._outputs):
            return _with_dtype(updated_node, self._float32)
        if any(original_node is call for call in self._policy_calls):
            return _with_policy(updated_node, self._policy)
        return updated_node

    def leave_IndentedBlock(  # noqa: N802
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        """Inserts into a function."""
        if original_node is not self._place.block:
            return updated_node
        return updated_node.with_changes(body=self._inserted(updated_node))

    def leave_Module(  # noqa: N802
        self, original_node: cst.Module, updated_node: cst.Module
    ) -> cst.Module:
        """Inserts into the module."""
        if original_node is not self._place.block:
            return updated_node
        return updated_node.with_changes(body=self._inserted(updated_node))

    def _inserted(self, block: Block) -> Sequence[cst.CSTNode]:
        place, body = self._place, list(block.body)
        if place.index is not None:
            call = f"{place.keras}.mixed_precision.set_global_policy({self._policy})"
            line = self._statement(call)
            body.insert(
                place.index,
                line.with_changes(leading_lines=_blank_lines(block, place.index)),
            )
        if place.new_import is not None:
            following = body[place.import_index]
            line = self._statement(place.new_import).with_changes(
                leading_lines=_leading_lines(following)
            )
            body[place.import_index] = following.with_changes(leading_lines=())
            body.insert(place.import_index, line)
        return body

    def _statement(self, text: str) -> cst.SimpleStatementLine:
        config = self._names.module.config_for_parsing
        line = cst.parse_statement(text, config=config)
        assert isinstance(line, cst.SimpleStatementLine)
        return line


def _blank_lines(block: Block, index: int) -> list[cst.EmptyLine]:
    """Returns the blank lines before a call that is set apart from the imports."""
    body = block.body
    before = body[index - 1]
    is_import = isinstance(before, cst.Try) or (
        isinstance(before, cst.SimpleStatementLine)
        and isinstance(before.body[-1], cst.Import | cst.ImportFrom)
    )
    if not is_import:
        return []
    least = 1 if isinstance(block, cst.Module) else 0
    count = 0
    if index < len(body):
        lines = _leading_lines(body[index])
        count = len(list(takewhile(lambda line: line.comment is None, lines)))
        if isinstance(body[index], cst.FunctionDef | cst.ClassDef):
            count = min(count, 1)  # two set functions apart, not the imports
    return [cst.EmptyLine(indent=False)] * max(least, min(count, 2))


def _leading_lines(statement: cst.CSTNode) -> Sequence[cst.EmptyLine]:
    """Returns the blank lines and comments above a statement."""
    return getattr(statement, "leading_lines", ())


def _with_policy(call: cst.Call, policy: str) -> cst.Call:
    first, *others = call.args
    value = first.value
    if isinstance(value, cst.SimpleString) and (
        value.evaluated_value == cst.SimpleString(policy).evaluated_value
    ):
        return call
    changed = first.with_changes(value=cst.SimpleString(policy))
    return call.with_changes(args=[changed, *others])


def _with_dtype(call: cst.Call, float32: str) -> cst.Call:
    """Adds `dtype="float32"` as the last argument, laid out as the others are."""
    added = cst.Arg(
        keyword=cst.Name("dtype"),
        value=cst.SimpleString(float32),
        equal=cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace("")),
    )
    if not call.args:
        return call.with_changes(args=[added])
    *others, last = call.args
    trailing = last.comma if isinstance(last.comma, cst.Comma) else None
    end = trailing.whitespace_after if trailing else last.whitespace_after_arg
    bare_end = _without_comments(end)
    if trailing:
        added = added.with_changes(
            comma=trailing.with_changes(whitespace_after=bare_end)
        )
    else:
        added = added.with_changes(whitespace_after_arg=bare_end)
    changed = last.with_changes(
        comma=cst.Comma(whitespace_after=_between(call, others, end)),
        whitespace_after_arg=cst.SimpleWhitespace(""),
    )
    return call.with_changes(args=[*others, changed, added])


def _between(
    call: cst.Call,
    others: Sequence[cst.Arg],
    end: cst.BaseParenthesizableWhitespace,
) -> cst.BaseParenthesizableWhitespace:
    """Returns the space between the last argument and the new one.

    A comment behind the last argument stays there.
    """
    before = call.whitespace_before_args
    usual: cst.BaseParenthesizableWhitespace = cst.SimpleWhitespace(" ")
    if others and isinstance(others[-1].comma, cst.Comma):
        usual = others[-1].comma.whitespace_after
    elif isinstance(before, cst.ParenthesizedWhitespace):
        usual = before
    if not isinstance(end, cst.ParenthesizedWhitespace) or not _has_comment(end):
        return _without_comments(usual)
    if not isinstance(usual, cst.ParenthesizedWhitespace):
        usual = before if isinstance(before, cst.ParenthesizedWhitespace) else end
    return end.with_changes(indent=usual.indent, last_line=usual.last_line)


def _has_comment(space: cst.ParenthesizedWhitespace) -> bool:
    return bool(space.empty_lines) or space.first_line.comment is not None


def _without_comments(
    space: cst.BaseParenthesizableWhitespace,
) -> cst.BaseParenthesizableWhitespace:
    if not isinstance(space, cst.ParenthesizedWhitespace):
        return space
    line = space.first_line.with_changes(
        comment=None, whitespace=cst.SimpleWhitespace("")
    )
    return space.with_changes(first_line=line, empty_lines=())


def _usual_quote(names: Names) -> str:
    """Returns the quotation mark that the script uses most, `"` if both alike."""
    quotes = Counter(
        node.quote for node in names.nodes if isinstance(node, cst.SimpleString)
    )
    return "'" if quotes["'"] > quotes['"'] else '"'


def _quoted(text: str, quote: str) -> str:
    return repr(text) if {"'", '"', "\\"} & set(text) else f"{quote}{text}{quote}"
