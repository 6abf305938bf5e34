"""Prints what rules get to see of a program, and what they find in it.

    KERAS_BACKEND=jax python tools/show_facts.py program.py [POLICY]

The program runs up to its first training step in this process.
"""

from __future__ import annotations

import dataclasses
import sys
import tempfile
from pathlib import Path

from rich import print as show


sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "rules"))


def main() -> int:
    """Shows each layer, then everything else, and returns the exit code."""
    from running_examples import view_of  # noqa: PLC0415 (it imports keras)

    from betterhalf.auditing.running import run_rules  # noqa: PLC0415

    program, *policy = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / Path(program).name
        view = view_of(Path(program).read_text("utf-8"), copy, *policy)
    for layer in view.layers:
        show(dataclasses.replace(layer, code=None))
    show(dataclasses.replace(view, layers=(), script=None))
    audit = run_rules(view)
    for each in (*audit.skipped, *audit.findings):
        show(each)
    return 0


if __name__ == "__main__":
    sys.exit(main())
