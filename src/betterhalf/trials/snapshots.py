"""Which files of the working directory changed during a trial.

What a trial leaves there, the next one may read: trials that feed each other are not
independent. Only the top is looked at, and never more than a bounded number of entries:
a working directory may hold a data set.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final


MOST_ENTRIES: Final = 5000
MOST_LISTED: Final = 50
_IGNORED: Final = frozenset({".betterhalf", ".git", "__pycache__"})

Snapshot = dict[str, tuple[int, int]]
"""Relative path of a file to its time of change in ns and its size in bytes."""


def take_snapshot(folder: Path, apart_from: Path) -> Snapshot:
    """Returns the files in `folder` and in the folders in it.

    Args:
        folder: working directory.
        apart_from: the run store, wherever it is.
    """
    snapshot: Snapshot = {}
    for seen, entry in enumerate(_walk(folder, apart_from.resolve())):
        if seen >= MOST_ENTRIES:
            break
        try:
            if entry.is_file(follow_symlinks=False):
                status = entry.stat(follow_symlinks=False)
                path = Path(entry.path).relative_to(folder).as_posix()
                snapshot[path] = (status.st_mtime_ns, status.st_size)
        except OSError:  # gone in the meantime
            continue
    return snapshot


def list_changes(before: Snapshot, after: Snapshot) -> tuple[str, ...]:
    """Returns the files that came, went or changed, sorted, at most `MOST_LISTED`.

    Where a snapshot reached its bound, files that it may not have come to do not count.
    """
    if max(len(before), len(after)) >= MOST_ENTRIES:
        both = before.keys() & after.keys()
        changed = {path for path in both if before[path] != after[path]}
    else:
        changed = {path for path, _ in before.items() ^ after.items()}
    return tuple(sorted(changed)[:MOST_LISTED])


def _walk(folder: Path, apart_from: Path) -> Iterator[os.DirEntry[str]]:
    inner: list[str] = []
    for entry in _scan(folder):
        yield entry
        if (
            entry.name not in _IGNORED
            and entry.is_dir(follow_symlinks=False)
            and Path(entry.path).resolve() != apart_from
        ):
            inner.append(entry.path)
    for path in inner:
        yield from _scan(Path(path))


def _scan(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []
