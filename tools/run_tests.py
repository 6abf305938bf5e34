"""Runs the tests in the order and the processes that they need.

One backend a process: the tests of `tests/keras` run once for each. With arguments they
go to pytest, over the folders that the arguments name or over all.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time


BACKENDS = ("tensorflow", "jax", "torch")


def main(arguments: list[str]) -> int:
    """Runs every part and returns the worst exit code; 5 (no tests) is no failure."""
    every = "--all" in arguments
    arguments = [argument for argument in arguments if argument != "--all"]
    chosen = [] if every else ["-m", "not long"]
    named = [argument for argument in arguments if argument.startswith("tests/")]
    others = [argument for argument in arguments if argument not in named]
    worst = 0
    for folder, backend in _parts():
        paths = (
            [path for path in named if path.startswith(folder)] if named else [folder]
        )
        if paths:
            worst = max(worst, _run_pytest([*chosen, *others, *paths], backend))
    return worst


def _parts() -> list[tuple[str, str | None]]:
    return [
        ("tests/core", None),
        *(("tests/keras", backend) for backend in BACKENDS),
        ("tests/process", None),
    ]


def _run_pytest(arguments: list[str], backend: str | None) -> int:
    environment = {k: v for k, v in os.environ.items() if k != "KERAS_BACKEND"}
    environment["TF_CPP_MIN_LOG_LEVEL"] = "2"
    if backend is not None:
        environment["KERAS_BACKEND"] = backend
    print(f"== pytest {' '.join(arguments)} [{backend or 'no keras here'}]", flush=True)
    began = time.monotonic()
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments], env=environment, check=False
    )
    print(f"== {time.monotonic() - began:.0f} s", flush=True)
    return 0 if ended.returncode == 5 else ended.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
