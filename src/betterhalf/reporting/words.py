"""The words of every report: verdicts, counts, and text that others wrote.

Names of layers, messages of exceptions and lines of logs come from the user's script.
They may hold anything; `printable` makes them safe for a terminal, and each format
escapes what is special to it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Iterable

    from betterhalf.records.result import ArmResult, VerdictWord
    from betterhalf.records.trial import Trial


VERDICTS: dict[VerdictWord, str] = {
    "keep": "KEEP",
    "keep-for-memory": "KEEP FOR MEMORY",
    "speed-only": "SPEED ONLY",
    "inconclusive": "INCONCLUSIVE",
    "revert": "REVERT",
    "reference": "reference",
}
"""How a verdict is written; the best comes first, the reference takes no part."""

MEANINGS: dict[VerdictWord, str] = {
    "keep": "faster, and not less accurate than the margin allows",
    "keep-for-memory": "as fast, not less accurate, and saves device memory",
    "speed-only": "speed alone was asked for; accuracy was not judged",
    "inconclusive": "the interval crosses a limit; more trials would decide",
    "revert": "not worth it, or less accurate, or it diverged",
    "reference": "what the others are compared with",
}
"""What a verdict means, in a line."""

_ENDS = {
    "out-of-memory": "ran out of memory",
    "timed-out": "timed out",
    "interrupted": "was interrupted",
}
_RANKS = tuple(VERDICTS)
_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)
_SURROGATE = re.compile("[\ud800-\udfff]")


def printable(text: str) -> str:
    """Returns `text` without what would steer a terminal or hide its reading order.

    Control characters but tab and line feed, and the marks that reverse the direction
    of writing, become the replacement character, U+FFFD.
    """
    cleaned = _CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))
    return _SURROGATE.sub("\ufffd", cleaned)


def one_line(text: str) -> str:
    """Returns `text` printable and on one line."""
    return " ".join(printable(text).split())


def counted(count: int, noun: str) -> str:
    """Returns a count with its noun: `1 trial`, `3 trials`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def listed(items: Iterable[str]) -> str:
    """Returns items as a person would list them: `a, b and c`."""
    *rest, last = items
    return f"{', '.join(rest)} and {last}" if rest else last


def describe_end(trial: Trial) -> str:
    """Returns how a trial ended, with the reason where there is one.

    Such as `finished` or `crashed: ValueError: no such layer`.
    """
    word = _ENDS.get(trial.outcome, trial.outcome)
    return one_line(f"{word}: {trial.failure.message}") if trial.failure else word


def classify_diff(diff: str) -> list[tuple[str, str]]:
    """Returns each line of a unified diff with its kind: head, add, take or same.

    Args:
        diff: without its final newline.
    """
    lines = diff.split("\n")
    begins = next((at for at, line in enumerate(lines) if line.startswith("@@")), 0)
    kinds = {"+": "add", "-": "take", "@": "head"}
    return [
        ("head" if at < begins else kinds.get(line[:1], "same"), line)
        for at, line in enumerate(lines)
    ]


def conclusion(arm: ArmResult) -> str:
    """Returns what is said of an arm, with its verdict at the end."""
    sentence = one_line(arm.sentence)
    word = VERDICTS[arm.verdict]
    spelled = word.replace(" ", "[ -]")
    if arm.verdict == "reference" or re.search(
        rf"(^|\. ){spelled}\b[^.]*\.?$", sentence
    ):
        return sentence
    return f"{sentence} {word}.".strip()


def best_arm(arms: Iterable[ArmResult]) -> ArmResult | None:
    """Returns the arm that a reader wants to hear of, or `None` without any.

    The best verdict comes first, then the highest speed-up; the reference never does.
    """
    judged = [arm for arm in arms if arm.verdict != "reference"]
    return min(judged, key=_rank) if judged else None


def _rank(arm: ArmResult) -> tuple[int, float]:
    speedup = arm.speedup.estimate if arm.speedup else 0.0
    return _RANKS.index(arm.verdict), -speedup
