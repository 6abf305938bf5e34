"""The base of every record."""

from __future__ import annotations

import msgspec


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A frozen struct whose fields are listed once and read by the codec.

    Every record repeats `frozen=True, kw_only=True`: type checkers ask for the first,
    and msgspec applies the second to a class's own fields alone.

    A float field may hold not-a-number or an infinity; `betterhalf.records.codec` keeps
    them through JSON. For that reason no field may be `float | str`.
    """
