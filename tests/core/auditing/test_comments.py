"""Comments that take findings back."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from betterhalf.auditing.comments import CommentsIn, read_comments


def test_a_comment_counts_for_its_own_line():
    found = read_comments(b"a = 1\nb = 2  # betterhalf: ignore[BH203] ids are small\n")
    assert found == {2: {"BH203": "ids are small"}}


def test_a_comment_that_stands_alone_counts_for_the_next_line_of_code():
    source = b"# betterhalf: ignore[BH203, BH2] small\n\n# more\nmodel = make()\n"
    assert read_comments(source)[4] == {"BH203": "small", "BH2": "small"}


def test_without_codes_it_stands_for_all_rules():
    assert read_comments(b"f()  # betterhalf: ignore a toy\n") == {1: {"BH": "a toy"}}


def test_without_a_reason_it_does_not_count():
    assert read_comments(b"f()  # betterhalf: ignore[BH203]\n") == {}
    assert read_comments(b"f()  # betterhalf: ignore\n") == {}


def test_what_only_looks_like_a_comment_does_not_count():
    assert read_comments(b"f('# betterhalf: ignore[BH203] why')\n") == {}


@given(st.binary(max_size=200))
def test_whatever_a_file_holds_reading_it_does_not_fail(content):
    read_comments(content)


def test_files_are_read_when_they_are_asked_for(tmp_path: Path):
    (tmp_path / "train.py").write_text("f()  # betterhalf: ignore[BH203] why\n")
    comments = CommentsIn(tmp_path)
    assert comments.get(("train.py", 1)) == {"BH203": "why"}
    assert comments.get(("train.py", 2)) is None
    assert comments.get(("gone.py", 1)) is None
    assert comments.get(("", 0)) is None
