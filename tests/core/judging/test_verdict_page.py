from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest


ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "verdict.md"
CAVEATS = ROOT / "src" / "betterhalf" / "judging" / "caveats"


def _codes_in_source():
    text = "\n".join(path.read_text("utf-8") for path in CAVEATS.glob("*.py"))
    promoted = re.search(r"PROMOTED_NOTES = \((.*)\)", text)
    return set(re.findall(r'code="([a-z0-9-]+)"', text)) | set(
        re.findall(r'"([a-z0-9-]+)"', promoted[1])
    )


def test_the_page_explains_every_caveat_and_invents_none():
    table = PAGE.read_text("utf-8").split("## Caveats")[1].split("\n## ")[0]
    heads = [line.split("|")[1] for line in table.splitlines() if line.startswith("|")]
    explained = {code for head in heads for code in re.findall("`([a-z0-9-]+)`", head)}
    assert explained == _codes_in_source()


@pytest.mark.long
def test_the_tables_on_the_page_are_those_of_the_benchmark():
    printed = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "power.py")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    page = PAGE.read_text("utf-8")
    for block in printed.split("\n\n"):
        if block.startswith("|"):
            assert block.strip() in page
