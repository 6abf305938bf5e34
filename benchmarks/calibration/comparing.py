"""Runs `betterhalf compare` as a user would, once for each store, and resumes it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from betterhalf.records.result import ArmResult, Speedup
from betterhalf.trials.reading import Experiment, read


SCRIPTS = Path(__file__).parents[1] / "scripts"


def compare(store: Path, script: Path, *options: str) -> Experiment:
    """Returns the experiment in `store`, which is run as far as it has not yet.

    Raises:
        SystemExit: it left no result, with the end of what it said.
    """
    if not (store / "result.json").exists():
        store.parent.mkdir(parents=True, exist_ok=True)
        again = ["--resume"] if (store / "plan.json").exists() else []
        began = time.monotonic()
        command = ["compare", *options, *again, "--out", str(store), str(script)]
        ended = run_python(["-m", "betterhalf", *command], store.parent)
        if not (store / "result.json").exists():
            raise SystemExit(f"{store.name}: no result\n{ended.stderr[-2000:]}")
        print(f"{store.name}: {time.monotonic() - began:.0f} s", file=sys.stderr)
    experiment = read(store)
    assert isinstance(experiment, Experiment)
    return experiment


def find_arm(experiment: Experiment) -> ArmResult:
    """Returns the result of the one arm beside the reference."""
    assert experiment.result is not None
    return experiment.result.arms[1]


def find_speedup(experiment: Experiment) -> Speedup:
    """Returns its speed-up; one that has none stops the benchmark."""
    arm = find_arm(experiment)
    if arm.speedup is None:
        raise SystemExit(f"{experiment.folder.name}: {arm.sentence}")
    return arm.speedup


def run_python(
    arguments: list[str], folder: Path, environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs this interpreter with `arguments` in `folder`, output captured."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", **(environ or {})},
        capture_output=True,
        text=True,
        check=False,
    )
