"""`python -m betterhalf`, for where the command is not on the path."""

from __future__ import annotations

import sys

from betterhalf.cli import main


if __name__ == "__main__":
    sys.exit(main())
