"""The child: runs beside the user's script in its process and tells what it sees.

The process is started as the user would start it; a hook on `PYTHONPATH` (see `hook/`)
calls `start` before the first line of the script.
"""

from __future__ import annotations

from pathlib import Path


def hook_folder() -> str:
    """Returns the folder that puts the watcher into a Python process.

    It goes to the head of `PYTHONPATH`, beside `BETTERHALF_INSTRUCTIONS` with the path
    of the instructions (see `records.instructions`).
    """
    return str(Path(__file__).parent / "hook")
