from __future__ import annotations

import unicodedata
from types import SimpleNamespace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betterhalf.records.result import VerdictWord
from betterhalf.reporting import words


@given(st.text())
def test_printable_text_cannot_steer_a_terminal(text: str) -> None:
    kept = words.printable(text)
    assert all(
        char in "\t\n" or unicodedata.category(char) not in {"Cc", "Cs"}
        for char in kept
    )
    assert not set(kept) & set("\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u2069")


@given(st.text(st.characters(codec="utf-8")))
def test_a_line_is_one_line_and_keeps_its_words(text: str) -> None:
    line = words.one_line(text)
    assert len(line.splitlines()) <= 1
    assert line.split() == words.printable(text).split()


def test_counts_and_lists_read_as_a_person_writes_them() -> None:
    assert words.counted(1, "trial") == "1 trial"
    assert words.counted(1200, "step") == "1,200 steps"
    assert words.listed(["a"]) == "a"
    assert words.listed(["a", "b", "c"]) == "a, b and c"


def test_every_verdict_has_a_word() -> None:
    assert set(words.VERDICTS) == set(get_args(VerdictWord))


@pytest.mark.parametrize(
    ("verdict", "sentence", "said"),
    [
        ("keep", "It is fast. KEEP.", "It is fast. KEEP."),
        ("keep", "It is fast.", "It is fast. KEEP."),
        ("revert", "It is slow. REVERT, on speed.", "It is slow. REVERT, on speed."),
        ("speed-only", "It is fast. SPEED-ONLY.", "It is fast. SPEED-ONLY."),
        ("speed-only", "It is fast.", "It is fast. SPEED ONLY."),
        (
            "keep-for-memory",
            "It is small. KEEP FOR MEMORY.",
            "It is small. KEEP FOR MEMORY.",
        ),
        ("inconclusive", "", "INCONCLUSIVE."),
    ],
)
def test_a_conclusion_ends_with_its_verdict_once(
    make: SimpleNamespace, verdict: str, sentence: str, said: str
) -> None:
    arm = make.arm_result("mixed_bfloat16", verdict=verdict, sentence=sentence)
    assert words.conclusion(arm) == said


def test_the_best_arm_is_that_of_the_best_verdict(make: SimpleNamespace) -> None:
    fast = make.arm_result("mixed_bfloat16", verdict="inconclusive")
    kept = make.arm_result("mixed_float16", verdict="keep")
    assert words.best_arm([make.arm_result("float32"), fast, kept]) is kept


def test_among_equal_verdicts_the_fastest_arm_is_best(make: SimpleNamespace) -> None:
    slow = make.arm_result("mixed_float16", verdict="keep")
    fast = make.arm_result("mixed_bfloat16", verdict="keep")
    bare = make.arm_result("mixed_bfloat16", verdict="keep", speedup=None)
    assert words.best_arm([bare, slow, fast]) is fast


def test_a_reference_alone_leaves_no_best_arm(make: SimpleNamespace) -> None:
    assert words.best_arm([make.arm_result("float32")]) is None


def test_the_end_of_a_trial_carries_its_reason(make: SimpleNamespace) -> None:
    failed = make.failed_trial("float32", 1, "ValueError: no\nlayer")
    assert words.describe_end(failed) == "crashed: ValueError: no layer"
    assert words.describe_end(make.trial("float32", 1)) == "finished"
    late = make.trial("float32", 1, outcome="timed-out")
    assert words.describe_end(late) == "timed out"


def test_a_removed_line_of_dashes_is_not_taken_for_the_head_of_a_diff() -> None:
    diff = "--- a.py\n+++ a.py\n@@ -1,2 +1,2 @@\n--- rule\n+++ rule\n same"
    kinds = [kind for kind, _ in words.classify_diff(diff)]
    assert kinds == ["head", "head", "head", "take", "add", "same"]
