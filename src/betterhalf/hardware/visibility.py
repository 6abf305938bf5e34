"""Which GPUs `CUDA_VISIBLE_DEVICES` leaves to a process.

The rules are those of the CUDA C++ Programming Guide, "CUDA Environment Variables": a
comma-separated list of numbers or of beginnings of UUIDs; what follows the first entry
that is not valid is invisible, as is everything where a device is named twice.
"""

from __future__ import annotations

import re
from collections.abc import Mapping


_UUID_PREFIXES = ("GPU-", "MIG-")
_NUMBER = re.compile(r"\s*\+?(\d+)")


def parse_visible_devices(text: str | None) -> tuple[int | str, ...] | None:
    """Returns the entries that count.

    Args:
        text: value of the variable; `None` if it is not set.

    Returns:
        Numbers, and UUIDs or their beginnings, in order; `None` for every GPU.

    Example:
        `parse_visible_devices("1,GPU-8f1,-1,0")` gives `(1, "GPU-8f1")`.
    """
    if text is None:
        return None
    entries: list[int | str] = []
    for part in text.split(","):
        entry = _parse_entry(part)
        if entry is None:
            break
        if entry in entries:
            return ()
        entries.append(entry)
    return tuple(entries)


def numbers_follow_the_bus(environ: Mapping[str, str]) -> bool:
    """Returns whether CUDA was told to count GPUs along the bus, as NVML does.

    It counts the fastest one first otherwise.
    """
    return environ.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"


def _parse_entry(part: str) -> int | str | None:
    stripped = part.strip()
    if stripped.startswith(_UUID_PREFIXES):
        return stripped
    number = _NUMBER.match(part)
    return int(number[1]) if number else None
