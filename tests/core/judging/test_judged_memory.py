from __future__ import annotations

import pytest
from msgspec import structs

from betterhalf.judging.memory import compare_memory, saves_memory
from betterhalf.records.plan import Limits
from betterhalf.records.training import Memory


def _trials(lab, peaks, kind="device"):
    trials = lab.shorts("float32", [1.0] * len(peaks))
    return [
        structs.replace(trial, memory=Memory(peak_bytes=peak, kind=kind))
        for trial, peak in zip(trials, peaks, strict=True)
    ]


def test_the_ratio_is_the_least_saving_of_any_pair(lab):
    memory = compare_memory(_trials(lab, [500, 620]), _trials(lab, [1000, 2000]))
    assert memory.peak_bytes == 620
    assert memory.ratio == 0.62


@pytest.mark.parametrize(
    ("peak", "kind", "saves"),
    [(900, "device", True), (901, "device", False), (100, "resident", False)],
)
def test_a_tenth_of_the_device_memory_counts(lab, peak, kind, saves):
    memory = compare_memory(_trials(lab, [peak], kind), _trials(lab, [1000], kind))
    assert saves_memory(memory, Limits()) is saves


def test_unmeasured_memory_saves_nothing(lab):
    assert compare_memory(lab.shorts("float32", [1.0]), _trials(lab, [1000])) is None
    assert not saves_memory(None, Limits())
    alone = compare_memory(_trials(lab, [100]), [])
    assert alone.ratio is None
    assert not saves_memory(alone, Limits())


def test_kinds_are_never_compared_with_each_other(lab):
    memory = compare_memory(
        _trials(lab, [100], "device"), _trials(lab, [1000], "resident")
    )
    assert memory.ratio is None


def test_the_compiled_steps_are_compared_where_the_compiler_told(lab):
    def trials(compiled):
        seen = Memory(peak_bytes=100, kind="resident", compiled_bytes=compiled)
        return [structs.replace(lab.shorts("float32", [1.0])[0], memory=seen)]

    memory = compare_memory(trials(600), trials(1000))
    assert (memory.compiled_bytes, memory.compiled_ratio) == (600, 0.6)
    assert compare_memory(trials(600), trials(None)).compiled_ratio is None
    assert not saves_memory(memory, Limits()), "the compiler's word decides nothing"
