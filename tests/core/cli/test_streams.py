from __future__ import annotations

import io

import pytest

from betterhalf.cli._streams import make_tolerant


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_no_encoding_makes_a_figure_fail(encoding: str) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    make_tolerant(stream)
    stream.write("1.55 [−0.2 … 1.58] 漢")
    stream.flush()
    text = raw.getvalue().decode(encoding)
    assert text.replace("−", "-").replace("…", "...").startswith("1.55 [-0.2 ... 1.58]")


def test_a_stream_that_cannot_be_set_up_is_left_alone() -> None:
    make_tolerant(io.StringIO())
