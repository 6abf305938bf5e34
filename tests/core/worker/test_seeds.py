"""Seeds are replaced where a script sets them for the whole process, and only there."""

import random

from hypothesis import given
from hypothesis import strategies as st

from betterhalf.records.codec import decode_line
from betterhalf.records.events import Event
from betterhalf.records.instructions import Instructions
from betterhalf.worker.seeds import replace_seeds, seed_for_block
from betterhalf.worker.writing import EventWriter


@given(st.integers(0, 2**32 - 1), st.integers(1, 100))
def test_a_replaced_seed_is_one_that_every_library_takes(seed, block):
    assert 0 <= seed_for_block(seed, block) < 2**31


@given(st.integers(), st.integers(1, 50))
def test_the_same_seed_and_block_give_the_same_seed(seed, block):
    assert seed_for_block(seed, block) == seed_for_block(seed, block)


def test_blocks_differ_and_the_first_keeps_the_seed():
    seeds = [seed_for_block(42, block) for block in range(100)]
    assert seeds[0] == 42
    assert len(set(seeds)) == 100


def _instructions(tmp_path, **options):
    return Instructions(
        policy="float32",
        backend=None,
        events=str(tmp_path / "events.jsonl"),
        folder=str(tmp_path),
        **options,
    )


def _events(tmp_path):
    lines = (tmp_path / "events.jsonl").read_bytes().splitlines()
    return [decode_line(line, Event) for line in lines]


def test_a_global_seed_is_replaced_and_noted_once(tmp_path, monkeypatch):
    monkeypatch.setattr(random, "seed", random.seed)
    instructions = _instructions(tmp_path, block=2)
    replace_seeds(instructions, EventWriter(instructions.events))
    random.seed(7)
    first = random.random()
    random.seed(7)
    assert random.random() == first
    assert random.Random(seed_for_block(7, 2)).random() == first
    assert [event.note.code for event in _events(tmp_path)] == ["seed-replaced"]


def test_a_seed_of_the_clock_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(random, "seed", random.seed)
    instructions = _instructions(tmp_path, block=2)
    replace_seeds(instructions, EventWriter(instructions.events))
    random.seed()
    random.seed("words")
    assert _events(tmp_path) == []


def test_block_zero_and_kept_seeds_change_nothing(tmp_path):
    before = random.seed
    for options in ({"block": 0}, {"block": 3, "keep_seeds": True}):
        instructions = _instructions(tmp_path, **options)
        replace_seeds(instructions, EventWriter(instructions.events))
        assert random.seed is before
