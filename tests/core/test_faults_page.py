"""The page of faults names tests that exist, so that it cannot drift from them."""

import re
from pathlib import Path


ROOT = Path(__file__).parents[2]
LINES = (ROOT / "docs" / "faults.md").read_text("utf-8").splitlines()
ROWS = [line for line in LINES if re.fullmatch(r"\| .* \| `[a-z0-9_]+` \|", line)]


def test_at_least_fifty_faults_have_a_row_of_their_own():
    faults = [tuple(row.split(" | ")[:2]) for row in ROWS]
    assert len(set(faults)) == len(faults) >= 50
    headings = sum(line.startswith("| fault |") for line in LINES)
    assert len(ROWS) == sum(line.startswith("|") for line in LINES) - 2 * headings


def test_every_fault_has_a_test_that_exists():
    sources = [path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    there = set(re.findall(r"^def test_(\w+)\(", "\n".join(sources), re.MULTILINE))
    named = {row.rsplit("`", 2)[1] for row in ROWS}
    assert named - there == set()
