"""The end of a trial's log as a person would read it, with no path that tells tales.

A log may be gigabytes, hold bytes that are no text, and be full of progress bars that
write over themselves: only its end is read, and only what a terminal would still show
is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final, final


TAIL_BYTES: Final = 65536
"""Read from the end of a log: a thousand lines, and nothing beside a gigabyte."""
TAIL_LINES: Final = 30
LINE_LENGTH: Final = 500

_ESCAPES: Final = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|.)"
)
"""Control sequences of terminals (ECMA-48), and titles that end with a bell."""
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def read_end(log: Path) -> str:
    """Returns the last `TAIL_BYTES` of `log` as text, without control characters.

    What is no UTF-8 becomes U+FFFD. Empty if there is no log.
    """
    try:
        with log.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - TAIL_BYTES))
            content = file.read(TAIL_BYTES)
    except OSError:
        return ""
    text = _ESCAPES.sub("", content.decode("utf-8", "replace"))
    return "\n".join(_as_shown(line) for line in text.split("\n"))


def take_tail(text: str) -> str:
    """Returns the last lines of `text`, at most `TAIL_LINES`, long ones cut."""
    lines = text.rstrip().split("\n")[-TAIL_LINES:]
    return "\n".join(
        line if len(line) <= LINE_LENGTH else f"…{line[-LINE_LENGTH:]}"
        for line in lines
    )


@final
class Shortener:
    """Shows the working directory as `.` and the home as `~` in a text.

    ```python
    Shortener(Path("/home/ada/lab"), Path("/home/ada")).shorten(
        'File "/home/ada/lab/train.py"'
    )  # 'File "./train.py"'
    ```
    """

    def __init__(self, folder: Path, home: Path) -> None:
        places = [*_spell(folder, "."), *_spell(home, "~")]
        # the longer first: a working directory often lies in the home
        places.sort(key=lambda place: len(place[0]), reverse=True)
        self._places = [
            (re.compile(rf"(?<![\w.\-]){re.escape(path)}(?![\w\-]|\.\w)"), short)
            for path, short in places
        ]

    def shorten(self, text: str) -> str:
        """Returns `text` with shortened paths."""
        for path, short in self._places:
            text = path.sub(lambda _, short=short: short, text)
        return text


def _spell(path: Path, short: str) -> Iterable[tuple[str, str]]:
    """Yields the path as given and with its links followed; a root is none to hide."""
    for spelling in {path.absolute(), path.resolve()}:
        if len(spelling.parts) > 1:
            yield str(spelling), short


def _as_shown(line: str) -> str:
    """Returns what a terminal would show of a line that was written over."""
    parts = (_CONTROLS.sub("", part) for part in reversed(line.split("\r")))
    return next((part for part in parts if part.strip()), "")
