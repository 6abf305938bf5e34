from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betterhalf.hardware.visibility import parse_visible_devices


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        (None, None),
        ("", ()),
        ("-1", ()),
        ("NoDevFiles", ()),
        ("0", (0,)),
        ("2,0", (2, 0)),
        (" 1 , 0 ", (1, 0)),
        ("0,-1,1", (0,)),
        ("0,,1", (0,)),
        ("0,0", ()),
        ("GPU-8f1,1", ("GPU-8f1", 1)),
        ("MIG-GPU-8f1/7/0", ("MIG-GPU-8f1/7/0",)),
        ("gpu0", ()),
    ],
)
def test_entries_count_as_cuda_counts_them(text, entries):
    assert parse_visible_devices(text) == entries


@given(st.lists(st.integers(0, 15), unique=True))
def test_a_list_of_numbers_is_read_back(numbers):
    assert parse_visible_devices(",".join(map(str, numbers))) == tuple(numbers)


@given(st.text())
def test_no_text_breaks_it(text):
    entries = parse_visible_devices(text)
    assert entries is not None
    assert len(set(entries)) == len(entries)
