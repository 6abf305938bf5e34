"""Output that survives a stream with a small encoding, such as ASCII or cp1252."""

from __future__ import annotations

import codecs
from typing import TextIO


_PLAIN = {"…": "...", "−": "-", "·": "-", "×": "x", "∞": "inf", "µ": "u", "\xa0": " "}
_HANDLER = "betterhalf.plain"


def make_tolerant(stream: TextIO) -> None:
    """Makes `stream` write a look-alike for what its encoding does not have.

    Args:
        stream: such as `sys.stdout`; one that cannot be set up is left as it is.
    """
    codecs.register_error(_HANDLER, _replace)
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors=_HANDLER)


def _replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(_PLAIN.get(one, "?") for one in missing), error.end
