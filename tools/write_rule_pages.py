"""Writes `docs/rules/`: a page for each rule, and the list of all of them.

`--check` writes nothing and fails if a page would change.
"""

from __future__ import annotations

import sys
from pathlib import Path

from betterhalf.auditing.pages import write_index, write_page
from betterhalf.auditing.registry import all_rules


FOLDER = Path(__file__).parents[1] / "docs" / "rules"


def main() -> int:
    """Writes or checks the pages and returns the exit code."""
    pages = {f"{rule.name}.md": write_page(rule) for rule in all_rules()}
    pages["index.md"] = write_index(all_rules())
    there = {path.name for path in FOLDER.glob("*.md")}
    stale = sorted(
        name
        for name in there | set(pages)
        if name not in there
        or name not in pages
        or (FOLDER / name).read_text("utf-8") != pages[name]
    )
    if "--check" in sys.argv[1:]:
        if stale:
            print(f"stale: {', '.join(stale)}. Run python tools/write_rule_pages.py.")
        return 1 if stale else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in stale:
        if name in pages:
            (FOLDER / name).write_text(pages[name], "utf-8")
        else:
            (FOLDER / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
