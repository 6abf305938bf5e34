"""Comments in the user's source that take findings back, each with its reason."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import Path


_COMMENT = re.compile(
    r"#\s*betterhalf:\s*ignore(?:\[(?P<codes>[^\]]*)\])?[\s:]*(?P<reason>.*)"
)
_ALL = "BH"


class CommentsIn(Mapping[tuple[str, int], Mapping[str, str]]):
    """The ignored codes of a file and a line, read when they are first asked for.

    A comment counts for its own line; one that stands alone also for the next line of
    code. Without a reason it does not count.

    Args:
        folder: that names of files are relative to.

    Example:

    >>> CommentsIn(Path.cwd()).get(("train.py", 12), {})
    {'BH203': 'ids stay below 100'}
    """

    def __init__(self, folder: Path):
        self._folder = folder
        self._files: dict[str, dict[int, dict[str, str]]] = {}

    def __getitem__(self, place: tuple[str, int]) -> Mapping[str, str]:
        file, line = place
        if file not in self._files:
            self._files[file] = self._read(file)
        return self._files[file][line]

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return ((file, line) for file, lines in self._files.items() for line in lines)

    def __len__(self) -> int:
        return sum(map(len, self._files.values()))

    def _read(self, file: str) -> dict[int, dict[str, str]]:
        try:
            source = (self._folder / file).read_bytes()
        except OSError:
            return {}
        return read_comments(source) if file else {}


def read_comments(source: bytes) -> dict[int, dict[str, str]]:
    """Returns the reason of each ignored code, by line; `BH` stands for every code.

    Args:
        source: of a Python file; what cannot be read as such has no comments.
    """
    found: dict[int, dict[str, str]] = {}
    waiting: dict[str, str] = {}
    try:
        for token in tokenize.tokenize(io.BytesIO(source).readline):
            if token.type == tokenize.COMMENT:
                codes = _codes_of(token.string)
                found.setdefault(token.start[0], {}).update(codes)
                if not token.line[: token.start[1]].strip():
                    waiting.update(codes)
            elif token.type not in _BLANK and waiting:
                found.setdefault(token.start[0], {}).update(waiting)
                waiting = {}
    except (tokenize.TokenError, SyntaxError, ValueError):
        pass  # what was read so far counts
    return {line: codes for line, codes in found.items() if codes}


_BLANK = (
    *(tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENCODING, tokenize.ENDMARKER),
)


def _codes_of(comment: str) -> dict[str, str]:
    match = _COMMENT.search(comment)
    if match is None or not match["reason"].strip():
        return {}
    codes = [code.strip() for code in (match["codes"] or _ALL).split(",")]
    return {code: match["reason"].strip() for code in codes if code}
