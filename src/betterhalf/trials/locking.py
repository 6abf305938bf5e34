"""One experiment at a time in a run store.

The lock is the system's, on a file that is open: it is gone when its owner is, however
the owner ended, so a lock that was left by a killed experiment is never in the way.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from betterhalf.errors import UsageError


_NOT_HERE = {errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK, errno.EINVAL}
"""What a file system answers that knows no locks: better no lock than no experiment."""


@contextlib.contextmanager
def lock(path: Path) -> Iterator[None]:
    """Holds the lock at `path`, which is removed at the end.

    Raises:
        UsageError: another experiment holds it, or the folder cannot be written.
    """
    handle = _take(path)
    try:
        yield
    finally:
        # while it is held: later it could be another one's; Windows keeps open files
        with contextlib.suppress(OSError):
            path.unlink()
        os.close(handle)


def _take(path: Path) -> int:
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise UsageError(
                f"Expected a folder that can be written. Received: '{path.parent}' "
                f"({error.strerror}). Choose another with --out."
            ) from error
        try:
            _lock_file(handle)
        except OSError as error:
            if error.errno not in _NOT_HERE:
                os.close(handle)
                raise UsageError(
                    "Expected a run store that no other experiment is writing to. "
                    f"Received: '{path.parent}'. Wait for the other one to end, or "
                    "choose another --out."
                ) from error
        if _is_still_there(path, handle):
            return handle
        os.close(handle)


if sys.platform == "win32":
    import msvcrt

    def _lock_file(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock_file(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _is_still_there(path: Path, handle: int) -> bool:
    """Tells whether the owner before has not removed the file in the meantime."""
    with contextlib.suppress(OSError):
        return os.path.samestat(path.stat(), os.fstat(handle))
    return False
