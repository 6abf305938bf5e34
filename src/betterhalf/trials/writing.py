"""Files that are whole or not there: written beside their place and renamed into it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from betterhalf.errors import BetterhalfError


def write_whole(path: Path, content: bytes) -> None:
    """Writes `content` to `path` so that a reader never sees a part of it.

    It is on the disk when this returns: a machine that loses power keeps it.

    Raises:
        BetterhalfError: the disk is full or cannot be written; what was there before is
            still there.
    """
    beside = path.with_name(f"{path.name}.part")
    try:
        with beside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
        _settle(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        raise BetterhalfError(
            f"Expected to write {path.name} in {path.parent}. Received: "
            f"{error.strerror or error}. Make room or permit it, then go on with "
            "--resume."
        ) from error


def _settle(folder: Path) -> None:
    """Makes the rename itself last, where the system lets a folder be opened."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
