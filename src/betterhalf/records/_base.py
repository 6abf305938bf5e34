"""The base of every record."""

from __future__ import annotations

import msgspec


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A frozen struct whose fields are listed once and read by the codec.

    A float field may hold not-a-number or an infinity; `betterhalf.records.codec` keeps
    them through JSON. For that reason no field may be `float | str`.
    """
