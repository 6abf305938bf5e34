"""Records to JSON and back; the only place that does either.

JSON has no not-a-number and no infinity, and for us they are the news: they are written
as the strings `"nan"`, `"inf"` and `"-inf"` and read back as floats.
"""

from __future__ import annotations

import math
from typing import Any, TypeVar, cast

import msgspec

from betterhalf.errors import StoreError
from betterhalf.records._base import Record
from betterhalf.records.environment import Environment


T = TypeVar("T")
VERSION = 1
"""Version of every envelope that this release writes."""


class Envelope(Record, frozen=True, kw_only=True):
    """The outside of every JSON file: what it is, who wrote it, and the data."""

    kind: str
    version: int
    written_by: str
    data: Any
    environment: Environment | None = None


def encode_line(record: object) -> bytes:
    """Returns `record` as one line of JSON with a newline at its end."""
    return msgspec.json.encode(_spell_non_finite(msgspec.to_builtins(record))) + b"\n"


def decode_line(line: bytes | str, form: Any) -> Any:
    """Returns the record of type `form` that `line` holds.

    Raises:
        StoreError: `line` is not JSON or not such a record.
    """
    try:
        return msgspec.convert(msgspec.json.decode(line), form, strict=False)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise StoreError(f"expected a {_name(form)}. Received: {error}") from error


def encode_file(
    kind: str, data: object, written_by: str, environment: Environment | None = None
) -> bytes:
    """Returns an envelope with sorted keys, two-space indent and a final newline."""
    envelope = Envelope(
        kind=kind,
        version=VERSION,
        written_by=written_by,
        environment=environment,
        data=data,
    )
    plain = _spell_non_finite(msgspec.to_builtins(envelope))
    ordered = msgspec.json.encode(plain, order="sorted")
    return msgspec.json.format(ordered, indent=2) + b"\n"


def decode_file(content: bytes, kind: str, form: type[T], where: str) -> T:
    """Returns the data of an envelope.

    Args:
        content: bytes of the file.
        kind: kind that is expected, such as `trial`.
        form: type of its data.
        where: how to call the file in an error.

    Raises:
        StoreError: not an envelope, of another kind, damaged, or from a newer release.
    """
    envelope = _envelope(content, where)
    if envelope.kind != kind:
        raise StoreError(
            f"{where}: expected a record of kind '{kind}'. Received: '{envelope.kind}'."
        )
    try:
        return msgspec.convert(envelope.data, form, strict=False)
    except msgspec.MsgspecError as error:
        raise StoreError(
            f"{where}: damaged record of kind '{kind}'. Received: {error}"
        ) from error


def read_kind(content: bytes, where: str) -> str:
    """Returns the kind of the record in `content`, or raises `StoreError`."""
    return _envelope(content, where).kind


def read_environment(content: bytes, where: str) -> Environment | None:
    """Returns the environment beside the data, or raises `StoreError`."""
    return _envelope(content, where).environment


def _envelope(content: bytes, where: str) -> Envelope:
    try:
        envelope = msgspec.json.decode(content, type=Envelope)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise StoreError(
            f"{where}: expected a record of betterhalf. Received: {error}"
        ) from error
    if envelope.version > VERSION:
        raise StoreError(
            f"{where}: written by a newer release ({envelope.written_by}, format "
            f"{envelope.version}); this one reads formats up to {VERSION}. "
            "Upgrade betterhalf."
        )
    return envelope


def _spell_non_finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value).items()
        return {key: _spell_non_finite(item) for key, item in items}
    if isinstance(value, list | tuple):
        return [_spell_non_finite(item) for item in cast("list[Any]", value)]
    return value


def _name(form: Any) -> str:
    return getattr(form, "__name__", "record")
