"""Runs the tests in the order and the processes that they need.

One backend a process: the tests of `tests/keras` and `tests/rules` run once for each.
With arguments they go to pytest, over the folders that the arguments name or over all.
`--all` adds those that are marked `long`; `--table FILE` adds a row for each part to a
Markdown table.

Two lanes, about equally long, run beside each other, each on one thread: two processes
whose threads wait for each other on the same cores slow torch down by ten times and
more. What a part prints is shown when it ends, or at once if it is the only one.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from xml.etree import ElementTree


Parts = list[tuple[str, str | None]]
LANES: tuple[Parts, ...] = (
    [
        ("tests/core", None),
        ("tests/keras", "tensorflow"),
        ("tests/rules", "tensorflow"),
        ("tests/keras", "torch"),
        ("tests/rules", "torch"),
    ],
    [("tests/keras", "jax"), ("tests/rules", "jax"), ("tests/process", None)],
)
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "TF_NUM_INTRAOP_THREADS": "1",
    "TF_NUM_INTEROP_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}
NO_TESTS = 5  # what pytest returns when nothing was selected
HEAD = """# Results of the long tier

Written by `./dev test --all`: every test, and those that touch Keras once more with the
oldest Keras that is supported.

| date | keras | tests | backend | passed | failed | skipped | seconds |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""


def main() -> int:
    """Runs every part and returns the worst exit code; no tests are no failure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--table", type=Path)
    parser.add_argument("--anew", action="store_true", help="begin the table again")
    chosen, arguments = parser.parse_known_args()
    if chosen.table and chosen.anew:
        chosen.table.write_text(HEAD)
    tier = [] if chosen.all else ["-m", "not long"]
    named = [argument for argument in arguments if argument.startswith("tests/")]
    others = [argument for argument in arguments if argument not in named]
    lanes = [
        [
            (folder, backend, [*tier, *others, *paths])
            for folder, backend in lane
            if (paths := _choose(folder, named))
        ]
        for lane in LANES
    ]
    alone = sum(map(len, lanes)) == 1

    def run_lane(parts: list[tuple[str, str | None, list[str]]]) -> list[Any]:
        return [_run_pytest(*part, shown_at_once=alone) for part in parts]

    with ThreadPoolExecutor(len(lanes)) as pool:
        results = [result for lane in pool.map(run_lane, lanes) for result in lane]
    if chosen.table:
        with chosen.table.open("a") as file:
            file.writelines(row for _, row in results)
    return max((code for code, _ in results), default=0)


def _choose(folder: str, named: list[str]) -> list[str]:
    """Returns the paths of a part that were asked for."""
    return [path for path in named if path.startswith(folder)] if named else [folder]


def _run_pytest(
    folder: str, backend: str | None, arguments: list[str], *, shown_at_once: bool
) -> tuple[int, str]:
    """Runs one part and returns its exit code and its row of the table."""
    environment = {k: v for k, v in os.environ.items() if k != "KERAS_BACKEND"}
    environment |= {"TF_CPP_MIN_LOG_LEVEL": "2", **ONE_THREAD}
    if backend is not None:
        environment["KERAS_BACKEND"] = backend
    part = f"pytest {' '.join(arguments)} [{backend or 'no keras here'}]"
    print(f"== begins: {part}", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        report = Path(temporary) / "report.xml"
        ended = subprocess.run(
            [sys.executable, "-m", "pytest", f"--junitxml={report}", *arguments],
            env=environment,
            stdout=None if shown_at_once else subprocess.PIPE,
            stderr=None if shown_at_once else subprocess.STDOUT,
            check=False,
        )
        counts = _count(report)
    seconds = time.monotonic() - began
    told = (ended.stdout or b"").decode(errors="replace")
    print(f"== {part}, {seconds:.0f} s\n{told}", flush=True)
    cells = [
        datetime.datetime.now(datetime.UTC).date(),
        importlib.metadata.version("keras"),
        folder,
        backend or "",
        *counts,
        f"{seconds:.0f}",
    ]
    code = 0 if ended.returncode == NO_TESTS else ended.returncode
    return code, f"| {' | '.join(map(str, cells))} |\n"


def _count(report: Path) -> tuple[int, int, int]:
    """Returns how many tests passed, failed and were skipped."""
    if not report.exists():
        return 0, 1, 0  # pytest itself came to a bad end
    tree = ElementTree.parse(report)  # noqa: S314 (pytest has just written it)
    suites = list(tree.iter("testsuite"))

    def total(*names: str) -> int:
        return sum(int(suite.get(name, 0)) for suite in suites for name in names)

    failed, skipped = total("failures", "errors"), total("skipped")
    return total("tests") - failed - skipped, failed, skipped


if __name__ == "__main__":
    sys.exit(main())
