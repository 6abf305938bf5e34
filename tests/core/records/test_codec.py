"""Every record goes through JSON and comes back as it was, NaN and infinity too."""

import math

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from betterhalf.errors import StoreError
from betterhalf.records import codec, events
from betterhalf.records.plan import Plan
from betterhalf.records.result import Result
from betterhalf.records.training import Window
from betterhalf.records.trial import Trial


FLOATS = st.floats(allow_nan=True, allow_infinity=True)


def _strategy(form):
    """Builds values of a msgspec type from its description."""
    kind = msgspec.inspect.type_info(form) if isinstance(form, type) else form
    simple = {
        msgspec.inspect.FloatType: FLOATS,
        msgspec.inspect.IntType: st.integers(-(2**53), 2**53),
        msgspec.inspect.BoolType: st.booleans(),
        msgspec.inspect.NoneType: st.none(),
        msgspec.inspect.StrType: st.text(max_size=8),
    }
    if type(kind) in simple:
        return simple[type(kind)]
    if isinstance(kind, msgspec.inspect.LiteralType):
        return st.sampled_from(kind.values)
    if isinstance(kind, msgspec.inspect.UnionType):
        return st.one_of([_strategy(each) for each in kind.types])
    if isinstance(kind, msgspec.inspect.VarTupleType):
        return st.lists(_strategy(kind.item_type), max_size=2).map(tuple)
    if isinstance(kind, msgspec.inspect.DictType):
        return st.dictionaries(
            st.text(max_size=4), _strategy(kind.value_type), max_size=2
        )
    assert isinstance(kind, msgspec.inspect.StructType), kind
    return st.builds(
        kind.cls, **{field.name: _strategy(field.type) for field in kind.fields}
    )


def _same(one, other):
    """Equality in which NaN equals itself and an integral float its integer."""
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return one == other


def _plain(record):
    return msgspec.to_builtins(record)


@pytest.mark.parametrize("form", [Trial, Plan, Result])
def test_a_file_reads_back_as_it_was_written(form):
    @settings(max_examples=15, deadline=None)
    @given(_strategy(form))
    def check(record):
        content = codec.encode_file("any", record, "betterhalf 0")
        again = codec.decode_file(content, "any", form, "here")
        assert _same(_plain(record), _plain(again))
        assert codec.encode_file("any", again, "betterhalf 0") == content

    check()


@pytest.mark.parametrize("form", events.Event.__args__)
def test_an_event_reads_back_as_it_was_written(form):
    @settings(max_examples=10, deadline=None)
    @given(_strategy(form))
    def check(event):
        line = codec.encode_line(event)
        assert line.count(b"\n") == 1
        assert _same(_plain(event), _plain(codec.decode_line(line, events.Event)))

    check()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_non_finite_float_survives(value):
    window = Window(epoch=0, steps=1, seconds=value, steady=True)
    again = codec.decode_line(codec.encode_line(window), Window)
    assert repr(again.seconds) == repr(value)


def test_a_newer_format_is_refused_by_name():
    content = codec.encode_file("trial", {}, "betterhalf 9.0")
    newer = content.replace(b'"version": 1', b'"version": 2')
    with pytest.raises(StoreError, match=r"newer release \(betterhalf 9.0, format 2\)"):
        codec.decode_file(newer, "trial", dict, "x.json")


def test_another_kind_is_refused_by_name():
    content = codec.encode_file("plan", {}, "betterhalf 0")
    with pytest.raises(StoreError, match="expected a record of kind 'trial'"):
        codec.decode_file(content, "trial", dict, "x.json")


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b'{"kind": 3}'])
def test_what_is_no_record_is_refused_with_the_name_of_the_file(content):
    with pytest.raises(StoreError, match=r"x\.json"):
        codec.read_kind(content, "x.json")


def test_keys_are_sorted_and_the_file_ends_with_a_newline():
    content = codec.encode_file("any", {"b": 1, "a": 2}, "betterhalf 0")
    assert content.endswith(b"}\n")
    assert content.index(b'"a"') < content.index(b'"b"')
