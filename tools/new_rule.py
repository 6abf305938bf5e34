"""Makes a rule: its file, its case file and its line in the list of codes.

    python tools/new_rule.py 2 huge-activations

What it writes passes the tests of the catalogue but for what only the author knows:
the check, the page and the cases. The code is the next free one of the family.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from betterhalf.auditing.pages import FAMILIES


ROOT = Path(__file__).parents[1]
RULES = ROOT / "src" / "betterhalf" / "auditing" / "rules"
CASES = ROOT / "tests" / "rules" / "cases"

RULE = '''"""{code}: TODO in a few words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

from betterhalf.auditing.rule import Rule
from betterhalf.auditing.view import ModelView
from betterhalf.records.audit import Finding


@final
class {kind}(Rule):
    """## What it does
    Finds TODO.

    ## Why is this bad?
    TODO.

    ## Known problems
    None.

    ## Example
    ```python
    import keras
    ```

    ## Use instead
    ```python
    import keras

    keras.config.set_dtype_policy("mixed_bfloat16")
    ```

    ## References
    - TODO
    """

    code = "{code}"
    name = "{name}"
    severity = "warning"
    since = "0.1.0"
    kinds = ()
    hint = "TODO"
    cost = "TODO"

    def check(self, view: ModelView) -> Iterator[Finding]:
        """Yields a finding for each TODO."""
        raise NotImplementedError
'''

CASE = """from betterhalf.auditing.view import ModelView


FOUND = {}
SILENT = {"nothing is there": ModelView()}
"""


def main() -> int:
    """Writes the files and returns the exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("family", choices=FAMILIES)
    parser.add_argument("name", help="the bad pattern, such as huge-activations")
    given = parser.parse_args()
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", given.name):
        parser.error(f"expected a name such as huge-activations, got {given.name!r}")
    stem = given.name.replace("-", "_")
    rule, case = RULES / f"{stem}.py", CASES / f"{stem}.py"
    if rule.exists() or case.exists():
        parser.error(f"{given.name} exists already")
    codes = RULES / "codes.txt"
    lines = codes.read_text("utf-8").splitlines()
    code = next_code(given.family, lines)
    codes.write_text(
        "\n".join(sorted([*lines, f"{code} {given.name}"])) + "\n", "utf-8"
    )
    kind = "".join(word.capitalize() for word in given.name.split("-"))
    rule.write_text(RULE.format(code=code, name=given.name, kind=kind), "utf-8")
    case.write_text(CASE, "utf-8")
    print(f"{code}: {rule.relative_to(ROOT)}, {case.relative_to(ROOT)}")
    return 0


def next_code(family: str, lines: list[str]) -> str:
    """Returns the code after the highest of a family that was ever used."""
    used = [int(line[2:5]) for line in lines if line[2] == family]
    return f"BH{max(used, default=int(family) * 100) + 1}"


if __name__ == "__main__":
    sys.exit(main())
